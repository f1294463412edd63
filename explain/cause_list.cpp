#include "explain/cause_list.h"

#include <algorithm>
#include <fmt/core.h>
#include <tuple>
#include <utility>

namespace explain {

namespace {

/// A line that continues another one comes at most this number of lines after it.
constexpr std::uint64_t nearest_lines = 3;

std::string key_of(const Explanation& explanation) {
    const Facts& facts = explanation.facts;
    const auto number = [](const auto* code) { return code == nullptr ? -1 : static_cast<int>(code->number); };
    const auto layer = facts.terminate == nullptr ? 0U : facts.terminate->layer * 16 + facts.terminate->type + 1;
    return fmt::format("{}/{}/{}/{}/{}/{}/{}/{}", explanation.pattern, number(facts.status), number(facts.reject),
                       number(facts.error_number), layer, facts.event == nullptr ? "" : facts.event->name, facts.local,
                       facts.remote);
}

void add_facts(const Facts& from, Facts& to) {
    if (to.local.empty()) to.local = from.local;
    if (to.remote.empty()) to.remote = from.remote;
    if (!to.qpn) to.qpn = from.qpn;
    if (!to.remote_qpn) to.remote_qpn = from.remote_qpn;
}

}  // namespace

/// Whether the line belongs to the one before, whose cause then gets its facts.
bool CauseList::follow(const Explanation& explanation, std::uint64_t line) {
    if (!explanation.continues || !last_ || line > last_line_ + nearest_lines) return false;
    Cause& before = causes_[*last_];
    if (before.explanation.software != explanation.software) return false;
    // Later lines of a cause may be about other queue pairs than the first.
    if (before.lines == 1 && !before.followed) add_facts(explanation.facts, before.explanation.facts);
    before.followed = true;
    return true;
}

bool CauseList::add(Explanation explanation, std::uint64_t line) {
    ++recognised_;
    if (follow(explanation, line)) return false;
    last_line_ = line;
    std::string key = key_of(explanation);
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
        last_ = known->second;
        ++causes_[known->second].lines;
        return false;
    }
    if (causes_.size() == most) {
        ++left_out_;
        last_.reset();
        return false;
    }
    last_ = causes_.size();
    by_key_.emplace(std::move(key), causes_.size());
    causes_.push_back({std::move(explanation), line});
    return true;
}

const Cause* first_cause(const std::vector<Cause>& causes) {
    if (causes.empty()) return nullptr;
    const bool timed =
        std::ranges::all_of(causes, [](const Cause& each) { return each.explanation.facts.time_ns.has_value(); });
    const auto rank = [&](const Cause& each) {
        const std::int64_t time_ns = timed ? *each.explanation.facts.time_ns : 0;
        return std::tuple(each.explanation.consequence, time_ns, each.first_line);
    };
    return &*std::ranges::min_element(causes, [&](const Cause& a, const Cause& b) { return rank(a) < rank(b); });
}

}  // namespace explain
