#include "metrics/why/answer.h"

namespace metrics {

namespace {

constexpr bool alarms = true;
constexpr bool describes = false;

const std::vector<Verdict> bandwidth{
    {"remote_access_error", "The peer refused access to its memory: wrong key, outside the region, or no permission.",
     alarms},
    {"invalid_request", "The peer did not understand a request or could not take it as it was.", alarms},
    {"remote_operational_error", "The peer could not carry out a request, for example a SEND longer than the receive.",
     alarms},
    {"terminate", "An iWARP peer ended the connection with a Terminate message.", alarms},
    {"connection_rejected", "A request for a connection was refused.", alarms},
    {"connection_unanswered", "A request for a connection got no answer.", alarms},
    {"connection_reset", "A connection was torn down before it carried anything.", alarms},
    {"loss_before_tap", "Packets are lost between the sender and the place of the capture: upstream.", alarms},
    {"loss_after_tap", "Packets are lost between the place of the capture and the receiver: downstream.", alarms},
    {"reordering", "Packets arrive out of order, without being lost.", alarms},
    {"duplication", "The network delivers packets twice.", alarms},
    {"corruption", "Packets arrive with a bad ICRC or CRC.", alarms},
    {"rnr", "The receiver was not ready: no receive was posted when a message arrived.", alarms},
    {"timeout_recovery", "Packets are retransmitted because a timer ran out, and nothing else tells what was lost.",
     alarms},
    {"go_back_n_violation", "Sender or receiver did not recover from a loss as the specification asks.", alarms},
    {"receive_window",
     "The TCP receive window is full: the receiver does not read fast enough, or its buffer is small.", alarms},
    {"pause", "PAUSE or priority flow control stops the sender in the middle of messages.", describes},
    {"congestion_paced", "The sender was slowed down by marks of congestion.", describes},
    {"credit", "The sender waits for end-to-end credits: for receives to be posted.", describes},
    {"read_depth", "The limit of outstanding READs and atomics (ORD) is reached, and each waits for another.",
     describes},
    {"window_too_small", "The send window is always full: more depth or larger messages would give more.", describes},
    {"window_queueing", "The window is full and its packets sit in a queue on the way: more depth will not help.",
     describes},
    {"link_full", "The link carries frames nearly all the time.", describes},
    {"link_shared", "Other flows of the same host fill the link.", describes},
    {"nic_stall", "The sender stalls in the middle of messages: adapter, PCIe, CPU, or a rate limit.", describes},
    {"posted_not_sent",
     "Work is posted, and the adapter or the stack does not send it: known where programs are traced.", describes},
    {"slow_polling",
     "The program looks late at its completions, and posts nothing before: known where programs are traced.",
     describes},
    {"small_messages", "Messages are so small that each one's fixed cost is the limit, not the link.", describes},
    {"application_idle", "The application posts nothing most of the time.", describes},
    {"application_depth", "The application keeps few requests outstanding and pauses between them.", describes},
    {"peer_wait", "The sender waits for the peer's messages: a dialogue.", describes},
    {"not_limited", "Nothing holds the flow back for long.", describes},
    {"undecidable", "This capture cannot tell.", describes},
};

const std::vector<Verdict> latency{
    {"network_delay", "Even the fastest answer takes long: distance, or something that delays every packet.", alarms},
    {"rnr", "Messages wait until the receiver has posted receives.", describes},
    {"retransmission", "Messages that were retransmitted make the longest waits.", describes},
    {"responder_slow", "The answer itself takes the time, not the way there.", describes},
    {"queueing", "Typical messages take several times the least round trip: they wait in queues.", describes},
    {"posted_not_sent",
     "Most of the time from post to completion is that before the first packet: known where programs are traced.",
     describes},
    {"slow_polling",
     "Most of that time is the completion's, until the program takes it: known where programs are traced.", describes},
    {"normal", "Nothing of the above: what was measured is the way there and back.", describes},
    {"undecidable", "This capture cannot tell.", describes},
};

const std::vector<Verdict> qp_cache{
    {"thrashing", "Turnaround steps up at a reuse distance that many accesses exceed: the cache is too small.", alarms},
    {"knee", "Turnaround steps up at a reuse distance, the estimated size of the cache; few accesses exceed it.",
     describes},
    {"no_knee", "Turnaround does not depend on the reuse distance.", describes},
    {"small_working_set", "So few queue pairs, keys and pages are in use that any adapter holds them.", describes},
    {"undecidable", "This capture cannot tell.", describes},
};

const std::vector<Verdict> congestion{
    {"marked", "Switches mark packets (CE): queues build up on the way.", alarms},
    {"throttled", "Receivers ask senders to slow down (CNP).", alarms},
    {"pause", "PAUSE or priority flow control frames were seen.", alarms},
    {"incast", "Many hosts send to one at the same time, and it shows.", alarms},
    {"loss", "Packets are lost, which congestion can cause; nothing else of it was seen.", describes},
    {"queueing", "Round trips are far above the least: packets wait on the way or in the hosts.", describes},
    {"none", "No sign of congestion.", describes},
    {"undecidable", "This capture cannot tell.", describes},
};

const std::vector<Verdict> queue_depth{
    {"at_limit", "The queue is as full as it may be most of the time.", describes},
    {"underused", "Far fewer requests are outstanding than were at the busiest moment.", describes},
    {"ok", "The depth is used, and is not what limits.", describes},
    {"undecidable", "This capture cannot tell.", describes},
};

}  // namespace

const std::vector<Verdict>& verdicts(Question question) {
    switch (question) {
        case Question::bandwidth: return bandwidth;
        case Question::latency: return latency;
        case Question::qp_cache: return qp_cache;
        case Question::congestion: return congestion;
        case Question::queue_depth: break;
    }
    return queue_depth;
}

}  // namespace metrics
