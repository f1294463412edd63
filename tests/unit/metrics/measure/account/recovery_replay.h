#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "capture/files/file_source.h"
#include "dissect/dissector.h"
#include "metrics/measure/account/recovery.h"
#include "tests/support/pcaps.h"
#include "wire/aeth.h"
#include "wire/bth_opcode.h"

/// Tells a Recovery for each queue pair what a capture of Linux rxe (MTU 1024) holds, with nothing of the engine's in
/// between: requests by their PSNs, acknowledgements to the flow whose window they fall into.
namespace recovery_test {

struct Violation {
    std::uint64_t frame;
    metrics::EventKind kind;
    std::uint64_t value;
};

struct Outcome {
    std::vector<Violation> violations;
    std::map<metrics::RepeatCause, unsigned> runs;
    std::map<metrics::RecoveryStep, std::vector<std::uint64_t>> steps;
    unsigned repeated = 0;
};

class Replay {
public:
    explicit Replay(std::uint64_t ack_timeout_ns) { vantage_.ack_timeout_ns = ack_timeout_ns; }

    void frame(const wire::Frame& frame) {
        dissect::dissect_frame(frame, {}, found_);
        if (!found_.has(dissect::LayerId::bth)) return;
        frame_ = frame.number;
        bytes_ = frame.bytes;
        now_ns_ = frame.time_ns;
        const wire::BthOpcode& opcode = wire::bth_opcode(found_.bth.opcode);
        if (opcode.service != wire::BthService::rc) return;
        if (opcode.role == wire::BthRole::request) {
            request(opcode);
        } else if (Flow* const flow = answered()) {
            answer(*flow, opcode);
        }
    }
    const Outcome& outcome() const { return outcome_; }

private:
    using Host = std::vector<std::byte>;
    struct Flow {
        std::uint64_t next = 0;
        std::uint64_t oldest = 0;
        std::uint64_t response_next = 0;
        std::int64_t last_ns = metrics::Situation::never;
        metrics::Recovery recovery;
    };
    using Key = std::tuple<Host, Host, std::uint32_t>;

    Host host(bool source) const {
        const dissect::Network& network = found_.network;
        const auto octets = bytes_.subspan(source ? network.source_offset : network.destination_offset);
        return Host(octets.begin(), octets.begin() + network.address_length());
    }
    static std::uint64_t position_of(std::uint32_t psn, std::uint64_t near) {
        const auto off = (psn - static_cast<std::uint32_t>(near)) & 0xffffffU;
        return off < 0x800000U ? near + off : near + off - 0x1000000U;
    }
    auto report() {
        return [this](auto what, std::uint64_t value) {
            if constexpr (std::is_same_v<decltype(what), metrics::EventKind>) {
                outcome_.violations.push_back({frame_, what, value});
            } else {
                outcome_.steps[what].push_back(value);
            }
        };
    }
    void request(const wire::BthOpcode& opcode) {
        Flow& flow = flows_[Key{host(true), host(false), found_.bth.destination_qp}];
        if (flow.next == 0) flow.next = flow.oldest = (std::uint64_t{1} << 32) + found_.bth.psn;
        const std::uint64_t position = position_of(found_.bth.psn, flow.next);
        const bool read = opcode.operation == wire::BthOperation::read_request;
        const std::uint32_t span = read ? std::max(1U, (found_.bth.dma_length + 1023) / 1024) : 1;
        flow.recovery.resume(flow.next, flow.oldest, flow.last_ns);
        if (flow.recovery.busy() || position != flow.next) {
            const auto cause = flow.recovery.data({now_ns_, position, span, read}, vantage_, report());
            if (cause != metrics::RepeatCause::none) ++outcome_.runs[cause];
        }
        if (position < flow.next) ++outcome_.repeated;
        flow.next = std::max(flow.next, position + span);
        flow.last_ns = now_ns_;
    }
    /// Of the opposite direction's flows, the one whose next PSN is nearest ahead.
    Flow* answered() {
        Flow* best = nullptr;
        std::uint64_t least = 100'000;
        for (auto& [key, flow] : flows_) {
            if (std::get<0>(key) != host(false) || std::get<1>(key) != host(true)) continue;
            const std::uint64_t position = position_of(found_.bth.psn, flow.next);
            if (position < flow.next && flow.next - position < least) {
                least = flow.next - position;
                best = &flow;
            }
        }
        return best;
    }
    void answer(Flow& flow, const wire::BthOpcode& opcode) {
        const std::uint64_t position = position_of(found_.bth.psn, flow.next);
        flow.recovery.resume(flow.next, flow.oldest);
        if (opcode.role == wire::BthRole::response && opcode.operation == wire::BthOperation::read_response) {
            if (position > flow.response_next && !opcode.starts_message() && flow.response_next != 0) {
                flow.recovery.response_missing(now_ns_, flow.response_next);
                return;
            }
            if (position < flow.oldest) return;
            flow.response_next = position + 1;
        } else if (wire::kind_of_syndrome(found_.bth.syndrome) != wire::AethKind::ack) {
            const bool rnr = wire::kind_of_syndrome(found_.bth.syndrome) == wire::AethKind::rnr_nak;
            const auto kind = rnr                                                 ? metrics::NakKind::rnr
                              : wire::value_of_syndrome(found_.bth.syndrome) == 0 ? metrics::NakKind::sequence
                                                                                  : metrics::NakKind::other;
            flow.recovery.nak(now_ns_, position, kind, metrics::Situation::never, report());
            flow.oldest = std::max(flow.oldest, position);
            return;
        }
        flow.recovery.acknowledged(position, report());
        flow.oldest = std::max(flow.oldest, position + 1);
    }

    std::map<Key, Flow> flows_;
    dissect::Dissection found_;
    metrics::RecoveryVantage vantage_;
    Outcome outcome_;
    base::Bytes bytes_;
    std::uint64_t frame_ = 0;
    std::int64_t now_ns_ = 0;
};

inline Outcome replay(const std::string& capture, std::uint64_t ack_timeout_ns) {
    Replay replay{ack_timeout_ns};
    const auto file = capture::open_file(support::pcaps() + "/" + capture);
    if (!file.ok()) return {};
    wire::Frame frame;
    while ((*file)->next(frame) == capture::ReadStatus::frame) replay.frame(frame);
    return replay.outcome();
}

}  // namespace recovery_test
