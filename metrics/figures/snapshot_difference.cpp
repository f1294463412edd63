#include "metrics/figures/busiest_flows.h"
#include "metrics/figures/path_sums.h"
#include "metrics/figures/snapshot_fields.h"

namespace metrics::inline figures {
namespace {
using fields::subtract;

void subtract_optional(std::optional<std::uint64_t>& from, const std::optional<std::uint64_t>& earlier) {
    if (from && earlier) from = subtract(*from, *earlier);
}

/// Frames that were not named before. None where the former list was full already: later ones were not kept.
void keep_new_frames(std::vector<std::uint64_t>& frames, const std::vector<std::uint64_t>& earlier) {
    std::erase_if(frames, [&earlier](std::uint64_t frame) {
        return std::find(earlier.begin(), earlier.end(), frame) != earlier.end();
    });
}

/// The rest of a mean over time, when a former mean over a part of it is taken out.
double mean_since(double mean, std::uint64_t wall_ns, double earlier, std::uint64_t earlier_wall_ns) {
    if (wall_ns <= earlier_wall_ns) return mean;
    const double rest = fields::total(mean, wall_ns) - fields::total(earlier, earlier_wall_ns);
    return std::max(rest, 0.0) / static_cast<double>(wall_ns - earlier_wall_ns);
}

/// A gap that was open may have been called otherwise then than now. What a state lost by that is taken from those that
/// gained most, so that the sum stays the time that passed.
StateTimes states_since(StateTimes states, const StateTimes& earlier) {
    std::uint64_t lost = 0;
    for (std::size_t i = 0; i < state_count; ++i) {
        lost = fields::add(lost, subtract(earlier[i], states[i]));
        states[i] = subtract(states[i], earlier[i]);
    }
    while (lost != 0) {
        const auto most = std::max_element(states.begin(), states.end());
        if (*most == 0) break;
        const std::uint64_t part = std::min(lost, *most);
        *most -= part;
        lost -= part;
    }
    return states;
}

void subtract_event_summaries(std::vector<EventSummary>& event_summaries, const FlowSnapshot& earlier) {
    for (EventSummary& summary : event_summaries) {
        const EventSummary* const former = earlier.find_event_summary(summary.kind);
        if (former == nullptr) continue;
        summary.count = subtract(summary.count, former->count);
        summary.value_sum = subtract(summary.value_sum, former->value_sum);
        keep_new_frames(summary.frames, former->frames);
    }
    std::erase_if(event_summaries, [](const EventSummary& summary) { return summary.count == 0; });
}

void subtract_repeat_answers(base::CompactOptional<RepeatAnswerFigures>& answers,
                             const base::CompactOptional<RepeatAnswerFigures>& earlier) {
    if (!answers || !earlier) return;
    answers->repeats = subtract(answers->repeats, earlier->repeats);
    answers->repeated_answers = subtract(answers->repeated_answers, earlier->repeated_answers);
    answers->first_answer_ns = answers->first_answer_ns.since(earlier->first_answer_ns);
    if (answers->repeats == 0) answers.reset();
}

void subtract_icmp(base::CompactOptional<IcmpFigures>& icmp, const base::CompactOptional<IcmpFigures>& earlier) {
    if (!icmp || !earlier) return;
    std::uint64_t rest = 0;
    for (std::size_t kind = 0; kind < icmp->kinds.size(); ++kind) {
        icmp->kinds[kind].count = subtract(icmp->kinds[kind].count, earlier->kinds[kind].count);
        if (icmp->kinds[kind].count == 0) icmp->kinds[kind].sender = {};
        rest = fields::add(rest, icmp->kinds[kind].count);
    }
    if (rest == 0) icmp.reset();
}

void subtract_operation(FlowSnapshot& flow, const FlowSnapshot& earlier, std::size_t operation) {
    if (!flow.operations.has(operation) || !earlier.operations.has(operation)) return;
    OperationFigures& figures = flow.operations[operation];
    const OperationFigures& former = earlier.operations[operation];
    figures.count = subtract(figures.count, former.count);
    figures.bytes = subtract(figures.bytes, former.bytes);
    figures.latency_ns = figures.latency_ns.since(former.latency_ns);
    figures.first_response_ns = figures.first_response_ns.since(former.first_response_ns);
    if (figures.empty()) flow.operations.reset(operation);
}

void subtract_classes(std::vector<ClassFigures>& classes, const std::vector<ClassFigures>& earlier) {
    for (ClassFigures& one : classes) {
        const auto former = std::ranges::find(earlier, one.packet_class, &ClassFigures::packet_class);
        if (former == earlier.end()) continue;
        one.packets = subtract(one.packets, former->packets);
        one.wire_bytes = subtract(one.wire_bytes, former->wire_bytes);
    }
    std::erase_if(classes, [](const ClassFigures& one) { return one.packets == 0; });
}

void subtract_counters(FlowSnapshot& flow, const FlowSnapshot& earlier) {
    subtract_path(flow, earlier);
    for (const auto member : fields::flow_counters) flow.*member = subtract(flow.*member, earlier.*member);
    for (const auto member : fields::flow_optional_counters) subtract_optional(flow.*member, earlier.*member);
    for (const auto member : fields::flow_histograms) flow.*member = (flow.*member).since(earlier.*member);
    std::array<std::uint64_t, nak_code_count> naks = flow.naks;
    for (std::size_t code = 0; code < nak_code_count; ++code) naks[code] = subtract(naks[code], earlier.naks[code]);
    flow.naks = naks;
    for (std::size_t i = 0; i < operation_count; ++i) subtract_operation(flow, earlier, i);
    flow.recovery.count = subtract(flow.recovery.count, earlier.recovery.count);
    for (const auto member : fields::recovery_histograms)
        flow.recovery.*member = (flow.recovery.*member).since(earlier.recovery.*member);
    if (flow.tcp && earlier.tcp) {
        for (const auto member : fields::tcp_counters)
            (*flow.tcp).*member = subtract((*flow.tcp).*member, (*earlier.tcp).*member);
        flow.tcp->round_trip_ns = flow.tcp->round_trip_ns.since(earlier.tcp->round_trip_ns);
    }
    if (flow.verbs && earlier.verbs) subtract(*flow.verbs, *earlier.verbs);
    subtract_repeat_answers(flow.repeat_answers, earlier.repeat_answers);
    subtract_icmp(flow.icmp, earlier.icmp);
    subtract_classes(flow.other_classes, earlier.other_classes);
    if (flow.commands && earlier.commands) subtract(*flow.commands, *earlier.commands, earlier.last_ns);
}

/// Maxima and settings stay those of the whole life: their values in the interval alone are unknown.
void subtract_flow(FlowSnapshot& flow, const FlowSnapshot& earlier) {
    flow.messages_mean = mean_since(flow.messages_mean, flow.wall_ns(), earlier.messages_mean, earlier.wall_ns());
    flow.bytes_mean = mean_since(flow.bytes_mean, flow.wall_ns(), earlier.bytes_mean, earlier.wall_ns());
    if (flow.messages_max == earlier.messages_max) flow.at_max_ns = subtract(flow.at_max_ns, earlier.at_max_ns);
    subtract_counters(flow, earlier);
    flow.state_ns = states_since(flow.state_ns, earlier.state_ns);
    subtract_event_summaries(flow.event_summaries, earlier);
    flow.first_ns = std::min(std::max(flow.first_ns, earlier.last_ns), flow.last_ns);
}

/// A command that waits for its answer is something that happens, though nothing passes.
bool has_waiting_commands(const FlowSnapshot& flow, const FlowSnapshot& earlier) {
    if (!flow.commands) return false;
    if (flow.commands->oldest_open_ns) return true;
    return earlier.commands && totals_of(*flow.commands).unanswered != totals_of(*earlier.commands).unanswered;
}

/// Whether anything came by for the flow: its own packets, answers to them, its opposite direction or its end. What
/// never was has no `earlier`.
bool had_traffic(const FlowSnapshot& flow, const FlowSnapshot& earlier) {
    const auto differs = [&](auto member) { return flow.*member != earlier.*member; };
    if (differs(&FlowSnapshot::packets) || differs(&FlowSnapshot::cnp_packets) || differs(&FlowSnapshot::rnr_naks) ||
        differs(&FlowSnapshot::naks) || differs(&FlowSnapshot::last_ns) || differs(&FlowSnapshot::finished) ||
        differs(&FlowSnapshot::reverse) || differs(&FlowSnapshot::icmp) ||
        flow.connection->end_frame != earlier.connection->end_frame)
        return true;
    if (has_waiting_commands(flow, earlier)) return true;
    if (flow.tcp && earlier.tcp && flow.tcp->round_trip_ns.count() != earlier.tcp->round_trip_ns.count()) return true;
    for (std::size_t i = 0; i < operation_count; ++i) {
        const OperationFigures& figures = flow.operations[i];
        const OperationFigures& former = earlier.operations[i];
        if (figures.count != former.count || figures.latency_ns.count() != former.latency_ns.count() ||
            figures.first_response_ns.count() != former.first_response_ns.count())
            return true;
    }
    return false;
}

struct ActiveFlow {
    const FlowSnapshot* flow;
    const FlowSnapshot* former;  ///< null if it is new

    std::uint64_t bytes() const { return subtract(flow->wire_bytes, former == nullptr ? 0 : former->wire_bytes); }
};

/// They stay in the order of ids.
void keep_busiest(std::vector<ActiveFlow>& flows, std::size_t most) {
    if (flows.size() <= most) return;
    const auto by_id = [](const ActiveFlow& a, const ActiveFlow& b) { return a.flow->id < b.flow->id; };
    const auto busier = [by_id](const ActiveFlow& a, const ActiveFlow& b) {
        return a.bytes() != b.bytes() ? a.bytes() > b.bytes() : by_id(a, b);
    };
    std::nth_element(flows.begin(), flows.begin() + static_cast<std::ptrdiff_t>(most), flows.end(), busier);
    flows.resize(most);
    std::sort(flows.begin(), flows.end(), by_id);
}

/// Copies the flows that had traffic: most flows of a large snapshot are idle. Returns how many of them were there
/// before.
std::uint64_t subtract_flows(std::vector<FlowSnapshot>& rest, const std::vector<FlowSnapshot>& later,
                             const Snapshot& earlier, std::size_t most_flows) {
    std::uint64_t known = 0;
    static const FlowSnapshot never;
    std::vector<ActiveFlow> active;
    for (const FlowSnapshot& flow : later) {
        const FlowSnapshot* former = earlier.flow(flow.id);
        if (former != nullptr && fields::key_of(*former) != fields::key_of(flow)) former = nullptr;
        if (!had_traffic(flow, former == nullptr ? never : *former)) continue;
        active.push_back({&flow, former});
        known += former != nullptr ? 1 : 0;
    }
    keep_busiest(active, most_flows);
    rest.reserve(active.size());
    for (const ActiveFlow& one : active) {
        rest.push_back(*one.flow);
        if (one.former != nullptr) subtract_flow(rest.back(), *one.former);
    }
    return known;
}

void subtract_reuse(ReuseFigures& figures, const ReuseFigures& earlier) {
    figures.accesses = subtract(figures.accesses, earlier.accesses);
    for (ReuseBin& bin : figures.bins) {
        const auto former = std::find_if(
            earlier.bins.begin(), earlier.bins.end(),
            [octave = fields::octave_of(bin)](const ReuseBin& b) { return fields::octave_of(b) == octave; });
        if (former == earlier.bins.end()) continue;
        if (bin.count > former->count)
            bin.distance = std::max(bin.distance * static_cast<double>(bin.count) -
                                        former->distance * static_cast<double>(former->count),
                                    0.0) /
                           static_cast<double>(bin.count - former->count);
        bin.count = subtract(bin.count, former->count);
        bin.turnaround_ns = bin.turnaround_ns.since(former->turnaround_ns);
    }
    std::erase_if(figures.bins, [](const ReuseBin& bin) { return bin.count == 0 && bin.turnaround_ns.empty(); });
}

/// Finds in `earlier`, ascending in `key`, what has the key of `value`.
template <class T, class Key>
const T* find_former(const std::vector<T>& earlier, const T& value, Key key) {
    const auto found = std::lower_bound(earlier.begin(), earlier.end(), value,
                                        [key](const T& a, const T& b) { return key(a) < key(b); });
    return found == earlier.end() || key(value) < key(*found) ? nullptr : &*found;
}

void subtract_hosts(std::vector<HostSnapshot>& hosts, const std::vector<HostSnapshot>& earlier) {
    for (HostSnapshot& host : hosts) {
        const HostSnapshot* const former =
            find_former(earlier, host, [](const HostSnapshot& h) -> const Address& { return h.address; });
        if (former == nullptr) continue;
        for (const auto member : fields::host_counters) host.*member = subtract(host.*member, former->*member);
        for (const auto member : fields::host_reuse) subtract_reuse(host.*member, former->*member);
    }
    std::erase_if(hosts, [](const HostSnapshot& host) {
        return host.sent_wire_bytes == 0 && host.received_wire_bytes == 0 && host.received_requests == 0;
    });
}

/// As the engine counts them, but those that sent in between.
void count_senders(Snapshot& snapshot) {
    for (HostSnapshot& host : snapshot.hosts) host.senders = 0;
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (flow.payload_bytes == 0) continue;
        const auto host =
            std::lower_bound(snapshot.hosts.begin(), snapshot.hosts.end(), flow.destination.address,
                             [](const HostSnapshot& one, const Address& address) { return one.address < address; });
        if (host != snapshot.hosts.end() && host->address == flow.destination.address) ++host->senders;
    }
}

/// What was not known before may have passed before.
void subtract_stops(std::optional<StopTimes>& times, const std::optional<StopTimes>& former) {
    if (!times || !former) {
        times.reset();
        return;
    }
    times->all_ns = subtract(times->all_ns, former->all_ns);
    for (std::size_t i = 0; i < 8; ++i) times->priority_ns[i] = subtract(times->priority_ns[i], former->priority_ns[i]);
}

void subtract_pause_senders(std::vector<PauseSender>& senders, const std::vector<PauseSender>& earlier) {
    for (PauseSender& sender : senders) {
        const PauseSender* const former = find_former(earlier, sender, [](const PauseSender& s) { return s.mac; });
        if (former == nullptr) continue;
        sender.frames = subtract(sender.frames, former->frames);
        sender.resume_frames = subtract(sender.resume_frames, former->resume_frames);
        for (std::size_t i = 0; i < sender.priority_frames.size(); ++i)
            sender.priority_frames[i] = subtract(sender.priority_frames[i], former->priority_frames[i]);
        if (former->frames != 0) sender.first_ns = std::min(former->last_ns, sender.last_ns);
    }
    std::erase_if(senders, [](const PauseSender& sender) { return sender.frames == 0 && sender.resume_frames == 0; });
}

void subtract_pauses(std::vector<PauseSnapshot>& pauses, const std::vector<PauseSnapshot>& earlier) {
    for (PauseSnapshot& pause : pauses) {
        const PauseSnapshot* const former =
            find_former(earlier, pause, [](const PauseSnapshot& p) { return p.interface; });
        if (former == nullptr) continue;
        for (const auto member : fields::pause_counters) pause.*member = subtract(pause.*member, former->*member);
        for (const auto member : fields::pause_priorities)
            for (std::size_t i = 0; i < (pause.*member).size(); ++i)
                (pause.*member)[i] = subtract((pause.*member)[i], (former->*member)[i]);
        subtract_stops(pause.stopped_ns, former->stopped_ns);
        subtract_pause_senders(pause.senders, former->senders);
        keep_new_frames(pause.frames, former->frames);
    }
    std::erase_if(pauses, [](const PauseSnapshot& pause) {
        const auto none = [](const auto& counts) {
            return std::all_of(counts.begin(), counts.end(), [](std::uint64_t count) { return count == 0; });
        };
        // One that began before may hold still.
        const bool held = pause.stopped_ns && !(pause.stopped_ns == StopTimes{});
        return !held && pause.pause_frames == 0 && pause.resume_frames == 0 && none(pause.priority_frames);
    });
}

/// Only those that are new, were repeated or have been answered since. There may be very many: both lists ascend.
void keep_new_attempts(std::vector<ConnectionAttempt>& attempts, const std::vector<ConnectionAttempt>& earlier) {
    const auto frame_of = [](const ConnectionAttempt& attempt) { return attempt.request_frame; };
    std::erase_if(attempts, [&](const ConnectionAttempt& attempt) {
        const ConnectionAttempt* former = find_former(earlier, attempt, frame_of);
        if (former == nullptr) return false;
        const ConnectionAttempt* const end = earlier.data() + earlier.size();
        for (; former != end && former->request_frame == attempt.request_frame; ++former)
            if (former->end_frame == attempt.end_frame && former->requests == attempt.requests &&
                former->outcome == attempt.outcome && former->icmp == attempt.icmp)
                return true;
        return false;
    });
}

void subtract_capture(CaptureFigures& capture, const CaptureFigures& earlier) {
    if (earlier.packets != 0) capture.first_ns = std::min(std::max(capture.first_ns, earlier.last_ns), capture.last_ns);
    for (const auto member : fields::capture_counters) capture.*member = subtract(capture.*member, earlier.*member);
    for (std::size_t kind = 0; kind < capture.management.size(); ++kind)
        capture.management[kind] = subtract(capture.management[kind], earlier.management[kind]);
    subtract_optional(capture.kernel_dropped, earlier.kernel_dropped);
    capture.unread.subtract(earlier.unread);
    capture.copy_distance_ns = capture.copy_distance_ns.since(earlier.copy_distance_ns);
}
}  // namespace

Snapshot difference(const Snapshot& earlier, const Snapshot& later) {
    return difference_of_busiest(earlier, later, later.flows.size());
}

namespace {
/// Both are ascending.
void keep_names(std::vector<AddressName>& kept, const std::vector<AddressName>& all,
                const std::vector<Address>& addresses) {
    for (const AddressName& name : all)
        if (std::ranges::binary_search(addresses, name.address)) kept.push_back(name);
}
}  // namespace

Snapshot difference_of_busiest(const Snapshot& earlier, const Snapshot& later, std::size_t most) {
    Snapshot rest;
    rest.capture = later.capture;
    rest.hosts = later.hosts;
    rest.pauses = later.pauses;
    rest.attempts = later.attempts;
    rest.memory_octets = later.memory_octets;
    subtract_capture(rest.capture, earlier.capture);
    rest.capture.flows_seen =
        fields::add(rest.capture.flows_seen, subtract_flows(rest.flows, later.flows, earlier, most));
    rest.path_windows = windows_since(earlier.path_windows, later.path_windows);
    subtract_hosts(rest.hosts, earlier.hosts);
    if (earlier.capture.packets != 0) count_senders(rest);
    subtract_pauses(rest.pauses, earlier.pauses);
    keep_new_attempts(rest.attempts, earlier.attempts);
    keep_names(rest.names, later.names, subnet_addresses(rest));
    return rest;
}

}  // namespace metrics::figures
