#include "tests/unit/metrics/answers/clause_table.h"

#include <algorithm>
#include <initializer_list>

#include "metrics/answers/flow_measures.h"

namespace why_test {

namespace {

using metrics::AttemptOutcome;
using metrics::EventKind;
using metrics::FlowSnapshot;
using metrics::NakCode;
using metrics::Operation;
using metrics::State;

using FlowFigure = std::function<std::uint64_t(const FlowSnapshot&)>;

Figure of_flows(FlowFigure figure) {
    return [figure](const Facts& facts) { return facts.sum(figure); };
}
Figure of_all_flows(FlowFigure figure) {
    return [figure](const Facts& facts) {
        std::uint64_t all = 0;
        for (const FlowSnapshot* flow : facts.scope) all += figure(*flow);
        return all;
    };
}
std::uint64_t nak_count(const FlowSnapshot& flow, NakCode code) { return flow.naks[static_cast<std::size_t>(code)]; }
Figure naks(NakCode code) {
    return of_flows([code](const FlowSnapshot& flow) { return nak_count(flow, code); });
}
Figure state(std::initializer_list<State> states) {
    return of_flows([all = std::vector<State>(states)](const FlowSnapshot& flow) {
        std::uint64_t ns = 0;
        for (const State each : all) ns += flow.state_ns[metrics::index_of(each)];
        return ns;
    });
}
Figure repair_time() {
    return state({State::transmit_again, State::rnr_wait, State::recover_nak, State::recover_timeout});
}
template <class Figures>
Figure of_retries(Figures figures) {
    return of_flows([figures](const FlowSnapshot& flow) {
        return flow.retries ? std::uint64_t{figures(*flow.retries)} : std::uint64_t{0};
    });
}
Figure retry_repeats() {
    return of_retries([](const metrics::RetryFigures& retries) { return retries.repeats; });
}
Figure retry_rnr_naks() {
    return of_retries([](const metrics::RetryFigures& retries) { return retries.rnr_naks; });
}
template <class Figures>
Figure of_tcp(Figures figures) {
    return of_flows([figures](const FlowSnapshot& flow) {
        return flow.tcp ? std::uint64_t{figures(*flow.tcp)} : std::uint64_t{0};
    });
}
template <class Figures>
Figure of_verbs(Figures figures) {
    return of_flows([figures](const FlowSnapshot& flow) {
        return flow.verbs ? std::uint64_t{figures(*flow.verbs)} : std::uint64_t{0};
    });
}
Figure member(std::uint64_t FlowSnapshot::*counter) {
    return of_flows([counter](const FlowSnapshot& flow) { return flow.*counter; });
}
Figure member(std::optional<std::uint64_t> FlowSnapshot::*counter) {
    return of_flows([counter](const FlowSnapshot& flow) { return (flow.*counter).value_or(0); });
}
Figure events(EventKind kind) {
    return of_flows([kind](const FlowSnapshot& flow) { return metrics::event_count(flow, kind); });
}
std::uint64_t latencies_of(const FlowSnapshot& flow) {
    std::uint64_t samples = 0;
    for (const metrics::OperationFigures& operation : flow.operations) samples += operation.latency_ns.count();
    return samples;
}
std::uint64_t messages_of(const FlowSnapshot& flow) { return flow.messages_total(); }
std::uint64_t data_of(const FlowSnapshot& flow) { return flow.messages_total() + flow.payload_bytes; }
std::uint64_t responses_measured(const FlowSnapshot& flow) {
    std::uint64_t samples = 0;
    for (const Operation each : {Operation::read, Operation::fetch_add, Operation::compare_swap}) {
        const metrics::OperationFigures& operation = flow.operations[metrics::index_of(each)];
        samples += operation.latency_ns.count() + operation.first_response_ns.count();
    }
    return samples;
}
std::uint64_t lost(const FlowSnapshot& flow) {
    return flow.missing_packets.value_or(0) + metrics::repeated_packets(flow);
}
std::uint64_t answered(const FlowSnapshot& flow) { return flow.last_answer_frame + latencies_of(flow); }
std::uint64_t icmp_count(const FlowSnapshot& flow, std::optional<wire::IcmpErrorKind> kind = {}) {
    std::uint64_t errors = 0;
    if (!flow.icmp) return 0;
    for (std::size_t i = 0; i < flow.icmp->kinds.size(); ++i)
        if (!kind || i == static_cast<std::size_t>(*kind)) errors += flow.icmp->kinds[i].count;
    return errors;
}
/// Errors about the flows, or about requests for connections if the answer has no flows.
Figure icmp(std::optional<wire::IcmpErrorKind> kind = {}) {
    return [kind](const Facts& facts) {
        std::uint64_t errors = facts.sum([kind](const FlowSnapshot& flow) { return icmp_count(flow, kind); });
        // Of queue pairs between the same hosts some may have got none.
        for (const FlowSnapshot& flow : facts.snapshot.flows) errors += icmp_count(flow, kind);
        if (!facts.flows.empty()) return errors;
        for (const metrics::ConnectionAttempt& attempt : facts.snapshot.attempts) {
            if (!attempt.icmp) continue;
            FlowSnapshot flow;
            flow.icmp = attempt.icmp;
            errors += icmp_count(flow, kind);
        }
        return errors;
    };
}
Figure attempts(AttemptOutcome outcome, std::optional<bool> by_client = {}) {
    return [outcome, by_client](const Facts& facts) {
        std::uint64_t count = 0;
        for (const metrics::ConnectionAttempt& attempt : facts.snapshot.attempts)
            count += attempt.outcome == outcome && (!by_client || attempt.by_client == *by_client);
        return count;
    };
}
Figure of_hosts(std::function<std::uint64_t(const metrics::HostSnapshot&)> figure) {
    return [figure](const Facts& facts) {
        std::uint64_t all = 0;
        for (const metrics::HostSnapshot& host : facts.snapshot.hosts) all += figure(host);
        return all;
    };
}
Figure turnarounds() {
    return of_hosts([](const metrics::HostSnapshot& host) {
        std::uint64_t samples = 0;
        for (const metrics::ReuseFigures* figures : {&host.queue_pairs, &host.remote_keys, &host.pages})
            for (const metrics::ReuseBin& bin : figures->bins) samples += bin.turnaround_ns.count();
        return samples;
    });
}
std::uint64_t pause_frames(const Facts& facts) {
    std::uint64_t frames = 0;
    for (const metrics::PauseSnapshot& pause : facts.snapshot.pauses) frames += pause.pause_frames + pause.pfc_frames;
    return frames;
}
std::uint64_t other_pauses(const Facts& facts) {
    for (const metrics::PauseSnapshot& pause : facts.snapshot.pauses) {
        std::uint64_t most = 0;
        for (const metrics::PauseSender& sender : pause.senders) most = std::max(most, sender.frames);
        if (pause.pause_frames + pause.pfc_frames > most) return 1;
    }
    return 0;
}
std::uint64_t stopped_priorities(const Facts& facts) {
    std::uint64_t frames = 0;
    for (const metrics::PauseSnapshot& pause : facts.snapshot.pauses)
        for (const std::uint64_t each : pause.priority_frames) frames += each;
    return frames;
}
const FlowSnapshot* reverse_of(const Facts& facts, const FlowSnapshot& flow) {
    return flow.reverse ? facts.snapshot.flow(*flow.reverse) : nullptr;
}
/// `own`: what answers to the flows' own requests ask for; else what any answers on them ask for.
std::uint64_t asked_again(const Facts& facts, bool own) {
    std::uint64_t all = 0;
    for (const FlowSnapshot* flow : facts.flows) {
        if (flow->tcp) {
            all += flow->tcp->duplicate_acks;
            continue;
        }
        if (!own || !metrics::shows_its_own(*flow)) all += nak_count(*flow, NakCode::psn_sequence_error);
        const FlowSnapshot* const reverse = reverse_of(facts, *flow);
        if (reverse != nullptr && flow->messages_total() == 0)
            all += metrics::event_count(*reverse, EventKind::retransmission);
    }
    return all;
}
/// In the direction of an answer's flows, or of the READ responses to their requests.
std::uint64_t sending_ns(const Facts& facts) {
    std::uint64_t ns = 0;
    for (const FlowSnapshot* flow : facts.flows)
        for (const FlowSnapshot* each : {flow, reverse_of(facts, *flow)})
            if (each != nullptr) ns += metrics::time_in(*each, {State::transmit_new, State::transmit_again});
    return ns;
}
std::uint64_t held_ns(const metrics::VerbsFigures& verbs) {
    return verbs.held_ns[0] + verbs.held_ns[1] + verbs.held_ns[2];
}
std::uint64_t unpolled_ns(const metrics::VerbsFigures& verbs) {
    return verbs.unpolled_ns[0] + verbs.unpolled_ns[1] + verbs.unpolled_ns[2];
}

std::vector<Clause> repairs() {
    return {
        {"asked for some again", [](const Facts& facts) { return asked_again(facts, false); }},
        {"were lost before they came", member(&FlowSnapshot::missing_packets)},
        {"a sender repeats all that followed a lost packet", of_flows(metrics::repeated_packets)},
        {"were lost after this capture point", of_flows(metrics::repeated_packets)},
        {"seem to be lost after this capture point", of_flows(metrics::repeated_packets)},
        {"The flow that lost them was not found", naks(NakCode::psn_sequence_error)},
        {"came late", member(&FlowSnapshot::reordered_packets)},
        {"came out of order", member(&FlowSnapshot::reordered_packets)},
        {"loses more than the paths of the other", of_flows(lost)},
        {"stands out: ", of_flows(lost)},
        {"retransmitted because of it", of_flows(metrics::repeated_packets)},
        {"arrived a second time", member(&FlowSnapshot::duplicate_packets)},
        {"carried a bad ICRC", member(&FlowSnapshot::icrc_bad)},
        {"carried a bad CRC", member(&FlowSnapshot::crc_bad)},
        {"whose TCP checksum is right", member(&FlowSnapshot::crc_bad_checksum_right)},
        {"was not ready", member(&FlowSnapshot::rnr_naks)},
        {"and the sender waited", state({State::rnr_wait})},
        {"was sent again after it", of_flows(metrics::repeated_packets)},
        {"were sent again after it", of_flows(metrics::repeated_packets)},
        {"had to retransmit", of_flows(metrics::repeated_packets)},
        {"no answer came in time", member(&FlowSnapshot::timeouts)},
        {"its timer ran out too early", member(&FlowSnapshot::timeouts)},
        {"time-out", member(&FlowSnapshot::timeouts)},
        {"while others were still answered",
         [](const Facts& facts) {
             std::uint64_t all = facts.sum(answered);
             for (const FlowSnapshot* flow : facts.flows)
                 if (const FlowSnapshot* const reverse = reverse_of(facts, *flow)) all += reverse->payload_bytes;
             return all;
         }},
        {"were answered, too", of_flows([](const FlowSnapshot& flow) {
             return flow.repeat_answers ? flow.repeat_answers->repeated_answers : 0;
         })},
        {"The first answer takes", of_flows([](const FlowSnapshot& flow) {
             return flow.repeat_answers ? flow.repeat_answers->first_answer_ns.count() : 0;
         })},
        {"repairing it took", repair_time()},
        {"another packet than the one asked for", events(EventKind::go_back_wrong_start)},
        {"did not repeat all that followed", events(EventKind::go_back_incomplete)},
        {"NAK named another packet", events(EventKind::nak_wrong_psn)},
        {"saw a hole and sent no NAK", events(EventKind::nak_missing)},
        {"did not start at the first missing response", events(EventKind::read_restart_wrong)},
    };
}

std::vector<Clause> ends() {
    return {
        {"was sent again (", retry_repeats()},
        {"gave up after", retry_repeats()},
        {"IBV_WC_RETRY_EXC_ERR", retry_repeats()},
        {"never answered anything", retry_repeats()},
        {"refused it", retry_rnr_naks()},
        {"IBV_WC_RNR_RETRY_EXC_ERR", retry_rnr_naks()},
        {"answered until frame", member(&FlowSnapshot::last_answer_frame)},
        {"went on answering", member(&FlowSnapshot::last_answer_frame)},
        {"was ever acknowledged",
         of_retries([](const metrics::RetryFigures& retries) { return retries.acknowledged_bytes_max.value_or(0); })},
        {"It is alike on", [](const Facts& facts) { return facts.flows.size() - 1; }},
        {" was agreed on, and it",
         of_flows([](const FlowSnapshot& flow) { return flow.connection->rnr_retry_count ? 1 : 0; })},
        {"were agreed on (the responder resources",
         of_flows([](const FlowSnapshot& flow) { return flow.connection->responder_resources.value_or(0); })},
        {"are outstanding", member(&FlowSnapshot::responses_max)},
    };
}

std::vector<Clause> errors() {
    return {
        {"found requests that it cannot take", naks(NakCode::invalid_request)},
        {"refused access to its memory", naks(NakCode::remote_access_error)},
        {"could not carry out requests", naks(NakCode::remote_operational_error)},
        {"found an invalid RD request", naks(NakCode::invalid_rd_request)},
        {"Refused was", of_flows([](const FlowSnapshot& flow) { return flow.refused ? 1 : 0; })},
        {"by a Terminate message", member(&FlowSnapshot::terminates)},
        {"by Terminate messages", member(&FlowSnapshot::terminates)},
        {" gave up the connection", attempts(AttemptOutcome::rejected, true)},
        {" refused the connection", attempts(AttemptOutcome::rejected, false)},
        {" did not answer when ", attempts(AttemptOutcome::unanswered)},
        {"ended in a TCP reset", attempts(AttemptOutcome::reset)},
        {" an ICMP error (", icmp()},
        {" ICMP errors (", icmp()},
        {"(port unreachable)", icmp(wire::IcmpErrorKind::port_unreachable)},
        {"(host unreachable)", icmp(wire::IcmpErrorKind::host_unreachable)},
        {"(administratively prohibited)", icmp(wire::IcmpErrorKind::prohibited)},
        {"(packet too long)", icmp(wire::IcmpErrorKind::fragmentation_needed)},
        {"(time exceeded)", icmp(wire::IcmpErrorKind::time_exceeded)},
        {"the next hop takes IP packets of",
         [](const Facts& facts) {
             std::uint64_t mtu = 0;
             for (const FlowSnapshot& flow : facts.snapshot.flows)
                 if (flow.icmp) mtu += flow.icmp->mtu.value_or(0);
             for (const metrics::ConnectionAttempt& attempt : facts.snapshot.attempts)
                 if (attempt.icmp) mtu += attempt.icmp->mtu.value_or(0);
             return mtu;
         }},
    };
}

std::vector<Clause> limits() {
    return {
        {"it carries frames", sending_ns},
        {"frames follow each other without long pauses", sending_ns},
        {" at their fastest", member(&FlowSnapshot::link_bits_per_sec)},
        {"The limit of outstanding READs and atomics", state({State::read_window})},
        {", the most that was seen", member(&FlowSnapshot::responses_max)},
        {", though ORD", of_flows([](const FlowSnapshot& flow) { return flow.connection->initiator_depth ? 1 : 0; })},
        {"(ORD ", of_flows([](const FlowSnapshot& flow) { return flow.connection->initiator_depth ? 1 : 0; })},
        {"The TCP receive window of", state({State::credit})},
        {"The window was closed",
         of_tcp([](const metrics::TcpFigures& tcp) { return tcp.zero_windows + (tcp.receive_window_min ? 1U : 0U); }),
         true},
        {"waits for end-to-end credits", state({State::credit})},
        {"sit in a queue for most of the round trip", member(&FlowSnapshot::queueing_ns)},
        {"and waits for acknowledgements", state({State::ack_window})},
        {"this window allows at most", member(&FlowSnapshot::bytes_max)},
        {"paces itself", state({State::ack_window})},
        {"fill the link while messages", state({State::link_shared})},
        {"Marks of congestion slow", state({State::congestion_paced})},
        {"stalls in the middle of messages", state({State::nic_stall})},
        {"while PAUSE frames arrive", pause_frames},
        {"has work posted", of_verbs(held_ns)},
        {"looks late at its completions", of_verbs(unpolled_ns)},
        {"a second are", of_flows(messages_of)},
        {"asks for too little at a time", member(&FlowSnapshot::payload_bytes)},
        {"and pauses between posts", state({State::application_in_flight})},
        {"The application posts nothing", state({State::application_idle, State::application_in_flight})},
        {": a dialogue", state({State::peer_wait})},
        {"Nothing holds the flow back for long", member(&FlowSnapshot::packets)},
        {"The program posts", of_verbs([](const metrics::VerbsFigures& verbs) { return verbs.send_queue.max; }), true},
        {"The program has posted up to",
         of_verbs([](const metrics::VerbsFigures& verbs) { return verbs.send_queue.max; }), true},
        {"cannot be followed as FPDUs", of_tcp([](const metrics::TcpFigures& tcp) { return tcp.unread_bytes; })},
        {"the capture only the beginning of each segment",
         [](const Facts& facts) { return facts.snapshot.capture.truncated; }},
        {"READ responses pass", member(&FlowSnapshot::payload_bytes)},
        {"of the time passes between messages", of_flows(data_of)},
        {"is not in the capture to judge bandwidth", state({State::unobserved})},
        {"iWARP connections were set up", of_all_flows([](const FlowSnapshot& flow) {
             return flow.connection->setup_ns || flow.connection->mpa_revision ? 1 : 0;
         })},
    };
}

std::vector<Clause> delays() {
    return {
        {"Even the fastest message", of_flows([](const FlowSnapshot& flow) {
             return flow.round_trip_min_ns.value_or(0) +
                    (flow.repeat_answers ? flow.repeat_answers->first_answer_ns.count() : 0);
         })},
        {"most take little more", of_flows([](const FlowSnapshot& flow) {
             return latencies_of(flow) + (flow.repeat_answers ? flow.repeat_answers->first_answer_ns.count() : 0);
         })},
        {"waited for receives to be posted", state({State::rnr_wait})},
        {"were refused, for no receive was posted", member(&FlowSnapshot::rnr_naks)},
        {"for repairs", repair_time()},
        {"were retransmitted in part", of_flows(metrics::repeated_packets)},
        {"; the others: ", of_flows(latencies_of)},
        {"times as long to answer", of_flows(responses_measured)},
        {"they wait for each other", of_flows([](const FlowSnapshot& flow) { return flow.messages_max - 1; })},
        {"is over before the first packet leaves",
         of_verbs([](const metrics::VerbsFigures& verbs) { return verbs.delays().post_to_wire_ns.sum(); })},
        {"is that of completions which",
         of_verbs([](const metrics::VerbsFigures& verbs) { return verbs.delays().ack_to_poll_ns.sum(); })},
        {": least ", of_flows(latencies_of)},
        {"So few messages could be read",
         of_all_flows([](const FlowSnapshot& flow) { return flow.tcp ? flow.tcp->unread_bytes : 0; })},
    };
}

std::vector<Clause> caches() {
    return {
        {"its cache probably holds", turnarounds()},
        {"receives requests on", of_hosts([](const metrics::HostSnapshot& host) { return host.queue_pairs.distinct; })},
        {", using ", of_hosts([](const metrics::HostSnapshot& host) {
             return host.remote_keys.distinct + host.pages.working_set_max;
         })},
        {"No host is sent data on more than", of_all_flows(data_of)},
        {"answers as fast however long ago", turnarounds()},
        {"too few to find the end of a cache",
         of_hosts([](const metrics::HostSnapshot& host) { return host.queue_pairs.distinct; })},
    };
}

std::vector<Clause> congestion() {
    return {
        {"as having met congestion", member(&FlowSnapshot::ecn_ce_packets)},
        {"were marked before the capture point",
         of_all_flows([](const FlowSnapshot& flow) { return flow.ecn_ce_packets; })},
        {"were marked after the capture point", of_tcp([](const metrics::TcpFigures& tcp) { return tcp.ece_acks; })},
        {"TCP slows the sender down for it", of_tcp([](const metrics::TcpFigures& tcp) { return tcp.ece_acks; })},
        {" asked the sender to slow down", member(&FlowSnapshot::cnp_packets)},
        {" on other flows asked", of_all_flows([](const FlowSnapshot& flow) { return flow.cnp_packets; })},
        {" to slow down (", member(&FlowSnapshot::cnp_packets)},
        {"asks to stop", pause_frames},
        {"asked a sender to stop", pause_frames},
        {"Other senders have sent", other_pauses},
        {" priority ", stopped_priorities},
        {"within one millisecond", of_hosts([](const metrics::HostSnapshot& host) { return host.incast_senders_max; })},
        {"were marked, slowed down or lost packets",
         of_flows([](const FlowSnapshot& flow) { return flow.ecn_ce_packets + flow.cnp_packets + lost(flow); })},
        {"were lost, which an overflowing queue can cause",
         of_flows([](const FlowSnapshot& flow) { return lost(flow) + nak_count(flow, NakCode::psn_sequence_error); })},
        {"take several times their least latency", of_flows(latencies_of)},
        {"few packets were marked", of_all_flows([](const FlowSnapshot& flow) {
             return flow.ecn_ce_packets + (flow.tcp ? flow.tcp->ece_acks : 0);
         })},
        {"pauses did not hold", pause_frames},
        {"No sign of congestion",
         of_flows([](const FlowSnapshot& flow) { return flow.messages_total() + flow.payload_bytes; })},
    };
}

std::vector<Clause> depths() {
    return {
        {"outstanding on average", member(&FlowSnapshot::messages_max)},
        {"permitted (ORD)",
         of_flows([](const FlowSnapshot& flow) { return flow.connection->initiator_depth.value_or(0); })},
        {"One message at a time is outstanding", member(&FlowSnapshot::messages_max)},
        {"The send queue of",
         of_verbs([](const metrics::VerbsFigures& verbs) { return verbs.send_queue.observed_ns; })},
        {"The link is full", sending_ns},
        {" is full most of the time", of_flows([](const FlowSnapshot& flow) {
             return metrics::time_in(flow, {State::ack_window, State::read_window}) + flow.at_max_ns;
         })},
        {" fit.", of_verbs([](const metrics::VerbsFigures& verbs) { return verbs.send_queue.capacity.value_or(0); }),
         true},
        {"Records are missing", of_verbs([](const metrics::VerbsFigures& verbs) { return verbs.exact() ? 0U : 1U; })},
        {"Nothing acknowledges messages", of_flows([](const FlowSnapshot& flow) {
             return flow.service == metrics::Service::uc || flow.service == metrics::Service::ud ? 1 : 0;
         })},
        {"Too many messages could not be read",
         of_all_flows([](const FlowSnapshot& flow) { return flow.tcp ? flow.tcp->unread_bytes : 0; })},
    };
}

}  // namespace

std::uint64_t Facts::sum(const std::function<std::uint64_t(const FlowSnapshot&)>& figure) const {
    std::uint64_t all = 0;
    for (const FlowSnapshot* flow : flows) all += figure(*flow);
    return all;
}

Facts facts_of(const metrics::Snapshot& snapshot, const metrics::Answer& answer, const std::uint64_t* one) {
    Facts facts{snapshot, {}, {}};
    for (const FlowSnapshot& flow : snapshot.flows)
        if (one == nullptr || flow.id == *one || flow.reverse == *one) facts.scope.push_back(&flow);
    for (const std::uint64_t id : answer.flows)
        if (const FlowSnapshot* const flow = snapshot.flow(id)) facts.flows.push_back(flow);
    return facts;
}

const std::vector<Clause>& assertions() {
    static const std::vector<Clause> table = [] {
        std::vector<Clause> all;
        for (const auto& part : {repairs(), ends(), errors(), limits(), delays(), caches(), congestion(), depths()})
            all.insert(all.end(), part.begin(), part.end());
        return all;
    }();
    return table;
}

const std::vector<Clause>& denials() {
    const auto marks = [](const FlowSnapshot& flow) {
        return flow.ecn_ce_packets + (flow.tcp ? flow.tcp->ece_acks : 0);
    };
    static const std::vector<Clause> table{
        {"No loss was seen on any of", of_flows(lost)},
        {"though none was lost", member(&FlowSnapshot::missing_packets)},
        {"nothing was retransmitted", of_flows(metrics::repeated_packets)},
        {"all were seen here", member(&FlowSnapshot::missing_packets)},
        {"though nothing that asks for them was seen", [](const Facts& facts) { return asked_again(facts, true); }},
        {"though nothing was lost", member(&FlowSnapshot::missing_packets)},
        {"nothing shows that a packet was lost", of_flows([](const FlowSnapshot& flow) {
             const bool own = !metrics::shows_its_own(flow);
             return flow.missing_packets.value_or(0) + (own ? nak_count(flow, NakCode::psn_sequence_error) : 0);
         })},
        {"nothing shows that the sender sent any again", of_flows(metrics::repeated_packets)},
        {"never answered anything", member(&FlowSnapshot::last_answer_frame)},
        {"no answer of",
         [](const Facts& facts) { return facts.flows.empty() ? 0 : facts.flows.front()->last_answer_frame; }},
        {"no other could be measured", of_flows(latencies_of)},
        {"No message in the capture was answered", of_all_flows(latencies_of)},
        {"No RDMA message was seen",
         of_all_flows([](const FlowSnapshot& flow) { return flow.messages_total() + flow.payload_bytes; })},
        {"the other direction is not in the capture",
         of_flows([](const FlowSnapshot& flow) { return flow.reverse ? 1 : 0; })},
        {"none of the answers in the capture could be matched",
         of_flows([](const FlowSnapshot& flow) { return flow.reverse ? 1 : 0; })},
        {"nothing was marked", of_all_flows(marks)},
        {"nothing marked", of_all_flows(marks)},
        {"nothing paused", pause_frames},
        {"nothing was marked or paused", pause_frames},
        {"nothing lost on the way", of_all_flows([](const FlowSnapshot& flow) {
             return flow.messages_total() + flow.payload_bytes > 0 ? lost(flow) : 0;
         })},
        {"and nothing was lost",
         of_all_flows([](const FlowSnapshot& flow) { return data_of(flow) > 0 ? lost(flow) : 0; })},
        {"no packet was ECN-capable", member(&FlowSnapshot::ecn_capable_packets)},
        {"no packet is ECN-capable", member(&FlowSnapshot::ecn_capable_packets)},
        {"No packet is ECN-capable", member(&FlowSnapshot::ecn_capable_packets), true},
        {"no CNP told the sender",
         of_flows([](const FlowSnapshot& flow) { return metrics::shows_its_own(flow) ? 0 : flow.cnp_packets; })},
        {"the receiver did not report it to the sender",
         of_tcp([](const metrics::TcpFigures& tcp) { return tcp.ece_acks; })},
        {"the marks were made after the capture point", member(&FlowSnapshot::ecn_ce_packets)},
    };
    return table;
}

}  // namespace why_test
