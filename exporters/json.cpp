#include "exporters/json.h"

#include <algorithm>
#include <array>

#include "exporters/device_json.h"
#include "exporters/field_builder.h"

namespace exporters {

namespace {

std::string_view parents_of(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return dot == std::string_view::npos ? std::string_view{} : path.substr(0, dot);
}
std::string_view outermost(std::string_view path) { return path.substr(0, path.find('.')); }
bool is_nothing(const Value& value) { return std::holds_alternative<std::monostate>(value); }

/// How much of both paths is the same, in whole names.
std::size_t common(std::string_view a, std::string_view b) {
    std::size_t same = 0;
    for (std::size_t i = 0;; ++i) {
        const bool a_ends = i == a.size() || a[i] == '.';
        const bool b_ends = i == b.size() || b[i] == '.';
        if (a_ends && b_ends) same = i;
        if (i == a.size() || i == b.size() || a[i] != b[i]) return same;
    }
}
std::size_t names_in(std::string_view path) {
    return path.empty() ? 0 : 1 + static_cast<std::size_t>(std::count(path.begin(), path.end(), '.'));
}

enum class Side : std::uint8_t { client, server };

void put_endpoint(ObjectWriter& object, Side side, const metrics::Endpoint& endpoint, const Context& context) {
    const std::string host = context.names != nullptr ? context.names->name(endpoint.address) : std::string{};
    const bool known = endpoint.address.family != wire::AddressFamily::none;
    // The paths outlive the object: these are all there are.
    static const std::array<std::string, 8> paths{"client.address", "client.name", "client.qpn", "client.port",
                                                  "server.address", "server.name", "server.qpn", "server.port"};
    const std::size_t base = side == Side::client ? 0 : 4;
    object.put(paths[base], known ? Value{metrics::to_text(endpoint.address)} : Value{});
    object.put(paths[base + 1], host.empty() ? Value{} : Value{host});
    object.put(paths[base + 2], value(endpoint.qpn));
    object.put(paths[base + 3], value(endpoint.port));
}

/// Each kind with its frames; kinds that have no row of their own are counted together.
std::string unread_carriers(const metrics::CaptureFigures& capture) {
    std::string list = "[";
    const auto add = [&list](std::string kind, std::uint64_t frames) {
        if (list.size() > 1) list += ',';
        ObjectWriter object(list);
        object.put("kind", Value{std::move(kind)});
        object.put("frames", frames);
        object.finish();
    };
    for (const auto& row : capture.unread.rows()) add(text_of(row.carrier), row.frames);
    if (capture.unread.others() != 0) add("other carriers", capture.unread.others());
    return list + "]";
}

}  // namespace

void ObjectWriter::key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_.append(1, '"').append(name).append("\":");
}

void ObjectWriter::enter(std::string_view parents) {
    if (parents == parents_) return;
    const std::size_t same = common(parents_, parents);
    const std::size_t closing = names_in(parents_) - names_in(parents.substr(0, same));
    if (closing > 0) {
        out_.append(closing, '}');
        first_ = false;
    }
    for (std::size_t at = same; at < parents.size();) {
        if (at > 0) ++at;  // the dot
        const std::size_t end = std::min(parents.find('.', at), parents.size());
        key(parents.substr(at, end - at));
        out_ += '{';
        first_ = true;
        at = end;
    }
    parents_ = parents;
}

void ObjectWriter::put(std::string_view path, const Value& value) {
    const std::string_view parents = parents_of(path);
    enter(parents);
    key(parents.empty() ? path : path.substr(parents.size() + 1));
    append_json(out_, value);
}

void ObjectWriter::put_json(std::string_view name, std::string_view json) {
    enter({});
    key(name);
    out_ += json;
}

void ObjectWriter::finish() {
    enter({});
    out_ += '}';
}

FlowColumns in_json_order(const FlowColumns& columns) {
    FlowColumns ordered;
    const auto take = [&](const std::vector<FlowField>& table) {
        for (const FlowField& field : table)
            if (std::find(columns.begin(), columns.end(), &field) != columns.end()) ordered.push_back(&field);
    };
    take(interval_fields());
    take(flow_fields());
    take(brief_fields());
    return ordered;
}

void append_json(std::string& out, const FlowColumns& columns, const FlowRow& row) {
    ObjectWriter object(out);
    for (auto at = columns.begin(); at != columns.end(); ++at) {
        const FlowField& field = **at;
        if (field.presence == Presence::with_group) {
            // Either some of the group is known, or all of it is one null.
            const std::string_view group = outermost(field.path);
            const auto end = std::find_if(at, columns.end(),
                                          [&](const FlowField* other) { return outermost(other->path) != group; });
            const bool unknown = std::all_of(at, end, [&](const FlowField* other) {
                const Value known = other->value(row);
                // A distribution without samples is nothing known either.
                const auto* count = std::get_if<std::uint64_t>(&known);
                return is_nothing(known) || (count != nullptr && *count == 0 && other->statistic == Statistic::samples);
            });
            if (unknown)
                object.put(group, {});
            else
                for (auto member = at; member != end; ++member) object.put((*member)->path, (*member)->value(row));
            at = end - 1;
            continue;
        }
        const Value known = field.value(row);
        if (field.presence == Presence::when_present && is_nothing(known))
            object.open(parents_of(field.path));
        else
            object.put(field.path, known);
    }
    object.finish();
}

void append_json(std::string& out, const metrics::CaptureFigures& capture, const Context& context) {
    ObjectWriter object(out);
    object.put("packets", capture.packets);
    object.put("bytes", capture.bytes);
    object.put("rdma_units", capture.rdma_units);
    object.put("kernel_dropped", value(capture.kernel_dropped));
    object.put("truncated", capture.truncated);
    object.put("malformed", capture.malformed);
    object.put("cut_by_mirror", capture.cut_by_mirror);
    object.put("headers_cut", capture.headers_cut);
    const bool any = capture.packets > 0;
    object.put("first_ns", any ? Value{capture.first_ns} : Value{});
    object.put("last_ns", any ? Value{capture.last_ns} : Value{});
    Context own;
    own.capture_start_ns = context.capture_start_ns ? context.capture_start_ns : start_of(capture);
    object.put("first_offset_ns", any ? value(offset_ns(capture.first_ns, own)) : Value{});
    object.put("last_offset_ns", any ? value(offset_ns(capture.last_ns, own)) : Value{});
    object.put("first_time", any ? Value{iso_time(capture.first_ns)} : Value{});
    object.put("last_time", any ? Value{iso_time(capture.last_ns)} : Value{});
    object.put("unsorted", capture.unsorted);
    object.put("seen_twice", capture.seen_twice);
    object.put("copies", capture.copies);
    object.put("copies_elsewhere", capture.copies_elsewhere);
    object.put("icrc_bad", context.crc_verified && can_verify(capture) ? Value{capture.icrc_bad} : Value{});
    object.put("flows_seen", capture.flows_seen);
    object.put("flows_evicted", capture.flows_evicted);
    object.put("streams_evicted", capture.streams_evicted);
    object.put("stream_octets_lost", capture.stream_octets_lost);
    object.put("stream_octets_skipped", capture.stream_octets_skipped);
    object.put("values_misplaced", capture.values_misplaced);
    object.put("beyond_hosts", capture.beyond_hosts);
    object.put_json("not_looked_into", unread_carriers(capture));
    constexpr std::array<std::string_view, wire::management_kind_count> management{
        "management.subnet",     "management.subnet_administration", "management.performance",
        "management.connection", "management.application",           "management.vendor",
        "management.other"};
    for (std::size_t kind = 0; kind < management.size(); ++kind) object.put(management[kind], capture.management[kind]);
    object.finish();
}

void append_json(std::string& out, const metrics::HostSnapshot& host, const Context& context) {
    const std::string name = context.names != nullptr ? context.names->name(host.address) : std::string{};
    ObjectWriter object(out);
    object.put("address", metrics::to_text(host.address));
    object.put("name", name.empty() ? Value{} : Value{name});
    object.put("sent_wire_bytes", host.sent_wire_bytes);
    object.put("received_wire_bytes", host.received_wire_bytes);
    object.put("sent_packets", host.sent_packets);
    object.put("received_packets", host.received_packets);
    object.put("received_requests", host.received_requests);
    object.put("link_bits_per_sec", value(host.link_bits_per_sec));
    object.put("link_is_learnt", host.link_bits_per_sec ? Value{host.link_is_learnt} : Value{});
    object.put("senders", host.senders);
    object.put("incast.senders_max", host.incast_senders_max);
    object.put("incast.frame", host.incast_frame == 0 ? Value{} : Value{host.incast_frame});
    const auto reuse = [&](const std::array<std::string_view, 4>& paths, const metrics::ReuseFigures& figures) {
        object.put(paths[0], figures.accesses);
        object.put(paths[1], figures.distinct);
        object.put(paths[2], figures.working_set_mean);
        object.put(paths[3], figures.working_set_max);
    };
    reuse(
        {"queue_pairs.accesses", "queue_pairs.distinct", "queue_pairs.working_set_mean", "queue_pairs.working_set_max"},
        host.queue_pairs);
    reuse(
        {"remote_keys.accesses", "remote_keys.distinct", "remote_keys.working_set_mean", "remote_keys.working_set_max"},
        host.remote_keys);
    reuse({"pages.accesses", "pages.distinct", "pages.working_set_mean", "pages.working_set_max"}, host.pages);
    object.finish();
}

namespace {
std::string senders_of(const metrics::PauseSnapshot& pauses) {
    std::string list = "[";
    for (const metrics::PauseSender& sender : pauses.senders) {
        if (list.size() > 1) list += ',';
        ObjectWriter object(list);
        object.put("mac", metrics::to_text(sender.mac));
        const bool known = sender.host.family != wire::AddressFamily::none;
        object.put("host", known ? Value{metrics::to_text(sender.host)} : Value{});
        object.put("frames", sender.frames);
        object.put("resume_frames", sender.resume_frames);
        object.put("priority_frames", Value{Frames(sender.priority_frames.begin(), sender.priority_frames.end())});
        object.finish();
    }
    return list + "]";
}
}  // namespace

void append_json(std::string& out, const metrics::PauseSnapshot& pauses) {
    const auto list = [](const std::array<std::uint64_t, 8>& by_class) {
        return Value{Frames(by_class.begin(), by_class.end())};
    };
    ObjectWriter object(out);
    object.put("interface", std::uint64_t{pauses.interface});
    object.put("pause_frames", pauses.pause_frames);
    object.put("pfc_frames", pauses.pfc_frames);
    object.put("resume_frames", pauses.resume_frames);
    object.put("priority_frames", list(pauses.priority_frames));
    object.put("priority_quanta", list(pauses.priority_quanta));
    object.put("pause_ns", pauses.stopped_ns ? Value{pauses.stopped_ns->all_ns} : Value{});
    object.put("priority_ns", pauses.stopped_ns ? list(pauses.stopped_ns->priority_ns) : Value{});
    object.put("frames", pauses.frames);
    object.put_json("senders", senders_of(pauses));
    object.finish();
}

namespace {
/// In the order of wire::IcmpErrorKind.
constexpr std::array<std::string_view, wire::icmp_error_kind_count> icmp_paths{
    "icmp.port_unreachable",     "icmp.host_unreachable", "icmp.prohibited",
    "icmp.fragmentation_needed", "icmp.time_exceeded",    "icmp.other"};
}  // namespace

void append_json(std::string& out, const metrics::ConnectionAttempt& attempt, const Context& context) {
    ObjectWriter object(out);
    object.put("transport", std::string(metrics::name_of(attempt.transport)));
    put_endpoint(object, Side::client, attempt.client, context);
    put_endpoint(object, Side::server, attempt.server, context);
    object.put("request_frame", attempt.request_frame);
    object.put("requests", attempt.requests);
    object.put("end_frame", attempt.end_frame == 0 ? Value{} : Value{attempt.end_frame});
    object.put("request_ns", attempt.request_ns);
    object.put("request_offset_ns", value(offset_ns(attempt.request_ns, context)));
    object.put("request_time", iso_time(attempt.request_ns));
    object.put("outcome", attempt.outcome == metrics::AttemptOutcome::unknown
                              ? Value{}
                              : Value{std::string(name_of(attempt.outcome))});
    object.put("reason", attempt.reason.empty() ? Value{} : Value{attempt.reason});
    if (attempt.icmp)
        for (std::size_t kind = 0; kind < icmp_paths.size(); ++kind)
            object.put(icmp_paths[kind], attempt.icmp->kinds[kind].count);
    object.put("rejected_by", attempt.outcome != metrics::AttemptOutcome::rejected ? Value{}
                              : attempt.by_client                                  ? Value{std::string("client")}
                                                                                   : Value{std::string("server")});
    object.finish();
}

void FlowsDocument::begin(std::string& out) { out += "{\"flows\":["; }

void FlowsDocument::begin(std::string& out, const metrics::CaptureFigures& capture, const Context& context) {
    out += "{\"capture\":";
    append_json(out, capture, context);
    out += ",\n\"flows\":[";
    capture_written_ = true;
}

void FlowsDocument::flow(std::string& out, const FlowRow& row) {
    out += first_ ? "\n" : ",\n";
    first_ = false;
    append_json(out, columns_, row);
}

void FlowsDocument::end(std::string& out, const metrics::Snapshot& snapshot, const Context& context,
                        const metrics::DeviceFigures* devices) {
    const auto list = [&](const char* name, const auto& all, const auto& append) {
        out += "],\n\"";
        out.append(name).append("\":[");
        bool first = true;
        for (const auto& one : all) {
            out += first ? "\n" : ",\n";
            first = false;
            append(one);
        }
    };
    list("hosts", snapshot.hosts, [&](const auto& host) { append_json(out, host, context); });
    list("pauses", snapshot.pauses, [&](const auto& pauses) { append_json(out, pauses); });
    Context with_start = context;
    if (!with_start.capture_start_ns) with_start.capture_start_ns = start_of(snapshot.capture);
    list("attempts", snapshot.attempts, [&](const auto& attempt) { append_json(out, attempt, with_start); });
    out += ']';
    if (!capture_written_) {
        out += ",\n\"capture\":";
        append_json(out, snapshot.capture, context);
    }
    if (devices != nullptr && !devices->empty()) out += ",\n\"devices\":" + device_json(*devices);
    out += "}\n";
}

}  // namespace exporters
