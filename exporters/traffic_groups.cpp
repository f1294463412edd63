#include "exporters/traffic_groups.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "base/saturating.h"
#include "exporters/field_builder.h"
#include "exporters/json.h"
#include "exporters/text_table.h"

namespace exporters {

namespace {

using metrics::Address;
using metrics::FlowSnapshot;

struct HostText {
    std::string name;
    std::string address;
};

HostText text_of_host(const Address& address, const metrics::HostNames* names) {
    return {metrics::address_text(address, names), metrics::to_text(address)};
}

void add_sent(TrafficGroup& group, const FlowRow& row) {
    ++group.flows;
    if (problem_of(row) != nullptr) ++group.problems;
    group.sent_bytes += row.flow.wire_bytes;
    group.sent_packets += row.flow.packets;
    group.messages += row.flow.messages_total();
}

void add_received(TrafficGroup& group, const FlowRow& row) {
    group.received_bytes += row.flow.wire_bytes;
    group.received_packets += row.flow.packets;
}

void add_over_time(TrafficGroup& group, const FlowTimeline::Cells* cells) {
    if (cells == nullptr) return;
    FlowTimeline::Cells& sums = group.bytes_over_time;
    sums.resize(std::max(sums.size(), cells->size()));
    for (std::size_t i = 0; i < cells->size(); ++i) sums[i] = base::saturating::add(sums[i], (*cells)[i]);
}

/// Gathers groups in the order in which their first flows come.
template <class Key>
class Gatherer {
public:
    template <class Make>
    TrafficGroup& of(const Key& key, const Make& make) {
        const auto [at, fresh] = places_.try_emplace(key, groups_.size());
        if (fresh) groups_.push_back(make());
        return groups_[at->second];
    }
    std::vector<TrafficGroup> take() { return std::move(groups_); }

private:
    std::map<Key, std::size_t> places_ = {};
    std::vector<TrafficGroup> groups_ = {};
};

TrafficGroup group_of_host(const Address& address, const metrics::HostNames* names) {
    HostText host = text_of_host(address, names);
    TrafficGroup group;
    group.name = std::move(host.name);
    group.address = std::move(host.address);
    return group;
}

std::vector<TrafficGroup> groups_by_host(const std::vector<FlowRow>& rows, const FlowTimeline& timeline) {
    Gatherer<Address> hosts;
    for (const FlowRow& row : rows) {
        const auto group = [&](const Address& address) -> TrafficGroup& {
            return hosts.of(address, [&] { return group_of_host(address, row.context.names); });
        };
        add_sent(group(row.flow.source.address), row);
        add_over_time(group(row.flow.source.address), timeline.of(row.flow.id));
        add_received(group(row.flow.destination.address), row);
    }
    return hosts.take();
}

TrafficGroup group_of_pair(const FlowSnapshot& flow, const metrics::HostNames* names) {
    TrafficGroup group = group_of_host(flow.source.address, names);
    HostText peer = text_of_host(flow.destination.address, names);
    group.peer = std::move(peer.name);
    group.peer_address = std::move(peer.address);
    return group;
}

std::vector<TrafficGroup> groups_by_pair(const std::vector<FlowRow>& rows, const FlowTimeline& timeline) {
    Gatherer<std::pair<Address, Address>> pairs;
    for (const FlowRow& row : rows) {
        const Address& source = row.flow.source.address;
        const Address& destination = row.flow.destination.address;
        TrafficGroup& group =
            pairs.of(std::minmax(source, destination), [&] { return group_of_pair(row.flow, row.context.names); });
        add_over_time(group, timeline.of(row.flow.id));
        const bool forward = group.address == metrics::to_text(source);
        if (forward) {
            add_sent(group, row);
            continue;
        }
        ++group.flows;
        if (problem_of(row) != nullptr) ++group.problems;
        group.messages += row.flow.messages_total();
        add_received(group, row);
    }
    return pairs.take();
}

std::string process_of(const FlowSnapshot& flow) {
    return flow.verbs ? program_text(flow.verbs->process) : "(not traced)";
}

std::vector<TrafficGroup> groups_by_process(const std::vector<FlowRow>& rows, const FlowTimeline& timeline) {
    std::map<std::uint64_t, const FlowRow*> by_id;
    for (const FlowRow& row : rows) by_id.emplace(row.flow.id, &row);
    Gatherer<std::string> processes;
    for (const FlowRow& row : rows) {
        TrafficGroup& group = processes.of(process_of(row.flow), [&row] {
            TrafficGroup made;
            made.name = process_of(row.flow);
            if (row.flow.verbs && row.flow.verbs->process.pid != 0) made.pid = row.flow.verbs->process.pid;
            return made;
        });
        add_sent(group, row);
        add_over_time(group, timeline.of(row.flow.id));
        // What comes back to the process is the flow of the opposite direction.
        const auto reverse = row.flow.reverse ? by_id.find(*row.flow.reverse) : by_id.end();
        if (row.flow.verbs && reverse != by_id.end()) add_received(group, *reverse->second);
    }
    return processes.take();
}

void add_shares(std::vector<TrafficGroup>& groups, const std::vector<FlowRow>& rows, GroupBy by) {
    std::uint64_t all = 0;
    for (const FlowRow& row : rows) all += row.flow.wire_bytes;
    if (all == 0) return;
    for (TrafficGroup& group : groups) {
        const std::uint64_t bytes = by == GroupBy::pair ? group.bytes() : group.sent_bytes;
        group.share = static_cast<double>(bytes) / static_cast<double>(all);
    }
}

Value address_or_nothing(const std::string& text) { return text.empty() ? Value{} : Value{text}; }

std::vector<GroupField> make_group_fields(GroupBy by) {
    FieldBuilder<TrafficGroup> fields;
    const bool pair = by == GroupBy::pair;
    if (by == GroupBy::process) {
        fields.add("process", "", "process", Unit::text, "the sending process, where it was traced: its name and pid",
                   [](const TrafficGroup& group) { return group.name; });
        fields.add("pid", "", "pid", Unit::code, "its number",
                   [](const TrafficGroup& group) { return value(group.pid); });
    } else {
        fields.add("host", "", "host", Unit::text, "by name where hosts(5) has one",
                   [](const TrafficGroup& group) { return group.name; });
        fields.add("address", "", "address", Unit::text, "its address",
                   [](const TrafficGroup& group) { return address_or_nothing(group.address); });
    }
    if (pair) {
        fields.add("peer", "", "peer", Unit::text, "the other host",
                   [](const TrafficGroup& group) { return group.peer; });
        fields.add("peer_address", "", "peer address", Unit::text, "its address",
                   [](const TrafficGroup& group) { return address_or_nothing(group.peer_address); });
    }
    fields.add("flows", "", "flows", Unit::count, pair ? "flows of both directions" : "flows that it sends",
               [](const TrafficGroup& group) { return group.flows; });
    fields.add("problems", "", "problems", Unit::count, "of them, flows with a problem",
               [](const TrafficGroup& group) { return group.problems; });
    fields.add("messages", "", "msgs", Unit::count, "messages of those flows",
               [](const TrafficGroup& group) { return group.messages; });
    fields.add("sent_bytes", "", pair ? "there" : "sent", Unit::bytes,
               pair ? "bytes of frames from the host to its peer" : "bytes of frames that it sent",
               [](const TrafficGroup& group) { return group.sent_bytes; });
    fields.add("sent_packets", "", "packets", Unit::count, "those frames",
               [](const TrafficGroup& group) { return group.sent_packets; });
    fields.add("received_bytes", "", pair ? "back" : "received", Unit::bytes,
               pair ? "bytes of frames from the peer to the host" : "bytes of frames that it received",
               [](const TrafficGroup& group) { return group.received_bytes; });
    fields.add("received_packets", "", "packets", Unit::count, "those frames",
               [](const TrafficGroup& group) { return group.received_packets; });
    fields.add("share", "", "share", Unit::share,
               pair ? "of the bytes of all flows, both ways" : "of the bytes of all flows, what it sent",
               [](const TrafficGroup& group) { return group.share; });
    return std::move(fields.all);
}

/// A column that says the same as the one before: addresses, where no name is known.
bool repeats_names(const GroupField& field, const std::vector<TrafficGroup>& groups) {
    if (field.path == "address")
        return std::ranges::all_of(groups, [](const auto& group) { return group.address == group.name; });
    if (field.path == "peer_address")
        return std::ranges::all_of(groups, [](const auto& group) { return group.peer_address == group.peer; });
    return field.path == "pid";
}

/// `cells`: the width of bytes over time; 0: without.
std::string group_table(const std::vector<const GroupField*>& fields, const std::vector<TrafficGroup>& groups,
                        std::size_t cells) {
    std::vector<Table::Heading> headings;
    headings.reserve(fields.size() + 1);
    for (const GroupField* field : fields) headings.push_back({field->title, is_left_aligned(field->unit)});
    if (cells > 0) headings.push_back({"over time"});
    Table table(std::move(headings));
    for (const TrafficGroup& group : groups) {
        std::vector<std::string> row;
        row.reserve(fields.size() + 1);
        for (const GroupField* field : fields) row.push_back(readable(field->value(group), field->unit));
        if (cells > 0) row.push_back(sparkline(group.bytes_over_time, cells));
        table.add(std::move(row));
    }
    std::string out;
    table.flush(out);
    return out;
}

}  // namespace

std::string_view name_of(GroupBy by) {
    constexpr std::array<std::string_view, 3> names{"host", "pair", "process"};
    return names[static_cast<std::size_t>(by)];
}

std::vector<TrafficGroup> traffic_groups(const std::vector<FlowRow>& rows, GroupBy by, const FlowTimeline& timeline) {
    std::vector<TrafficGroup> groups = by == GroupBy::host   ? groups_by_host(rows, timeline)
                                       : by == GroupBy::pair ? groups_by_pair(rows, timeline)
                                                             : groups_by_process(rows, timeline);
    add_shares(groups, rows, by);
    std::stable_sort(groups.begin(), groups.end(), [](const TrafficGroup& a, const TrafficGroup& b) {
        return a.share != b.share ? a.share > b.share : a.bytes() > b.bytes();
    });
    return groups;
}

const std::vector<GroupField>& group_fields(GroupBy by) {
    static const std::array<std::vector<GroupField>, 3> tables{
        make_group_fields(GroupBy::host), make_group_fields(GroupBy::pair), make_group_fields(GroupBy::process)};
    return tables[static_cast<std::size_t>(by)];
}

void append_group_table(std::string& out, const std::vector<TrafficGroup>& groups, GroupBy by, std::size_t width) {
    constexpr std::size_t least_cells = 9;  // the heading
    constexpr std::size_t most_cells = 32;
    constexpr std::size_t between = 2;
    // Columns that a narrow terminal lacks, in this order.
    constexpr std::array<std::string_view, 5> dispensable{"received_packets", "sent_packets", "messages", "flows",
                                                          "problems"};
    std::vector<const GroupField*> shown;
    for (const GroupField& field : group_fields(by))
        if (!repeats_names(field, groups)) shown.push_back(&field);
    const bool known = std::ranges::any_of(groups, [](const auto& group) { return !group.bytes_over_time.empty(); });
    const std::size_t needed = known ? least_cells + between : 0;
    std::string figures = group_table(shown, groups, 0);
    const auto taken = [&figures] { return display_width(std::string_view(figures).substr(0, figures.find('\n'))); };
    for (const std::string_view path : dispensable) {
        if (taken() + needed <= width) break;
        std::erase_if(shown, [path](const GroupField* field) { return field->path == path; });
        figures = group_table(shown, groups, 0);
    }
    const std::size_t left = width - std::min(width, taken() + between);
    out += known && left >= least_cells ? group_table(shown, groups, std::min(left, most_cells)) : figures;
}

void append_group_csv(std::string& out, const std::vector<TrafficGroup>& groups, GroupBy by) {
    const std::vector<GroupField>& fields = group_fields(by);
    const auto append_line = [&out, &fields](const auto& value_of) {
        for (std::size_t i = 0; i < fields.size(); ++i) {
            if (i > 0) out += ',';
            append_csv(out, value_of(fields[i]));
        }
        out += '\n';
    };
    append_line([](const GroupField& field) { return Value{field.path}; });
    for (const TrafficGroup& group : groups)
        append_line([&group](const GroupField& field) { return field.value(group); });
}

void append_group_json(std::string& out, const std::vector<TrafficGroup>& groups, GroupBy by, std::uint64_t cell_ns,
                       const metrics::CaptureFigures& capture, const Context& context) {
    out += "{\"capture\":";
    append_json(out, capture, context);
    out += fmt::format(",\n\"by\":\"{}\",\n\"cell_ns\":", name_of(by));
    append_json(out, cell_ns == 0 ? Value{} : Value{cell_ns});
    out += ",\n\"groups\":[";
    for (std::size_t i = 0; i < groups.size(); ++i) {
        out += i == 0 ? "\n" : ",\n";
        ObjectWriter object(out);
        for (const GroupField& field : group_fields(by)) object.put(field.path, field.value(groups[i]));
        object.put("bytes_over_time", cell_ns == 0 ? Value{} : Value{groups[i].bytes_over_time});
        object.finish();
    }
    out += "]}\n";
}

}  // namespace exporters
