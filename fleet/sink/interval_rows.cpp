#include "fleet/sink/interval_rows.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "fleet/rows/command_rows.h"
#include "fleet/rows/flow_event_rows.h"
#include "fleet/rows/flow_rows.h"

namespace fleet::sink {
namespace {

using rows::Place;
using rows::Row;

std::uint64_t content_of(const rows::Table& table, const Row& row) {
    std::string octets;
    rows::append_row_binary(octets, table, row);
    return base::fnv(base::fnv_begin, std::as_bytes(std::span(octets)));
}

void add_section(Batch& batch, const SectionWriter& rows) {
    if (!rows.empty()) batch.sections.push_back(rows.finish());
}

std::string key_of(const metrics::DeviceCounter& counter) {
    return fmt::format("{}/{}/{}", counter.device, counter.port, counter.name);
}

const metrics::HostSnapshot* find_host(const metrics::Snapshot& snapshot, const metrics::Address& address) {
    const auto found = std::ranges::lower_bound(snapshot.hosts, address, {}, &metrics::HostSnapshot::address);
    return found == snapshot.hosts.end() || found->address != address ? nullptr : &*found;
}

const metrics::DeviceCounter* find_counter(const metrics::DeviceFigures& devices, const std::string& key) {
    for (const metrics::DeviceCounter& counter : devices.counters)
        if (counter.queue_pairs.empty() && key_of(counter) == key) return &counter;
    return nullptr;
}

}  // namespace

ChangeLog::Change ChangeLog::look(const std::string& key, std::uint64_t content, const rows::Place& place) {
    const auto [at, is_new] = seen_.try_emplace(key);
    Seen& seen = at->second;
    seen.looked = place.sequence;
    if (!is_new && seen.content == content) return Change::none;
    const bool follows = !is_new && seen.written + 1 == place.sequence;
    seen.content = content;
    seen.written = place.sequence;
    seen.last_end_ns = std::exchange(seen.end_ns, place.end_ns);
    return follows ? Change::changed : Change::resumed;
}

void ChangeLog::forget_absent(std::uint32_t sequence) {
    std::erase_if(seen_, [sequence](const auto& each) { return each.second.looked != sequence; });
}

IntervalRows::IntervalRows(std::string host, std::uint64_t boot, std::int64_t start_ns)
    : host_(std::move(host)), boot_(boot) {
    before_.snapshot = std::make_shared<metrics::Snapshot>();
    before_.end_ns = start_ns;
}

Batch IntervalRows::make(const Interval& interval, const metrics::HostNames& names) {
    place_ = {host_, boot_, sequence_ + 1, interval.end_ns};
    made_ = interval;
    made_logs_ = logs_;
    made_paths_ = paths_;
    Batch batch;
    const metrics::Snapshot difference = metrics::difference(*before_.snapshot, *interval.snapshot);
    std::vector<metrics::Answer> answers;
    if (!difference.flows.empty()) answers = metrics::answer(difference, names);
    add_flows(batch, interval, metrics::flow_problems(difference, answers));
    add_commands(batch, interval);
    add_events(batch, interval);
    add_paths(batch, interval, difference);
    add_answers(batch, answers);
    add_hosts(batch, interval);
    add_counters(batch, interval);
    SectionWriter health(rows::health_table());
    health.add(rows::health_row(place_, *interval.snapshot, interval.health));
    add_section(batch, health);
    return batch;
}

void IntervalRows::accept() {
    before_ = std::move(made_);
    logs_ = std::move(made_logs_);
    paths_ = std::move(made_paths_);
    ++sequence_;
}

void IntervalRows::add_flows(Batch& batch, const Interval& interval, const metrics::FlowProblems& problems) {
    const rows::Table& table = rows::flows_table();
    SectionWriter section(table);
    for (const metrics::FlowSnapshot& flow : interval.snapshot->flows) {
        rows::FlowNotes notes{.own_end = rows::own_end(flow, interval.own_addresses)};
        const std::uint64_t content = content_of(table, rows::flow_row({}, flow, notes));
        const std::string key = std::to_string(flow.id);
        const ChangeLog::Change change = made_logs_.flows.look(key, content, place_);
        if (change == ChangeLog::Change::none) continue;
        std::int64_t last_end_ns = made_logs_.flows.last_end_ns(key);
        if (change == ChangeLog::Change::resumed) {
            notes.begins = rows::begins_of(std::exchange(last_end_ns, before_.end_ns), before_.end_ns);
            const metrics::FlowSnapshot* const former = before_.snapshot->flow(flow.id);
            section.add(rows::flow_row(place_before(), former == nullptr ? rows::before_its_first_frame(flow) : *former,
                                       notes));
        }
        if (const auto problem = problems.find(flow.id); problem != problems.end()) {
            notes.verdict = name_of(problem->second.verdict);
            notes.cause = problem->second.cause;
            notes.grade = static_cast<std::uint8_t>(problem->second.grade);
        }
        notes.begins = rows::begins_of(last_end_ns, place_.end_ns);
        section.add(rows::flow_row(place_, flow, notes));
    }
    made_logs_.flows.forget_absent(place_.sequence);
    add_section(batch, section);
}

void IntervalRows::add_states(Batch& batch, const rows::Table& table, ChangeLog& log, const States& states) {
    SectionWriter section(table);
    std::optional<std::unordered_map<std::string, Row>> former;
    const auto row_before = [&](const rows::StateRow& state) {
        if (!former) {
            former.emplace();
            for (rows::StateRow& one : states.before()) former->emplace(std::move(one.key), std::move(one.row));
        }
        const auto found = former->find(state.key);
        Row row = found == former->end() ? rows::before_its_first(table, state.row) : found->second;
        rows::clear_notes(table, row);
        return row;
    };
    for (const rows::StateRow& state : states.now) {
        const ChangeLog::Change change = log.look(state.key, content_of(table, state.row), place_);
        if (change == ChangeLog::Change::none) continue;
        std::int64_t last_end_ns = log.last_end_ns(state.key);
        if (change == ChangeLog::Change::resumed) {
            Row row = row_before(state);
            rows::set_place(row, place_before());
            rows::set_begins(table, row, rows::begins_of(std::exchange(last_end_ns, before_.end_ns), before_.end_ns));
            section.add(row);
        }
        Row row = state.row;
        rows::set_place(row, place_);
        rows::set_begins(table, row, rows::begins_of(last_end_ns, place_.end_ns));
        section.add(row);
    }
    log.forget_absent(place_.sequence);
    add_section(batch, section);
}

void IntervalRows::add_commands(Batch& batch, const Interval& interval) {
    add_states(batch, rows::commands_table(), made_logs_.commands,
               {rows::command_rows(*interval.snapshot, interval.own_addresses),
                [this] { return rows::command_rows(*before_.snapshot, before_.own_addresses); }});
}

void IntervalRows::add_events(Batch& batch, const Interval& interval) {
    add_states(batch, rows::events_table(), made_logs_.events,
               {rows::event_rows(*interval.snapshot, interval.own_addresses),
                [this] { return rows::event_rows(*before_.snapshot, before_.own_addresses); }});
}

void IntervalRows::add_paths(Batch& batch, const Interval& interval, const metrics::Snapshot& difference) {
    made_paths_.add(difference, interval.own_addresses, place_.sequence);
    add_states(batch, rows::paths_table(), made_logs_.paths,
               {made_paths_.rows(place_.sequence), [this] { return paths_.rows(0); }});
}

void IntervalRows::add_hosts(Batch& batch, const Interval& interval) {
    const rows::Table& table = rows::hosts_table();
    SectionWriter section(table);
    for (const metrics::HostSnapshot& host : interval.snapshot->hosts) {
        const std::uint64_t content = content_of(table, rows::host_row({}, host));
        const auto change = made_logs_.hosts.look(metrics::to_text(host.address), content, place_);
        if (change == ChangeLog::Change::none) continue;
        if (change == ChangeLog::Change::resumed) {
            metrics::HostSnapshot never;
            never.address = host.address;
            const metrics::HostSnapshot* const former = find_host(*before_.snapshot, host.address);
            section.add(rows::host_row(place_before(), former == nullptr ? never : *former));
        }
        section.add(rows::host_row(place_, host));
    }
    made_logs_.hosts.forget_absent(place_.sequence);
    add_section(batch, section);
}

/// Counters of single queue pairs are left out: the flows have their figures.
void IntervalRows::add_counters(Batch& batch, const Interval& interval) {
    const rows::Table& table = rows::counters_table();
    SectionWriter section(table);
    for (const metrics::DeviceCounter& counter : interval.devices.counters) {
        if (!counter.queue_pairs.empty()) continue;
        const std::string key = key_of(counter);
        const auto change = made_logs_.counters.look(key, counter.value + 1, place_);
        if (change == ChangeLog::Change::none) continue;
        if (change == ChangeLog::Change::resumed) {
            metrics::DeviceCounter before = counter;
            const metrics::DeviceCounter* const former = find_counter(before_.devices, key);
            before.value = former == nullptr ? 0 : former->value;
            section.add(rows::counter_row(place_before(), before));
        }
        section.add(rows::counter_row(place_, counter));
    }
    made_logs_.counters.forget_absent(place_.sequence);
    add_section(batch, section);
}

void IntervalRows::add_answers(Batch& batch, const std::vector<metrics::Answer>& answers) {
    SectionWriter section(rows::answers_table());
    std::uint64_t rank = 0;
    for (const metrics::Answer& answer : answers) section.add(rows::answer_row(place_, ++rank, answer));
    add_section(batch, section);
}

}  // namespace fleet::sink
