#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "metrics/figures/snapshot_codec.h"
#include "tests/model/model_analysis.h"
#include "tests/model/model_segment.h"
#include "tests/model/talk.h"

namespace model {

/// All analyzers get the same packets, but only one of them may take the short way, and to one a bystander speaks
/// between any two segments: no train of segments ever comes about there.
class Analyzers {
public:
    Analyzers(const Talk& wanted, std::uint64_t seed)
        : quick_(options(wanted, seed, true)), ruled_(options(wanted, seed, false)) {
        if (wanted.connections == 1) return;
        parted_ = std::make_unique<metrics::Analyzer>(options(wanted, seed, true));
        introduce();
    }
    void feed(const support::KeptFrame& kept, wire::Direction direction) {
        if (parted_ != nullptr) {
            interrupt(kept.time_ns, *parted_);
            // So that it is never the idlest.
            if (number_ % 16 == 0)
                for (metrics::Analyzer* const each : {&quick_, &ruled_}) interrupt(kept.time_ns, *each);
        }
        number_ += 4;
        wire::Frame frame = kept.frame(number_);
        frame.direction = direction;
        for (metrics::Analyzer* const each : {&quick_, &ruled_, parted_.get()})
            if (each != nullptr) each->feed({&frame, 1}, false);
    }
    void dropped(std::int64_t now_ns) {
        for (metrics::Analyzer* const each : {&quick_, &ruled_, parted_.get()})
            if (each != nullptr) each->dropped(now_ns, 1);
    }
    void compare() {
        const metrics::Snapshot quick = figures(quick_);
        compare("in general", quick, figures(ruled_));
        if (parted_ != nullptr) compare("without trains", quick, figures(*parted_));
    }

private:
    static metrics::AnalyzerOptions options(const Talk& wanted, std::uint64_t seed, bool shortcut) {
        metrics::AnalyzerOptions out;
        out.engine.shortcut = shortcut;
        out.engine.max_flows = wanted.max_flows;
        out.dissector.parse.verify_crc = seed % 2 == 1;
        if (seed % 2 == 0) out.engine.link_bits_per_sec = 10'000'000'000;
        return out;
    }
    static Segment of_bystander(bool answers) {
        Segment out;
        out.source_host = bystander + (answers ? 1 : 0);
        out.destination_host = bystander + (answers ? 0 : 1);
        out.source_port = out.destination_port = 9000;
        out.sequence = 1;
        out.acknowledgment = 1;
        return out;
    }
    /// Its connection is known to be one of RDMA.
    void introduce() {
        for (const bool answers : {false, true}) {
            Segment segment = of_bystander(answers);
            segment.octets = mpa_start(answers);
            const support::KeptFrame kept = emit(segment, talk_begins_ns);
            number_ += 4;
            const wire::Frame frame = kept.frame(number_);
            for (metrics::Analyzer* const each : {&quick_, &ruled_, parted_.get()}) each->feed({&frame, 1}, false);
        }
    }
    /// By either of its ends.
    void interrupt(std::int64_t now_ns, metrics::Analyzer& analyzer) const {
        constexpr std::uint32_t sent = 20;  // of the start frame
        for (const bool answers : {false, true}) {
            Segment segment = of_bystander(answers);
            segment.sequence = segment.acknowledgment = 1 + sent;
            const support::KeptFrame kept = emit(segment, now_ns);
            const wire::Frame frame = kept.frame(number_ + (answers ? 2 : 1));
            analyzer.feed({&frame, 1}, false);
        }
    }
    /// Without what is the bystander's, and what both ways are free to need.
    metrics::Snapshot figures(metrics::Analyzer& analyzer) const {
        metrics::Snapshot out = analyzer.snapshot();
        out.memory_octets = 0;
        if (parted_ == nullptr) return out;
        const std::array<std::string, 2> strangers{address_text(bystander, Framing::roce2_ipv4),
                                                   address_text(bystander + 1, Framing::roce2_ipv4)};
        const auto stranger = [&](const metrics::Address& address) {
            const std::string text = to_text(address);
            return text == strangers[0] || text == strangers[1];
        };
        const std::size_t flows =
            std::erase_if(out.flows, [&](const metrics::FlowSnapshot& flow) { return stranger(flow.source.address); });
        EXPECT_EQ(flows, 2u) << "who is not known ends no train";
        std::erase_if(out.hosts, [&](const metrics::HostSnapshot& host) { return stranger(host.address); });
        out.capture.packets = out.capture.bytes = 0;
        return out;
    }
    /// The first line that differs, in both, and what is before it.
    static std::string difference(const std::string& one, const std::string& other) {
        const auto [at, there] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
        if (at == one.end() && there == other.end()) return ", in what the text does not show";
        const auto begin = one.rfind("\nid: ", static_cast<std::size_t>(at - one.begin()));
        const auto line = [](const std::string& text, std::size_t from) {
            return text.substr(text.rfind('\n', from) + 1, 300);
        };
        const auto place = static_cast<std::size_t>(at - one.begin());
        return "\nin the flow " + one.substr(begin == std::string::npos ? 0 : begin, 200) + "\n...\nthe one has " +
               line(one, place) + "\n...\nthe other " + line(other, place);
    }
    static void compare(const char* how, const metrics::Snapshot& quick, const metrics::Snapshot& other) {
        std::vector<std::byte> octets;
        std::vector<std::byte> others;
        encode(quick, octets);
        encode(other, others);
        if (octets != others) FAIL() << "figures differ " << how << difference(text_of(quick), text_of(other));
    }

    metrics::Analyzer quick_;
    metrics::Analyzer ruled_;
    std::unique_ptr<metrics::Analyzer> parted_;
    std::uint64_t number_ = 0;
};

}  // namespace model
