#include "metrics/measure/roce/asked_responses.h"

#include <algorithm>

#include "metrics/measure/packet/psn.h"

namespace metrics::inline measure::inline roce {

void ask_again(FlowTrouble& trouble, std::uint64_t begin, std::uint64_t end, bool running, std::int64_t now_ns) {
    const bool another = trouble.asked_begin >= trouble.asked_end || (begin > trouble.asked_end && !running);
    if (another) trouble.asked_ns = now_ns;
    trouble.asked_begin = another ? begin : std::min(trouble.asked_begin, begin);
    trouble.asked_end = another ? end : std::max(trouble.asked_end, end);
}

bool is_asked_again(const FlowStore& store, const Flow& requester, std::uint64_t position) {
    const FlowTrouble* const trouble = store.trouble_of(requester);
    return trouble != nullptr && position >= trouble->asked_begin && position < trouble->asked_end;
}

bool is_answer_under_way(const FlowStore& store, const Flow& requester, std::int64_t now_ns) {
    const FlowTrouble* const trouble = store.trouble_of(requester);
    const std::uint32_t least = requester.request.round_trip_min_ns;
    return trouble != nullptr && trouble->asked_ns != Situation::never && least != 0xffffffff &&
           psn::elapsed(trouble->asked_ns, now_ns) < least / 2;
}

}  // namespace metrics::measure::roce
