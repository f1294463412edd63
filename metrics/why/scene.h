#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "metrics/histogram/histogram.h"
#include "metrics/why/answer.h"

namespace metrics::why {

using Flows = std::vector<const FlowSnapshot*>;

/// The flows of one direction between two hosts over one kind of transport, ascending id.
struct Group {
    Address source;
    Address destination;
    Flows flows;
};

/// What is asked about: a snapshot, or one flow of it and its reverse.
class Scene {
public:
    Scene(const Snapshot& snapshot, const metrics::HostNames& names, const std::uint64_t* flow);

    const Snapshot& snapshot() const { return snapshot_; }
    const std::vector<Group>& groups() const { return groups_; }
    const Flows& flows() const { return flows_; }
    bool about_one_flow() const { return one_flow_; }
    const FlowSnapshot* reverse(const FlowSnapshot& flow) const;
    bool concerns(const Address& host) const;  ///< whether a flow that is asked about begins or ends there

    std::string host(const Address& address) const;        ///< "storage-3 (192.0.2.2)", or the address alone
    std::string end(const Endpoint& endpoint) const;       ///< "storage-3 (192.0.2.2, qp 0x000011)"
    std::string from_to(const Flows& flows) const;         ///< "from A (port 1) to B (port 2)"; they share both hosts
    std::string requests(const Flows& flows) const;        ///< the same of the requests that their NAKs are about
    std::string short_name(const Address& address) const;  ///< the name alone, or the address

private:
    const Snapshot& snapshot_;
    const metrics::HostNames& names_;
    bool one_flow_ = false;
    Flows flows_;
    std::vector<Group> groups_;
    std::unordered_map<std::uint64_t, const FlowSnapshot*> by_id_;
};

/// A flow that has what is looked for, and how badly: 0 to 1.
struct Sick {
    const FlowSnapshot* flow = nullptr;
    double hurt = 0;
};

/// An answer about those flows, worst first: ids, vantage, confidence and severity are filled in.
Answer finding(Question question, Verdict verdict, std::vector<Sick>& sick);
Flows flows_of(const std::vector<Sick>& sick);

/// Frames that show one of these kinds of events on the flows, ascending, at most 8.
std::vector<std::uint64_t> frames_of(const Flows& flows, std::initializer_list<EventKind> kinds);
/// Adds a figure; a zero is left out unless `always`.
void add_evidence(Answer& answer, std::string what, double value, EvidenceUnit unit,
                  std::vector<std::uint64_t> frames = {}, bool always = false);

/// Time in which there was something to do: the wall time less what was not seen and what the application left idle.
/// Waiting for the peer in a dialogue counts.
std::uint64_t active_ns(const FlowSnapshot& flow);
std::uint64_t time_in(const FlowSnapshot& flow, std::initializer_list<State> states);
/// Retransmitting, and waiting for it: after NAKs, RNR NAKs and time-outs.
std::uint64_t repair_ns(const FlowSnapshot& flow);
double ratio(double part, double whole);  ///< 0 where the whole is 0; at most 1
bool carries_data(const FlowSnapshot& flow);
bool requests_responses(const FlowSnapshot& flow);       ///< READs or atomics are among its messages
bool only_requests_responses(const FlowSnapshot& flow);  ///< READ and atomics and nothing else
/// Latencies that can be compared, those of most of a flow's messages: a READ waits for memory and for all of its
/// octets, an atomic for memory, any other for an acknowledgement.
struct AlikeLatencies {
    Histogram ns;
    std::string_view of = "Messages";  ///< "READs", where the flow has others beside them
};
AlikeLatencies alike_latencies(const FlowSnapshot& flow);
/// An unpaired flow shows the NAKs, RNR NAKs and CNPs that travelled on it: they are about the other direction.
bool shows_its_own(const FlowSnapshot& flow);
/// Who answers the requests that a flow's NAKs are about: its destination; of one that shows_its_own(), its source.
const Endpoint& responder_of(const FlowSnapshot& flow);
const Endpoint& requester_of(const FlowSnapshot& flow);
/// Whether packets of it were lost between sender and receiver, before the capture point or after it.
bool lost_on_the_way(const Scene& scene, const FlowSnapshot& flow);
/// Whether NAKs travelled on it that tell of packets lost in the other direction, of a flow that was not found.
bool tells_of_loss(const FlowSnapshot& flow);
/// Whether messages of a flow that is asked about are known in part only, for want of octets to read; and what helps.
bool is_partly_read(const Scene& scene);
std::string unread_advice(const Scene& scene);
std::uint64_t exhibit_count(const FlowSnapshot& flow, EventKind kind);
std::uint64_t repeated_packets(const FlowSnapshot& flow);  ///< without tail_probes()
/// Segments that a TCP sender held by the window repeated to hear something: shown as runs of 0 packets.
std::uint64_t tail_probes(const FlowSnapshot& flow);

/// Of the traced sender of a flow, where it is one: time between messages with work posted and not sent (which is part
/// of nic_stall), and with nothing posted while an answered request's completion was not taken.
std::uint64_t held_ns(const FlowSnapshot& flow);
std::uint64_t unpolled_ns(const FlowSnapshot& flow);
std::uint64_t unpolled_ns(const FlowSnapshot& flow, State application);
/// "ib_write_bw (pid 4711) on storage-3", or the host alone where nobody was traced.
std::string program_on(const Scene& scene, const FlowSnapshot& flow);
/// What posts and completions say: depths, and what messages waited for.
void add_traced(Answer& answer, const FlowSnapshot& flow);

// One file a question. Each adds its findings: those that alarm, or else the one that describes.
void ask_bandwidth(const Scene& scene, std::vector<Answer>& out);
void ask_latency(const Scene& scene, std::vector<Answer>& out);
void ask_qp_cache(const Scene& scene, std::vector<Answer>& out);
void ask_congestion(const Scene& scene, std::vector<Answer>& out);
void ask_queue_depth(const Scene& scene, std::vector<Answer>& out);

// Parts of the first question.
void find_repairs(const Scene& scene, std::vector<Answer>& out);  ///< loss, reordering, RNR, corruption
void find_errors(const Scene& scene, std::vector<Answer>& out);   ///< NAKs that end a queue pair, Terminates
void find_failed_connections(const Scene& scene, std::vector<Answer>& out);

}  // namespace metrics::why
