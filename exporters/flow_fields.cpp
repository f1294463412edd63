#include "exporters/flow_fields.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "base/ascii.h"
#include "base/timestamp.h"
#include "exporters/field_builder.h"
#include "exporters/flow_groups.h"

namespace exporters {

namespace {

using metrics::Endpoint;
using metrics::FlowSnapshot;
using Fields = FieldBuilder<FlowRow>;

Value address_of(const Endpoint& endpoint) {
    if (endpoint.address.family == wire::AddressFamily::none) return {};
    return metrics::to_text(endpoint.address);
}
Value name_of_host(const Endpoint& endpoint, const metrics::HostNames* names) {
    std::string name = names != nullptr ? names->name(endpoint.address) : std::string{};
    return name.empty() ? Value{} : Value{std::move(name)};
}

enum class End : std::uint8_t { source, destination };

void add_endpoint(Fields& fields, End which) {
    const bool is_source = which == End::source;
    const std::string end = is_source ? "source" : "destination";
    Endpoint FlowSnapshot::*const member = is_source ? &FlowSnapshot::source : &FlowSnapshot::destination;
    const auto of = [member](const FlowRow& row) -> const Endpoint& { return row.flow.*member; };
    fields.add(end + ".address", "", end, Unit::text, fmt::format("the {}'s IP address, GID or LID", end),
               [of](const FlowRow& row) { return address_of(of(row)); });
    fields.add(end + ".name", "", end + " name", Unit::text,
               "the name of that address: of a host in /etc/hosts, of a node of InfiniBand its description",
               [of](const FlowRow& row) { return name_of_host(of(row), row.context.names); });
    fields.add(end + ".qpn", "", end + " QPN", Unit::code,
               is_source ? "RoCE, InfiniBand: its queue pair; known once the flow is paired"
                         : "RoCE, InfiniBand: its queue pair",
               [of](const FlowRow& row) { return value(of(row).qpn); });
    fields.add(end + ".port", "", end + " port", Unit::code, "iWARP: its TCP port",
               [of](const FlowRow& row) { return value(of(row).port); });
    if (!is_source) return;
    fields.add("source.udp_port", "", "UDP port", Unit::code, "RoCEv2: UDP source port of the flow's first packet",
               [](const FlowRow& row) { return value(row.flow.udp_port); });
    fields.add("source.udp_ports", "", "UDP ports", Unit::count,
               "RoCEv2: how many different ones its requests had; 4 stands for 4 and more",
               [](const FlowRow& row) { return row.flow.udp_port ? Value{row.flow.udp_ports} : Value{}; });
}

void add_identity(Fields& fields) {
    fields.add("id", "", "id", Unit::frame, "number of the frame in which the flow was first seen",
               [](const FlowRow& row) { return row.flow.id; });
    fields.add("transport", "", "transport", Unit::text, "roce2, roce1, infiniband or iwarp",
               [](const FlowRow& row) { return std::string(metrics::name_of(row.flow.transport)); });
    fields.add("service", "", "service", Unit::text, "RC, UC, RD, UD or XRC; iWARP is RC",
               [](const FlowRow& row) { return std::string(name_of(row.flow.service)); });
    add_endpoint(fields, End::source);
    add_endpoint(fields, End::destination);
    fields.add("reverse", "", "reverse", Unit::frame, "id of the flow in the opposite direction",
               [](const FlowRow& row) { return value(row.flow.reverse); });
    fields.add("pairing.method", "", "paired by", Unit::text,
               "how that was found: tcp, cm (the set-up names both), source_qp, psn, or none",
               [](const FlowRow& row) { return std::string(name_of(row.flow.pairing.method)); });
    fields.add("pairing.confidence", "", "pairing", Unit::share, "how sure that is, 0 to 1", [](const FlowRow& row) {
        const auto& pairing = row.flow.pairing;
        return pairing.method == metrics::PairingMethod::none ? Value{} : Value{pairing.confidence};
    });
    fields.add("vantage", "", "vantage", Unit::text, "where the frames were taken: sender, receiver or mid_path",
               [](const FlowRow& row) {
                   if (row.flow.vantage == metrics::Vantage::unknown) return Value{};
                   return Value{std::string(name_of(row.flow.vantage))};
               });
}

void add_traffic(Fields& fields) {
    fields.add("packets", "", "packets", Unit::count, "frames; iWARP: TCP segments",
               [](const FlowRow& row) { return row.flow.packets; });
    fields.add("wire_bytes", "", "bytes", Unit::bytes, "bytes of those frames, without preamble, FCS and gap",
               [](const FlowRow& row) { return row.flow.wire_bytes; });
    fields.add("payload_bytes", "", "payload", Unit::bytes,
               "bytes of messages that passed, READ responses among them, repeats not",
               [](const FlowRow& row) { return row.flow.payload_bytes; });
    fields.add("acknowledgement_packets", "", "acks", Unit::count, "packets that only acknowledge",
               [](const FlowRow& row) { return row.flow.acknowledgement_packets; });
    fields.add("retransmitted_packets", "", "resent", Unit::count,
               "packets sent again by the sender; null where the service repeats nothing (UC, UD)",
               [](const FlowRow& row) { return value(row.flow.retransmitted_packets); });
    fields.add("duplicate_packets", "", "doubled", Unit::count, "packets that the network doubled",
               [](const FlowRow& row) { return value(row.flow.duplicate_packets); });
    fields.add("reordered_packets", "", "reordered", Unit::count, "packets that came late but were not sent again",
               [](const FlowRow& row) { return value(row.flow.reordered_packets); });
    fields.add("missing_packets", "", "missing", Unit::count,
               "packets that never passed here although later ones did: lost on the way to the tap",
               [](const FlowRow& row) { return value(row.flow.missing_packets); });
    fields.add("unseen_acknowledged_packets", "", "unseen", Unit::count,
               "packets that the peer acknowledged and the capture lacks: the capture has holes",
               [](const FlowRow& row) { return row.flow.unseen_acknowledged_packets; });
    fields.add("timeouts", "", "timeouts", Unit::count, "recoveries that only a timer explains",
               [](const FlowRow& row) { return row.flow.timeouts; });
}

void add_paths(Fields& fields) {
    const auto known = [](const FlowRow& row, std::uint64_t one, auto of) {
        if (!row.flow.entropy.known()) return Value{};
        return Value{row.flow.path ? std::uint64_t{of(*row.flow.path)} : one};
    };
    fields.add("entropy", "", "entropy", Unit::text,
               "what switches hash besides the addresses: UDP source port, flow label, TCP ports, LIDs; of the last "
               "data packet",
               [](const FlowRow& row) {
                   return row.flow.entropy.known() ? Value{metrics::to_text(row.flow.entropy)} : Value{};
               });
    fields.add("entropies", "", "entropies", Unit::count,
               "how many different ones its data packets had; an estimate above 8",
               [known](const FlowRow& row) { return known(row, 1, [](const auto& path) { return path.entropies; }); });
    fields.add("entropy_changes", "", "entropy changes", Unit::count,
               "data packets whose entropy is not that of the data packet before", [known](const FlowRow& row) {
                   return known(row, 0, [](const auto& path) { return path.entropy_changes; });
               });
    fields.add("loss_episodes", "", "loss episodes", Unit::count,
               "packets lost together count once: runs with at most 16 PSNs between two lost ones; RoCE, InfiniBand",
               [](const FlowRow& row) {
                   if (row.flow.tcp || !row.flow.retransmitted_packets) return Value{};
                   return Value{row.flow.path ? row.flow.path->loss_episodes : std::uint64_t{0}};
               });
    fields.add("hop_limits", "", "hop limits", Unit::count,
               "different hop limits of its data packets, 4 at most; more than 1: paths of different lengths",
               [known](const FlowRow& row) {
                   return known(row, 1,
                                [](const auto& path) { return std::max<std::uint64_t>(path.hop_limits.size(), 1); });
               });
}

void add_operations(Fields& fields) {
    for (std::size_t i = 0; i < metrics::operation_count; ++i) {
        const std::string name(metrics::operation_names[i]);
        fields.add("messages." + name + ".count", "messages.OPERATION.count", name, Unit::count,
                   "messages whose last packet was seen, each once; READ: at the requester",
                   [i](const FlowRow& row) { return row.flow.operations[i].count; });
        fields.add("messages." + name + ".bytes", "messages.OPERATION.bytes", name + " bytes", Unit::bytes,
                   "bytes of those messages", [i](const FlowRow& row) { return row.flow.operations[i].bytes; });
    }
    fields
        .add("goodput_bytes_per_sec", "", "goodput", Unit::bytes_per_sec,
             "bytes of messages by the time from the flow's first frame to its last (by the interval's length); tables "
             "have it in bits",
             [](const FlowRow& row) { return value(goodput(row)); })
        .text = goodput_text;
    for (std::size_t i = 0; i < metrics::operation_count; ++i) {
        const std::string name(metrics::operation_names[i]);
        fields.histogram(
            "latency_ns." + name, "latency_ns.OPERATION", name, Unit::ns,
            "send, write: last packet to its acknowledgement; read, atomics: request to the last "
            "response packet; nothing that was sent again",
            [i](const FlowRow& row) -> const metrics::Histogram& { return row.flow.operations[i].latency_ns; });
    }
    constexpr std::size_t read = metrics::index_of(metrics::Operation::read);
    fields.histogram(
        "first_response_ns.read", "", "first response", Unit::ns, "READ request to the first response packet",
        [](const FlowRow& row) -> const metrics::Histogram& { return row.flow.operations[read].first_response_ns; });
    fields.histogram("message_bytes", "", "size", Unit::bytes, "bytes of a message",
                     [](const FlowRow& row) -> const metrics::Histogram& { return row.flow.message_bytes; });
    fields.histogram("message_duration_ns", "", "duration", Unit::ns,
                     "first to last packet, of messages of two packets and more",
                     [](const FlowRow& row) -> const metrics::Histogram& { return row.flow.message_duration_ns; });
}

/// No value if acknowledgements cannot be seen, or if too many messages could not be read.
Value if_depth_known(const metrics::FlowSnapshot& flow, const Value& figure) {
    return metrics::knows_depth(flow) ? figure : Value{};
}

void add_outstanding(Fields& fields) {
    fields
        .add("outstanding.messages_mean", "", "depth", Unit::ratio,
             "messages waiting for an acknowledgement or a response, averaged over the flow's time",
             [](const FlowRow& row) { return if_depth_known(row.flow, row.flow.messages_mean); })
        .statistic = Statistic::mean;
    fields.add("outstanding.messages_max", "", "depth max", Unit::count, "most of them at once",
               [](const FlowRow& row) { return if_depth_known(row.flow, row.flow.messages_max); });
    fields
        .add("outstanding.bytes_mean", "", "in flight", Unit::bytes, "their bytes, averaged over time",
             [](const FlowRow& row) { return if_depth_known(row.flow, row.flow.bytes_mean); })
        .statistic = Statistic::mean;
    fields.add("outstanding.bytes_max", "", "in flight max", Unit::bytes, "most bytes at once",
               [](const FlowRow& row) { return if_depth_known(row.flow, row.flow.bytes_max); });
    fields.add("outstanding.responses_max", "", "reads max", Unit::count, "most READs and atomics at once",
               [](const FlowRow& row) { return if_depth_known(row.flow, row.flow.responses_max); });
    fields.add("outstanding.at_max_ns", "", "time at max", Unit::ns, "time spent with messages_max outstanding",
               [](const FlowRow& row) { return if_depth_known(row.flow, row.flow.at_max_ns); });
    fields.add("outstanding.merged_messages", "", "merged", Unit::count,
               "messages without a latency sample, because too many were outstanding",
               [](const FlowRow& row) { return row.flow.merged_messages; });
}

Value icmp_sender(const metrics::FlowSnapshot& flow) {
    if (!flow.icmp) return {};
    const auto& kinds = flow.icmp->kinds;
    const auto most = std::max_element(kinds.begin(), kinds.end(),
                                       [](const auto& one, const auto& other) { return one.count < other.count; });
    return metrics::to_text(most->sender);
}

void add_answers(Fields& fields) {
    for (std::size_t i = 0; i < metrics::nak_code_count; ++i) {
        const std::string name(metrics::nak_code_names[i]);
        fields.add("naks." + name, "naks.CODE", name, Unit::count,
                   "negative acknowledgements of this flow's requests, by code",
                   [i](const FlowRow& row) { return row.flow.naks[i]; });
    }
    fields.add("rnr_naks", "", "RNR", Unit::count, "receiver-not-ready answers to this flow's requests",
               [](const FlowRow& row) { return row.flow.rnr_naks; });
    fields.histogram("rnr_timer_ns", "", "RNR timer", Unit::ns, "the wait that they asked for",
                     [](const FlowRow& row) -> const metrics::Histogram& { return row.flow.rnr_timer_ns; });
    fields.add("credits.last", "", "credits", Unit::code, "last AETH credit count, as its code; null: no limit given",
               [](const FlowRow& row) { return value(row.flow.credits_last); });
    fields.add("credits.exhausted", "", "out of credits", Unit::count, "times that the credits ran out",
               [](const FlowRow& row) { return row.flow.credits_exhausted; });
    fields.add("ecn_ce_packets", "", "CE", Unit::count, "packets marked congestion experienced (ECN)",
               [](const FlowRow& row) { return row.flow.ecn_ce_packets; });
    fields.add("ecn_capable_packets", "", "ECT", Unit::count, "packets that may be marked: ECT(0), ECT(1) or CE",
               [](const FlowRow& row) { return row.flow.ecn_capable_packets; });
    fields.add("cnp_packets", "", "CNP", Unit::count,
               "congestion notification packets that the receiver sent because of this flow",
               [](const FlowRow& row) { return row.flow.cnp_packets; });
    fields.histogram("cnp_interval_ns", "", "CNP interval", Unit::ns, "time between them",
                     [](const FlowRow& row) -> const metrics::Histogram& { return row.flow.cnp_interval_ns; });
    fields.add("rate_drop_after_cnp", "", "rate left", Unit::share,
               "share of the rate that remains in the millisecond after a CNP, on average",
               [](const FlowRow& row) { return value(row.flow.rate_drop_after_cnp); });
    fields.add("icrc_bad", "", "ICRC bad", Unit::count,
               "RoCE, InfiniBand: packets with a wrong ICRC; null where it was not verified", [](const FlowRow& row) {
                   const bool verified = row.context.crc_verified && row.flow.transport != wire::Transport::iwarp;
                   return verified ? Value{row.flow.icrc_bad} : Value{};
               });
    fields.add("icrc_zero", "", "ICRC 0", Unit::count,
               "of icrc_bad, packets whose ICRC is 0: the adapter fills it in after the capture",
               [](const FlowRow& row) { return row.flow.icrc_zero; });
    fields.add("icrc_taken", "", "ICRC bad, taken", Unit::count,
               "of icrc_bad, packets that the receiver acknowledged without a repeat",
               [](const FlowRow& row) { return row.flow.icrc_taken; });
    fields.add("crc_bad", "", "CRC bad", Unit::count,
               "iWARP: FPDUs with a wrong MPA CRC; null where it was not verified", [](const FlowRow& row) {
                   const bool verified = row.context.crc_verified && !lacks_crcs(row.flow) &&
                                         row.flow.transport == wire::Transport::iwarp;
                   return verified ? Value{row.flow.crc_bad} : Value{};
               });
    fields.add("crc_bad_checksum_right", "", "CRC bad, TCP right", Unit::count,
               "of crc_bad, FPDUs in segments whose TCP checksum is right",
               [](const FlowRow& row) { return row.flow.crc_bad_checksum_right; });
    fields.add("terminates", "", "terminates", Unit::count, "iWARP: Terminate messages",
               [](const FlowRow& row) { return row.flow.terminates; });
    fields.add("last_answer_frame", "", "last answer", Unit::frame,
               "RoCE, InfiniBand: the last answer to this flow's requests; 0: none",
               [](const FlowRow& row) { return row.flow.last_answer_frame; });
    const auto of_retries = [](auto figure) {
        return [figure](const FlowRow& row) { return row.flow.retries ? Value{figure(*row.flow.retries)} : Value{}; };
    };
    fields.add("retries.repeats", "", "retries", Unit::count,
               "times that the oldest unacknowledged request was sent again; null if it never was",
               of_retries([](const metrics::RetryFigures& retries) { return retries.repeats; }));
    fields.add("retries.rnr_naks", "", "refusals", Unit::count, "RNR NAKs of that request",
               of_retries([](const metrics::RetryFigures& retries) { return retries.rnr_naks; }));
    fields.add("retries.frame", "", "unanswered", Unit::frame, "frame that carried it first; 0: no longer known",
               of_retries([](const metrics::RetryFigures& retries) { return retries.request.frame; }));
    fields.add("retries.interval_max_ns", "", "retry interval", Unit::ns, "longest time between two of its sendings",
               of_retries([](const metrics::RetryFigures& retries) { return retries.interval_max_ns; }));
    fields.add("refused.frame", "", "refused", Unit::frame,
               "the request that a NAK refused for good; 0: no longer known; null: none was",
               [](const FlowRow& row) { return row.flow.refused ? Value{row.flow.refused->frame} : Value{}; });
    for (std::size_t i = 0; i < metrics::icmp_error_names.size(); ++i) {
        const std::string name(metrics::icmp_error_names[i]);
        fields.add("icmp." + name, "icmp.KIND", name, Unit::count, "ICMP errors about packets of this flow, by kind",
                   [i](const FlowRow& row) { return row.flow.icmp ? row.flow.icmp->kinds[i].count : 0; });
    }
    fields.add("icmp.sender", "", "ICMP from", Unit::text, "the host that sent most of them",
               [](const FlowRow& row) { return icmp_sender(row.flow); });
    fields.add("icmp.mtu", "", "next MTU", Unit::bytes, "longest IP packet that a next hop takes, as they name it",
               [](const FlowRow& row) { return row.flow.icmp ? value(row.flow.icmp->mtu) : Value{}; });
}

/// The whole group is null for a flow without a problem.
void add_problem(Fields& fields) {
    const Presence before = std::exchange(fields.presence, Presence::with_group);
    const auto of_problem = [](auto figure) {
        return [figure](const FlowRow& row) {
            const metrics::FlowProblem* const problem = problem_of(row);
            return problem == nullptr ? Value{} : Value{figure(*problem)};
        };
    };
    fields.add("problem.grade", "", "grade", Unit::text,
               "how much it matters that something is wrong: suspected, minor or wrong, as `why` grades it",
               of_problem([](const metrics::FlowProblem& problem) { return std::string(name_of(problem.grade)); }));
    fields.add("problem.cause", "", "cause", Unit::text, "what is wrong, in a word or two",
               of_problem([](const metrics::FlowProblem& problem) { return problem.cause; }));
    fields.add("problem.verdict", "", "verdict", Unit::text, "the verdict of `why` that says so",
               of_problem([](const metrics::FlowProblem& problem) { return std::string(name_of(problem.verdict)); }));
    fields.add("problem.question", "", "question", Unit::text, "the question of `why` that it answers",
               of_problem([](const metrics::FlowProblem& problem) { return std::string(name_of(problem.question)); }));
    fields.add("problem.cost", "", "cost", Unit::share,
               "what the finding costs, 0 to 1: a share of the busy time, or of packets or requests; flows with the "
               "same finding share it",
               of_problem([](const metrics::FlowProblem& problem) { return problem.cost.share; }));
    fields.presence = before;
}

std::vector<FlowField> make_fields() {
    Fields fields;
    add_identity(fields);
    add_problem(fields);
    add_traffic(fields);
    add_paths(fields);
    add_operations(fields);
    add_outstanding(fields);
    add_answers(fields);
    add_states(fields);
    fields.add("confidence", "", "confidence", Unit::share,
               "0 to 1: how much of what should be there was captured, and how surely the flow was paired",
               [](const FlowRow& row) { return row.flow.confidence; });
    add_recovery(fields);
    add_connection(fields);
    add_tcp(fields);
    add_verbs(fields);
    add_commands(fields);
    add_life(fields);
    add_event_summaries(fields);
    return std::move(fields.all);
}

/// Local time of day, as `dump` shows it.
std::string clock_text(std::int64_t time_ns, bool finer_than_ms) {
    std::string text;
    base::Timestamps(base::TimeStyle::time_of_day, false).append(text, time_ns);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    if (!finer_than_ms && text.size() > 3) text.resize(text.size() - 3);
    return text;
}

template <class Wanted>
void append_matching(FlowColumns& found, const std::vector<FlowField>& fields, Wanted&& wanted) {
    for (const FlowField& field : fields)
        if (wanted(field.path)) found.push_back(&field);
}

/// Columns for people come first: their headings are those that people see.
FlowColumns find_by_heading(std::string_view heading) {
    for (const auto* table : {&brief_fields(), &flow_fields()}) {
        FlowColumns found;
        for (const FlowField& field : *table)
            if (base::same_word(field.title, heading)) found.push_back(&field);
        if (found.size() == 1) return found;
    }
    return {};
}

}  // namespace

const metrics::FlowProblem* problem_of(const FlowRow& row) {
    if (row.context.problems == nullptr) return nullptr;
    const auto found = row.context.problems->find(row.flow.id);
    return found == row.context.problems->end() ? nullptr : &found->second;
}

std::optional<double> goodput(const FlowRow& row) {
    if (!row.context.interval) return row.flow.goodput_bytes_per_sec();
    if (row.context.interval->length_ns == 0 || metrics::partly_read(row.flow) || metrics::lacks_lengths(row.flow))
        return {};
    return static_cast<double>(row.flow.message_bytes_total()) * 1e9 /
           static_cast<double>(row.context.interval->length_ns);
}

std::string goodput_text(const FlowRow& row) {
    const auto octets = goodput(row);
    return octets ? base::format_bit_rate(*octets * 8, {base::Spacing::column}) : "-";
}

const std::vector<FlowField>& flow_fields() {
    static const std::vector<FlowField> fields = make_fields();
    return fields;
}

const std::vector<FlowField>& interval_fields() {
    static const std::vector<FlowField> fields = [] {
        Fields made;
        made.add("interval.start_ns", "", "interval", Unit::time, "with --interval: when it began, ns since 1970",
                 [](const FlowRow& row) {
                     return row.context.interval ? Value{row.context.interval->start_ns} : Value{};
                 })
            .text = [](const FlowRow& row) {
            if (!row.context.interval) return std::string("-");
            return clock_text(row.context.interval->start_ns, row.context.interval->length_ns % 1'000'000 != 0);
        };
        made.add("interval.start_offset_ns", "", "interval at", Unit::ns,
                 "with --interval: when it began after the capture's first frame, exact also where numbers are doubles",
                 [](const FlowRow& row) {
                     return row.context.interval ? value(offset_ns(row.context.interval->start_ns, row.context))
                                                 : Value{};
                 });
        made.add("interval.start_offset_seconds", "", "interval s", Unit::text,
                 "with --interval: when it began after the capture's first frame, in seconds with nine digits",
                 [](const FlowRow& row) {
                     if (!row.context.interval) return Value{};
                     const auto offset = offset_ns(row.context.interval->start_ns, row.context);
                     return offset ? Value{seconds_text(*offset)} : Value{};
                 });
        made.add("interval.start_time", "", "interval date", Unit::text,
                 "with --interval: when it began, as a date, UTC (ISO 8601)", [](const FlowRow& row) {
                     return row.context.interval ? Value{iso_time(row.context.interval->start_ns)} : Value{};
                 });
        made.add(
            "interval.length_ns", "", "length", Unit::ns, "with --interval: how long it is",
            [](const FlowRow& row) { return row.context.interval ? Value{row.context.interval->length_ns} : Value{}; });
        return std::move(made.all);
    }();
    return fields;
}

FlowColumns find_fields(std::string_view name) {
    FlowColumns found;
    const std::array<const std::vector<FlowField>*, 3> tables{&brief_fields(), &interval_fields(), &flow_fields()};
    for (const auto* table : tables)
        append_matching(found, *table, [&](std::string_view path) { return path == name; });
    if (!found.empty()) return found;
    const std::string group = fmt::format("{}.", name);
    for (const auto* table : tables)
        append_matching(found, *table, [&](std::string_view path) { return path.starts_with(group); });
    return found.empty() ? find_by_heading(name) : found;
}

std::vector<std::string_view> field_names() {
    std::vector<std::string_view> names;
    const auto add = [&](std::string_view name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const FlowField& field : brief_fields()) add(field.path);
    for (const auto* table : {&interval_fields(), &flow_fields()})
        for (const FlowField& field : *table) {
            const std::string_view path = field.path;
            for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1))
                add(path.substr(0, dot));
            add(path);
        }
    return names;
}

FlowColumns all_columns(bool by_interval) {
    FlowColumns columns;
    if (by_interval) append_matching(columns, interval_fields(), [](std::string_view) { return true; });
    append_matching(columns, flow_fields(), [](std::string_view) { return true; });
    return columns;
}

namespace {

/// Columns that `--columns help` lists as one line: a field, or the statistics of the same figure.
struct ListedColumns {
    std::string_view family;
    Unit unit;
    std::string_view help;
    std::string_view figure;                   ///< what the statistics are about
    std::vector<std::string_view> statistics;  ///< their names, "p50"; empty unless the field is a statistic
};

constexpr std::string_view of_samples = "samples: ";

/// "post to first packet" of the helps "samples: post to first packet" and "post to first packet; the mean".
std::string_view figure_of(const FlowField& field) {
    const std::string_view help = field.help;
    return field.statistic == Statistic::samples ? help.substr(of_samples.size()) : help.substr(0, help.rfind("; "));
}

ListedColumns listed(const FlowField& field) {
    const std::string_view family = field.family;
    if (!field.statistic) return {family, field.unit, field.help, {}, {}};
    const std::size_t dot = family.rfind('.');
    return {family.substr(0, dot), field.unit, field.help, figure_of(field), {family.substr(dot + 1)}};
}

void add_line(std::vector<ListedColumns>& lines, const FlowField& field) {
    ListedColumns line = listed(field);
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const ListedColumns& other) {
        return other.family == line.family && other.figure == line.figure;
    });
    if (same == lines.end()) return lines.push_back(std::move(line));
    if (line.statistics.empty()) return;
    const std::string_view name = line.statistics.front();
    if (std::find(same->statistics.begin(), same->statistics.end(), name) != same->statistics.end()) return;
    same->statistics.push_back(name);
    // The first member of a distribution counts samples.
    if (field.statistic == Statistic::min) same->unit = field.unit;
}

std::string line_of(const ListedColumns& line) {
    constexpr std::size_t widest = 40;  // a longer name pushes its own line alone
    std::string name(line.family);
    if (line.statistics.size() == 1) name.append(".").append(line.statistics.front());
    if (line.statistics.size() > 1) name += fmt::format(".{{{}}}", fmt::join(line.statistics, ","));
    return fmt::format("{:<{}}  {:<8} {}\n", name, widest, name_of(line.unit),
                       line.statistics.size() > 1 ? line.figure : line.help);
}

bool is_placeholder(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

/// The names that stand for a placeholder of a family, by placeholder.
using Placeholders = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_placeholder(Placeholders& all, std::string_view placeholder, std::string_view name) {
    auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.first == placeholder; });
    if (found == all.end()) found = all.insert(all.end(), {std::string(placeholder), {}});
    auto& names = found->second;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

void add_placeholders(Placeholders& all, const FlowField& field) {
    std::string_view family = field.family;
    std::string_view path = field.path;
    while (!family.empty() && !path.empty()) {
        const std::string_view placeholder = family.substr(0, family.find('.'));
        const std::string_view name = path.substr(0, path.find('.'));
        if (is_placeholder(placeholder)) add_placeholder(all, placeholder, name);
        family.remove_prefix(std::min(family.size(), placeholder.size() + 1));
        path.remove_prefix(std::min(path.size(), name.size() + 1));
    }
}

}  // namespace

std::string column_reference() {
    std::vector<ListedColumns> lines;
    Placeholders placeholders;
    for (const auto* table : {&brief_fields(), &interval_fields(), &flow_fields()})
        for (const FlowField& field : *table) {
            add_placeholders(placeholders, field);
            add_line(lines, field);
        }
    std::string out;
    for (const ListedColumns& line : lines) out += line_of(line);
    out += "\nCapitals stand for one of these names:\n";
    for (const auto& [placeholder, names] : placeholders)
        out += fmt::format("{:<9}  {}\n", placeholder, fmt::join(names, ", "));
    out +=
        "\nA name without its last part is the group: `latency_ns.write`, `naks`. A heading of the table is a name, "
        "too: "
        "`p99`.\n";
    return out;
}

std::string column_names() {
    std::string out;
    for (const std::string_view name : field_names()) out.append(name).append(1, '\n');
    return out;
}

}  // namespace exporters
