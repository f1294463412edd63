#include "metrics/figures/command_figures.h"

#include <algorithm>

#include "base/saturating.h"

namespace metrics::inline figures {

using base::saturating::add;

const std::array<std::string_view, command_part_count> command_part_names{"request", "target_before", "data",
                                                                          "target_after", "response"};
const std::array<std::string_view, command_state_count> command_state_names{"host",     "request", "target", "data",
                                                                            "response", "repair",  "limit"};
const std::array<std::string_view, command_error_count> command_error_names{"device",  "path", "protocol",
                                                                            "aborted", "busy", "denied"};
const std::array<std::string_view, command_depth_count> command_depth_names{"1", "2 to 4", "5 to 16", "17 and more"};

namespace {

constexpr std::uint64_t most_ns = ~std::uint64_t{0} >> 1;

constexpr std::array kind_counters{
    &CommandKindFigures::commands,      &CommandKindFigures::errors,           &CommandKindFigures::bytes,
    &CommandKindFigures::inline_bytes,  &CommandKindFigures::moved_in_bytes,   &CommandKindFigures::moved_out_bytes,
    &CommandKindFigures::operations,    &CommandKindFigures::orphans,          &CommandKindFigures::replaced,
    &CommandKindFigures::unanswered,    &CommandKindFigures::given_up,         &CommandKindFigures::request_ack_ns,
    &CommandKindFigures::repair_own_ns, &CommandKindFigures::repair_behind_ns, &CommandKindFigures::unanswered_long,
};
constexpr std::array connection_counters{
    &CommandConnectionFigures::operations,      &CommandConnectionFigures::unbound_operations,
    &CommandConnectionFigures::late_operations, &CommandConnectionFigures::probes,
    &CommandConnectionFigures::events,          &CommandConnectionFigures::overtaken,
    &CommandConnectionFigures::at_limit_ns,
};
constexpr std::array exhibits{&CommandKindFigures::slowest, &CommandKindFigures::failed, &CommandKindFigures::hurt};

/// Of a command that was answered. Times of a damaged capture may have any value.
bool ended_before(const CommandRecord& record, std::int64_t time_ns) {
    std::int64_t end_ns = 0;
    const auto latency_ns = static_cast<std::int64_t>(std::min(record.latency_ns.value_or(0), most_ns));
    return !__builtin_add_overflow(record.begin_ns, latency_ns, &end_ns) && end_ns < time_ns;
}

bool is_slower(const CommandRecord& one, const CommandRecord& two) {
    return one.latency_ns.value_or(0) > two.latency_ns.value_or(0);
}
bool is_hurt_more(const CommandRecord& one, const CommandRecord& two) {
    return one.repair_own_ns + one.repair_behind_ns > two.repair_own_ns + two.repair_behind_ns;
}
bool is_earlier(const CommandRecord& one, const CommandRecord& two) { return one.begin_ns < two.begin_ns; }

template <class Order>
void keep_first(std::vector<CommandRecord>& into, const std::vector<CommandRecord>& other, Order order) {
    if (other.empty()) return;
    into.insert(into.end(), other.begin(), other.end());
    std::stable_sort(into.begin(), into.end(), order);
    if (into.size() > CommandKindFigures::most_exhibits) into.resize(CommandKindFigures::most_exhibits);
}

void merge_exhibits(CommandKindFigures& into, const CommandKindFigures& other) {
    keep_first(into.slowest, other.slowest, is_slower);
    keep_first(into.failed, other.failed, is_earlier);
    keep_first(into.waiting, other.waiting, is_earlier);
    keep_first(into.hurt, other.hurt, is_hurt_more);
}

void merge_kind(CommandKindFigures& into, const CommandKindFigures& other) {
    for (const auto member : kind_counters) into.*member = add(into.*member, other.*member);
    into.housekeeping = into.housekeeping || other.housekeeping;
    into.latency_ns.merge(other.latency_ns);
    into.size_bytes.merge(other.size_bytes);
    for (std::size_t i = 0; i < command_part_count; ++i) into.parts_ns[i].merge(other.parts_ns[i]);
    for (std::size_t i = 0; i < command_depth_count; ++i) into.think_ns[i].merge(other.think_ns[i]);
    for (std::size_t i = 0; i < command_error_count; ++i)
        into.error_classes[i] = add(into.error_classes[i], other.error_classes[i]);
    for (const auto& [status, count] : other.statuses) count_status(into, status, count);
    merge_exhibits(into, other);
}

void subtract_kind(CommandKindFigures& figures, const CommandKindFigures& earlier) {
    using base::saturating::subtract;
    for (const auto member : kind_counters) figures.*member = subtract(figures.*member, earlier.*member);
    figures.latency_ns = figures.latency_ns.since(earlier.latency_ns);
    figures.size_bytes = figures.size_bytes.since(earlier.size_bytes);
    for (std::size_t i = 0; i < command_part_count; ++i)
        figures.parts_ns[i] = figures.parts_ns[i].since(earlier.parts_ns[i]);
    for (std::size_t i = 0; i < command_depth_count; ++i)
        figures.think_ns[i] = figures.think_ns[i].since(earlier.think_ns[i]);
    for (std::size_t i = 0; i < command_error_count; ++i)
        figures.error_classes[i] = subtract(figures.error_classes[i], earlier.error_classes[i]);
    for (auto& [status, count] : figures.statuses) {
        const auto former = earlier.statuses.find(status);
        if (former != earlier.statuses.end()) count = subtract(count, former->second);
    }
    std::erase_if(figures.statuses, [](const auto& status) { return status.second == 0; });
}

bool is_empty(const CommandKindFigures& kind) {
    return kind.commands == 0 && kind.orphans == 0 && kind.replaced == 0 && kind.unanswered == 0 && kind.given_up == 0;
}

CommandKindFigures* find_kind(std::vector<CommandKindFigures>& kinds, const std::string& name) {
    const auto found = std::ranges::lower_bound(kinds, name, {}, &CommandKindFigures::kind);
    return found == kinds.end() || found->kind != name ? nullptr : &*found;
}

}  // namespace

void count_status(CommandKindFigures& kind, const std::string& status, std::uint64_t commands) {
    const bool full = kind.statuses.size() >= CommandKindFigures::most_statuses && !kind.statuses.contains(status);
    std::uint64_t& sum = kind.statuses[full ? "other" : status];
    sum = add(sum, commands);
}

void keep_slowest(CommandKindFigures& kind, const CommandRecord& record) {
    const bool full = kind.slowest.size() == CommandKindFigures::most_exhibits;
    if (!full || is_slower(record, kind.slowest.back())) keep_first(kind.slowest, {record}, is_slower);
}

std::uint64_t CommandConnectionFigures::wall_ns() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t state : states_ns) sum = add(sum, state);
    return sum;
}

std::optional<double> CommandConnectionFigures::open_mean() const {
    const std::uint64_t wall = wall_ns();
    if (wall == 0) return std::nullopt;
    std::uint64_t latency = 0;
    for (const CommandKindFigures& kind : kinds)
        if (!kind.housekeeping) latency = add(latency, kind.latency_ns.sum());
    return static_cast<double>(latency) / static_cast<double>(wall);
}

std::optional<double> CommandTotals::target_share() const {
    if (latency_ns.sum() == 0) return std::nullopt;
    const std::uint64_t target = add(parts_ns[1], parts_ns[3]);
    return static_cast<double>(target) / static_cast<double>(latency_ns.sum());
}

CommandTotals totals_of(const CommandConnectionFigures& connection) {
    CommandTotals totals;
    for (const CommandKindFigures& kind : connection.kinds) {
        if (kind.housekeeping) continue;
        totals.commands = add(totals.commands, kind.commands);
        totals.errors = add(totals.errors, kind.errors);
        totals.bytes = add(totals.bytes, kind.bytes);
        totals.unanswered = add(totals.unanswered, kind.unanswered);
        totals.orphans = add(totals.orphans, kind.orphans);
        totals.request_ack_ns = add(totals.request_ack_ns, kind.request_ack_ns);
        totals.repair_own_ns = add(totals.repair_own_ns, kind.repair_own_ns);
        totals.repair_behind_ns = add(totals.repair_behind_ns, kind.repair_behind_ns);
        for (std::size_t i = 0; i < command_part_count; ++i)
            totals.parts_ns[i] = add(totals.parts_ns[i], kind.parts_ns[i].sum());
        totals.latency_ns.merge(kind.latency_ns);
    }
    return totals;
}

void merge(CommandConnectionFigures& into, const CommandConnectionFigures& other) {
    if (other.of_target) return;
    if (into.of_target) {
        into = other;
        return;
    }
    const bool is_later = other.last_ns >= into.last_ns;
    for (const auto member : connection_counters) into.*member = add(into.*member, other.*member);
    for (std::size_t i = 0; i < command_state_count; ++i)
        into.states_ns[i] = add(into.states_ns[i], other.states_ns[i]);
    into.host_next_ns.merge(other.host_next_ns);
    into.open_max = std::max(into.open_max, other.open_max);
    into.congested_ports = std::max(into.congested_ports, other.congested_ports);
    if (is_later) {
        into.open_now = other.open_now;
        into.open_long = other.open_long;
        into.oldest_open_ns = other.oldest_open_ns;
        into.limit = other.limit ? other.limit : into.limit;
        into.limit_asked = other.limit_asked ? other.limit_asked : into.limit_asked;
        if (!other.target_name.empty()) into.target_name = other.target_name;
    }
    if (other.first_ns != 0)
        into.first_ns = into.first_ns == 0 ? other.first_ns : std::min(into.first_ns, other.first_ns);
    into.last_ns = std::max(into.last_ns, other.last_ns);
    for (const CommandKindFigures& theirs : other.kinds) {
        const bool full = into.kinds.size() >= CommandConnectionFigures::most_kinds;
        CommandKindFigures* mine = find_kind(into.kinds, theirs.kind);
        if (mine == nullptr && full) mine = find_kind(into.kinds, "other");
        if (mine == nullptr) {
            const auto place = std::ranges::lower_bound(into.kinds, theirs.kind, {}, &CommandKindFigures::kind);
            into.kinds.insert(place, theirs);
        } else {
            merge_kind(*mine, theirs);
        }
    }
}

void merge_exhibits(CommandConnectionFigures& into, const CommandConnectionFigures& earlier) {
    for (const CommandKindFigures& theirs : earlier.kinds)
        if (CommandKindFigures* const mine = find_kind(into.kinds, theirs.kind)) merge_exhibits(*mine, theirs);
}

void subtract(CommandConnectionFigures& figures, const CommandConnectionFigures& earlier, std::int64_t since_ns) {
    for (const auto member : connection_counters)
        figures.*member = base::saturating::subtract(figures.*member, earlier.*member);
    for (std::size_t i = 0; i < command_state_count; ++i)
        figures.states_ns[i] = base::saturating::subtract(figures.states_ns[i], earlier.states_ns[i]);
    figures.host_next_ns = figures.host_next_ns.since(earlier.host_next_ns);
    if (earlier.last_ns != 0) figures.first_ns = std::min(earlier.last_ns, figures.last_ns);
    for (CommandKindFigures& kind : figures.kinds) {
        const auto former = std::ranges::lower_bound(earlier.kinds, kind.kind, {}, &CommandKindFigures::kind);
        if (former != earlier.kinds.end() && former->kind == kind.kind) subtract_kind(kind, *former);
        for (const auto member : exhibits)
            std::erase_if(kind.*member,
                          [since_ns](const CommandRecord& record) { return ended_before(record, since_ns); });
        if (kind.unanswered == 0) kind.waiting.clear();
    }
    std::erase_if(figures.kinds, is_empty);
}

}  // namespace metrics::figures
