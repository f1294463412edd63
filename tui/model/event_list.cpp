#include "tui/model/event_list.h"

namespace tui {

void EventList::add(const Reading& reading, const metrics::HostNames* names) {
    (void)reading;
    (void)names;
}

void EventList::clear() {
    lines_.clear();
    forgotten_ = 0;
}

std::vector<const EventLine*> EventList::of_flow(std::uint64_t id, std::uint64_t reverse, std::size_t most) const {
    std::vector<const EventLine*> found;
    for (auto line = lines_.rbegin(); line != lines_.rend() && found.size() < most; ++line)
        if (line->flow != 0 && (line->flow == id || line->flow == reverse)) found.push_back(&*line);
    return found;
}

std::string describe(const EventLine& event) { return event.text; }

}  // namespace tui
