#include <algorithm>

#include "tests/model/model_run.h"

namespace model {

metrics::StateTimes SideTruth::states(std::int64_t from_ns, std::int64_t to_ns) const {
    metrics::StateTimes times{};
    for (std::size_t i = 0; i < stretches.size(); ++i) {
        const std::int64_t begin = std::max(stretches[i].since_ns, from_ns);
        const std::int64_t end = std::min(i + 1 < stretches.size() ? stretches[i + 1].since_ns : INT64_MAX, to_ns);
        if (end > begin) times[metrics::index_of(stretches[i].state)] += static_cast<std::uint64_t>(end - begin);
    }
    return times;
}

std::vector<const Passage*> seen(const History& history, Tap tap) {
    std::vector<const Passage*> passages;
    for (const Passage& passage : history.passages) {
        const bool here = tap.in_the_middle
                              ? passage.place == Place::middle
                              : (passage.place == Place::leaving && !passage.packet.pause &&
                                 passage.packet.source_host == tap.host) ||
                                    (passage.place == Place::arriving && passage.packet.destination_host == tap.host);
        if (here) passages.push_back(&passage);
    }
    return passages;
}

std::vector<support::KeptFrame> capture(const History& history, Tap tap, bool checked) {
    std::vector<support::KeptFrame> frames;
    for (const Passage* passage : seen(history, tap))
        frames.push_back(
            emit(passage->packet, history.plan.framing, history.plan.epoch_ns + passage->time_ns, checked));
    return frames;
}

}  // namespace model
