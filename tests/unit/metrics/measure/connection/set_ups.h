#pragma once
#include <gtest/gtest.h>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "capture/files/file_source.h"
#include "dissect/dissector.h"
#include "metrics/measure/connection/connections.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/pcaps.h"

namespace metrics_test {

/// Feeds the CM messages of a capture to Connections, as the engine does.
class SetUps final : public dissect::Sink {
public:
    struct Known {
        metrics::Connections::QueuePairs pairs;
        std::uint64_t frame = 0;
        bool ended = false;
    };

    explicit SetUps(std::size_t max_connections = 1024) : connections{max_connections} {}

    void read(const std::string& capture) {
        const auto file = capture::open_file(support::pcaps() + '/' + capture);
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
    void on_unit(const dissect::Unit& unit) override {
        if (!unit.dissection.has(dissect::LayerId::mad)) return;
        bool ended = false;
        if (const auto* pairs = connections.on_management(unit, ended))
            known.push_back({*pairs, unit.frame.number, ended});
    }

    metrics::Connections connections;
    std::vector<Known> known;
    std::int64_t last_ns = 0;
};

/// What the whole engine says of a capture's connections.
struct Analyzed {
    explicit Analyzed(const std::string& capture) {
        const auto file = capture::open_file(support::pcaps() + '/' + capture);
        if (!file.ok()) throw std::runtime_error("no " + capture);
        wire::Frame frame;
        while ((*file)->next(frame) == capture::ReadStatus::frame) {
            if (first.empty()) first.assign(frame.bytes.begin(), frame.bytes.end());
            last = frame;
            analyzer.feed({&frame, 1});
        }
        snapshot = analyzer.snapshot();
    }
    /// The capture's first frame once more: time passes.
    void wait(std::int64_t ns) {
        last.bytes = first;
        last.wire_length = static_cast<std::uint32_t>(first.size());
        last.time_ns += ns;
        ++last.number;
        analyzer.feed({&last, 1});
        snapshot = analyzer.snapshot();
    }
    /// The flow of a TCP connection; nullptr if there is no such flow.
    const metrics::FlowSnapshot* flow(std::uint32_t source_port, std::uint32_t destination_port) const {
        for (const metrics::FlowSnapshot& flow : snapshot.flows)
            if (flow.source.port == source_port && flow.destination.port == destination_port) return &flow;
        return nullptr;
    }

    metrics::Analyzer analyzer;
    metrics::Snapshot snapshot;
    std::vector<std::byte> first;
    wire::Frame last;
};

}  // namespace metrics_test
