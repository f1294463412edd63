#pragma once
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include "tests/unit/metrics/answers/support.h"

namespace why_test {

/// Snapshots of a few flows. Most figures of a flow are 0, and some are not: so figures contradict each other now and
/// then, as in captures that lack packets.
class RandomEvidence {
public:
    explicit RandomEvidence(unsigned seed) : random_(seed) {}

    metrics::Snapshot make();

private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool once_in(std::uint64_t times) { return below(times) == 0; }
    std::uint64_t sparse(std::uint64_t most) { return once_in(3) ? 1 + below(most) : 0; }
    template <class T>
    T one_of(std::initializer_list<T> choices) {
        return choices.begin()[below(choices.size())];
    }

    void add_paths(std::vector<metrics::FlowSnapshot>& flows);
    metrics::FlowSnapshot make_flow(std::uint64_t id, std::uint8_t from, std::uint8_t to);
    void set_service(metrics::FlowSnapshot& flow);
    void set_messages(metrics::FlowSnapshot& flow);
    void set_times(metrics::FlowSnapshot& flow);
    void set_depth(metrics::FlowSnapshot& flow);
    void set_repairs(metrics::FlowSnapshot& flow);
    void set_violations(metrics::FlowSnapshot& flow);
    void set_marks(metrics::FlowSnapshot& flow);
    void set_connection(metrics::FlowSnapshot& flow);
    void set_errors(metrics::FlowSnapshot& flow);
    metrics::TcpFigures make_tcp();
    metrics::VerbsFigures make_verbs();
    metrics::RetryFigures make_retries();
    metrics::IcmpFigures make_icmp();
    metrics::PauseSnapshot make_pause();
    metrics::ReuseFigures make_reuse();
    metrics::HostSnapshot make_host(std::uint8_t number);
    metrics::ConnectionAttempt make_attempt();

    std::mt19937_64 random_;
};

}  // namespace why_test
