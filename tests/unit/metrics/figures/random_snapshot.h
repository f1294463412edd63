#pragma once
#include <random>

#include "metrics/figures/snapshot.h"

namespace metrics::test {

/// Snapshots of the same few flows and hosts, for the laws that merging obeys.
class RandomSnapshots {
public:
    explicit RandomSnapshots(std::uint64_t seed) : random_(seed) {}

    /// Parts of one capture, one after the other: every flow's time is cut, and some end for good on the way.
    std::vector<Snapshot> parts_in_time(unsigned count);
    /// As several observers see at the same time; every two parts of a flow overlap.
    std::vector<Snapshot> parts_at_once(unsigned count);

private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    bool chance() { return below(2) == 0; }
    std::optional<std::uint64_t> maybe(std::uint64_t bound);
    Histogram histogram();
    ReuseFigures reuse();
    VerbsFigures verbs();
    IcmpFigures icmp();
    CommandRecord command();
    CommandConnectionFigures commands();
    RequestFigures request();
    void add_end(FlowSnapshot& f);
    void add_classes(FlowSnapshot& f);
    void add_path(FlowSnapshot& f);
    PathWindowFigures path_windows();
    FlowSnapshot flow(unsigned number, std::int64_t first_ns, std::int64_t last_ns, bool finished);
    Snapshot around(std::vector<FlowSnapshot> flows, std::int64_t first_ns, std::int64_t last_ns);

    std::mt19937_64 random_;
    std::uint64_t frame_ = 0;
};

}  // namespace metrics::test
