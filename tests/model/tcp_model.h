#pragma once
#include <string>
#include <vector>

#include "tests/model/model_segment.h"
#include "tests/model/truth_figures.h"

/// One iWARP connection with a simple TCP below it: FPDUs aligned to segments, a fixed congestion window, fast
/// retransmission, a retransmission timer, a receive window that the application drains.
namespace model {

struct TcpPlan {
    std::string name;
    metrics::Operation operation = metrics::Operation::write;  ///< or send
    std::uint32_t bytes = 1400;                                ///< of a message
    std::uint64_t messages = 1000;
    std::uint32_t depth = 8;  ///< messages posted and not acknowledged
    std::uint32_t burst = 0;
    std::int64_t think_ns = 0;
    std::int64_t period_ns = 0;  ///< bursts are due at this distance, whatever has come back; 0: it thinks instead
    std::int64_t jitter_ns = 0;  ///< a burst begins up to this later than it is due
    std::int64_t reaction_ns = 300;
    std::uint64_t bits_per_sec = 10'000'000'000;
    std::int64_t delay_ns = 20'000;  ///< one way
    std::uint32_t receive_window = 65535;
    std::int64_t drain_ns = 0;  ///< arrival -> octets read by the receiver
    std::int64_t timer_ns = 5'000'000;
    std::vector<std::uint64_t> losses;  ///< segments with FPDUs, from 0, of which the first transmission is lost
    std::uint32_t start_sequence = 1000;
};

struct TcpPassage {
    std::int64_t time_ns = 0;
    bool arriving = false;
    bool again = false;
    Segment segment;
};

struct TcpHistory {
    TcpPlan plan;
    std::vector<TcpPassage> passages;  ///< ascending time
    SideTruth sender;
    std::int64_t first_ns = 0;  ///< first and last segment with an FPDU, leaving
    std::int64_t last_ns = 0;
    std::uint64_t segments = 0;       ///< with FPDUs, transmitted
    std::uint64_t retransmitted = 0;  ///< of them
    Samples latency_ns;               ///< of messages never repeated: last octet leaving -> acknowledged, at the sender
};

TcpHistory run(const TcpPlan& plan);
std::vector<support::KeptFrame> capture(const TcpHistory& history, bool at_receiver);
std::vector<TcpPlan> tcp_plans();
std::vector<TcpPlan> paced_tcp_plans();

}  // namespace model
