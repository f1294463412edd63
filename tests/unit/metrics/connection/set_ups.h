#pragma once
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <vector>

#include "capture/file_source.h"
#include "dissect/dissector.h"
#include "metrics/connection/connections.h"

namespace metrics_test {

/// Feeds the set-up messages of a capture to Connections, as the engine does.
class SetUps final : public dissect::Sink {
public:
    struct Known {
        metrics::Connections::QueuePairs pairs;
        std::uint64_t frame = 0;
        bool ended = false;
    };

    explicit SetUps(std::size_t max_connections = 1024) : connections{max_connections} {}

    void read(const std::string& capture) {
        const auto file = capture::open_file(std::string{RDMASCOPE_PCAPS} + '/' + capture);
        ASSERT_TRUE(file.ok()) << capture;
        capture::Source& source = **file;
        dissect::Dissector dissector;
        wire::Frame frame;
        while (source.next(frame) == capture::ReadStatus::frame) {
            last_ns = frame.time_ns;
            dissector.dissect(frame, *this);
        }
        dissector.finish(*this);
    }
    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        if (dissection.has(dissect::LayerId::tcp) && (dissection.tcp.flags & 7) != 0)
            connections.on_tcp(frame, dissection, tcp_key(dissection, frame.bytes));
    }
    void on_unit(const dissect::Unit& unit) override {
        if (unit.dissection.has(dissect::LayerId::mpa_request) || unit.dissection.has(dissect::LayerId::mpa_reply))
            connections.on_mpa(unit, tcp_key(unit.frame_dissection, unit.frame.bytes));
        if (!unit.dissection.has(dissect::LayerId::mad)) return;
        bool ended = false;
        if (const auto* pairs = connections.on_management(unit, ended))
            known.push_back({*pairs, unit.frame.number, ended});
    }

    static metrics::FlowKey tcp_key(const dissect::Dissection& dissection, wire::Bytes bytes) {
        metrics::FlowKey key;
        key.source = metrics::source_address(dissection, bytes);
        key.destination = metrics::destination_address(dissection, bytes);
        key.selector = static_cast<std::uint32_t>(dissection.source_port) << 16 | dissection.destination_port;
        key.transport = dissect::Transport::iwarp;
        return key;
    }

    metrics::Connections connections;
    std::vector<Known> known;
    std::int64_t last_ns = 0;
};

}  // namespace metrics_test
