#pragma once
#include "dissect/dissector.h"

namespace metrics::inline measure::inline engine {

/// sum = operation(sum, other), counter by counter.
template <class Operation>
void apply(Operation operation, dissect::DissectorCounters& sum, const dissect::DissectorCounters& other) {
    using Counters = dissect::DissectorCounters;
    constexpr std::uint64_t Counters::*all[] = {&Counters::frames,
                                                &Counters::units,
                                                &Counters::truncated,
                                                &Counters::malformed,
                                                &Counters::odd,
                                                &Counters::unsupported,
                                                &Counters::streams_evicted,
                                                &Counters::stream_octets_lost,
                                                &Counters::stream_octets_skipped,
                                                &Counters::datagrams_evicted,
                                                &Counters::headers_cut,
                                                &Counters::headers_cut_before};
    static_assert(sizeof(Counters) == sizeof(std::uint64_t) * std::size(all));
    for (const auto counter : all) sum.*counter = operation(sum.*counter, other.*counter);
}

}  // namespace metrics::measure::engine
