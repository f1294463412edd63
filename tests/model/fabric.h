#pragma once
#include <deque>
#include <optional>
#include <queue>
#include <vector>

#include "tests/model/model_run.h"

namespace model {

inline constexpr std::int64_t never_ns = INT64_MAX;

/// A work request on its way.
struct Message {
    std::uint64_t id = 0;
    Work work;
    std::uint64_t psn = 0;      ///< of its first packet
    std::uint64_t packets = 1;  ///< PSNs that it takes
    std::uint64_t done = 0;     ///< responses that have come
    bool sent = false;          ///< its first packet was

    bool wants_response() const { return metrics::wants_response(work.operation); }
    std::uint64_t to_send() const { return wants_response() ? 1 : packets; }
    bool consumes_receive() const {
        return work.operation != metrics::Operation::write && work.operation < metrics::Operation::read;
    }
};

/// Something that a responder owes, in the order of the requests. IBTA vol. 1, 9.7.5.1.2.
struct Job {
    enum class Kind : std::uint8_t { acknowledgement, read, atomic } kind{};
    std::int64_t ready_ns = 0;
    std::uint64_t psn = 0;
    std::uint64_t index = 0;    ///< of the next packet within the READ's response
    std::uint64_t packets = 1;  ///< of this response
    std::uint32_t bytes = 0;
    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0;
    std::uint64_t message = 0;
};

/// One QP.
struct Side {
    explicit Side(std::uint64_t seed) : random(seed) {}
    Random random;
    const End* end = nullptr;
    const End* peer = nullptr;
    std::uint32_t number = 0;
    bool transmitting = false;
    bool queued = false;  ///< in its host's turn list

    // application
    std::uint32_t burst = 0;
    std::uint64_t owed = 0;  ///< answers
    std::int64_t think_until = 0;
    std::int64_t due_ns = 0;  ///< when the next burst of a paced application is due
    bool waiting = false;
    std::optional<metrics::State> reacting;  ///< to what the application is about to react with a post

    // requester
    std::deque<Message> messages;
    std::uint64_t cursor = 0;  ///< id of the message to go on with
    std::uint64_t cursor_packet = 0;
    std::uint64_t next_psn = 0;
    std::uint64_t top = 0;  ///< all packets below it have been transmitted
    std::uint64_t acknowledged = 0;
    std::int64_t deadline = never_ns;
    bool timer_set = false;
    std::int64_t rnr_until = 0;
    std::int64_t stall_until = 0;
    std::int64_t allowed_ns = 0;
    std::uint64_t mid_packets = 0;
    std::uint64_t credit_limit = UINT64_MAX;
    std::uint64_t rate = 0;  ///< bits/s; 0 = unlimited
    std::uint64_t target_rate = 0;
    std::uint64_t alpha = 1024;  ///< in 1/1024
    std::int64_t slow_since = 0;
    unsigned recovery_rounds = 0;
    std::uint64_t asked_again_psn = UINT64_MAX;
    std::uint64_t dropped_psn = 0;  ///< of the last response that came while an earlier one was missing
    metrics::State repair = metrics::State::transmit_new;  ///< why it went back; transmit_new: it did not
    std::int64_t gap_since = 0;

    // responder
    std::uint64_t expected = 0;
    std::uint64_t response_top = 0;  ///< READ responses below it have been transmitted
    bool nak_sent = false;           ///< a NAK or RNR NAK is out
    std::uint32_t msn = 0;
    std::uint64_t unacknowledged = 0;  ///< messages
    std::int64_t ack_at = never_ns;
    std::uint32_t receives = 0;
    bool starved = false;  ///< the last credit count sent was zero
    std::deque<Job> jobs;
    std::int64_t last_cnp = INT64_MIN / 2;

    Message* at_cursor() {
        if (messages.empty() || cursor < messages.front().id || cursor > messages.back().id) return nullptr;
        return &messages[cursor - messages.front().id];
    }
};

/// The simulation itself: events in the order of their time, and of their making where times are equal.
class Fabric {
public:
    explicit Fabric(const Plan& plan);
    History run();

private:
    enum class What : std::uint8_t {
        post,
        wake,
        link_free,
        at_switch,
        arrive,
        timer,
        ack,
        answer,
        repost,
        pause,
        go_on,
        speed
    };
    struct Event {
        std::int64_t time = 0;
        std::uint64_t order = 0;
        What what{};
        std::uint32_t index = 0;
        Packet packet;
        bool operator>(const Event& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    struct Port {
        bool busy = false;
        std::int64_t paused_until = 0;
        std::deque<Packet> control;
        std::deque<std::uint32_t> turns;
        std::int64_t down_free = 0;
        std::uint32_t sender = UINT32_MAX;  ///< side whose data is on the link
    };

    // fabric.cpp: time, links, the switch
    void at(std::int64_t time, What what, std::uint32_t index, const Packet& packet = {});
    void happen(const Event& event);
    void kick(std::uint32_t host);
    void start(std::uint32_t host, const Packet& packet, std::uint32_t sender);
    void link_free(std::uint32_t host, const Packet& packet);
    void at_switch(Packet packet);
    bool lost(const Packet& packet, bool behind);
    void pause(std::uint32_t host, std::uint16_t quanta);
    void control(Packet packet);

    // requester.cpp: application and requester
    void post(Side& side);
    bool may_post(const Side& side) const;
    void completed(Side& side);
    void touch(Side& side);
    std::optional<metrics::State> blocked(Side& side, std::int64_t& wake);
    metrics::State idle_reason(const Side& side) const;
    Packet next_packet(Side& side);
    Packet next_request(Side& side);
    void acknowledge(Side& side, std::uint64_t below);
    void on_acknowledgement(Side& side, const Packet& packet);
    void on_response(Side& side, const Packet& packet);
    bool lacks_response(Side& side, std::uint64_t psn);
    void ask_again(Side& side, std::uint64_t psn);
    void go_back(Side& side, std::uint64_t psn, metrics::State why);
    void on_timer(Side& side);
    void on_notification(Side& side);
    void speed_up(Side& side);
    void arm(Side& side);
    void enter(Side& side, metrics::State state, std::int64_t since);
    void close_gap(Side& side, bool again);

    // responder.cpp
    void arrive(const Packet& packet);
    void on_request(Side& side, const Packet& packet);
    void accept(Side& side, const Packet& packet);
    bool receive_missing(Side& side, const Packet& packet);
    void answer(Side& side, Job job);
    void answer_due(Side& side);
    void acknowledge_due(Side& side);
    Packet next_response(Side& side);
    std::uint8_t credit_syndrome(Side& side);

    Packet base(const Side& side, std::uint8_t opcode, std::uint64_t psn, bool in_peers_space) const;

    History out_;
    std::int64_t now_ = 0;
    std::uint64_t order_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<Port> ports_;
    std::vector<Side> sides_;
    std::vector<std::uint32_t> losses_seen_[2];
};

}  // namespace model
