#pragma once
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <vector>

#include "tests/model/plan.h"
#include "tests/model/routes.h"

namespace model {

/// Sends what a RoutePlan says, packet by packet.
class RoutedTraffic {
public:
    /// Gets each frame that passes the tap, in the order of time.
    using Tap = std::function<void(support::KeptFrame&&)>;

    /// `checked`: frames have their ICRC.
    RoutedTraffic(const RoutePlan& plan, Tap tap, bool checked = false);
    RouteTruth run();

private:
    enum class What : std::uint8_t { send, arrive, answer, answered, timer, impatient };
    struct Event {
        std::int64_t time = 0;
        std::uint64_t order = 0;
        std::uint64_t psn = 0;
        std::uint32_t pair = 0;
        std::uint16_t port = 0;
        std::uint16_t identification = 0;
        What what{};
        std::uint8_t hops = 0;
        bool marked = false;
        bool again = false;
        bool nak = false;
        bool operator>(const Event& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    struct Requester {
        std::uint64_t next = 0;  ///< PSN
        std::uint64_t top = 0;   ///< all PSNs below have been sent
        std::uint64_t acknowledged = 0;
        std::uint64_t repair_end = 0;  ///< a partial acknowledgement below it asks for the next packet
        std::set<std::uint64_t> again;
        std::int64_t deadline = 0;
        std::uint64_t sent = 0;
        bool awake = false;  ///< a send is due
        bool timed = false;
    };
    struct Responder {
        std::uint64_t expected = 0;
        std::uint64_t top = 0;         ///< highest PSN that arrived, and 1
        std::set<std::uint64_t> kept;  ///< arrived before an earlier one
        bool complained = false;       ///< of `expected`
        std::uint64_t answers = 0;
        std::uint64_t waits_for = 0;  ///< PSN of the hole that is watched, and 1
    };
    struct Lane {
        bool bad = false;  ///< in a run of losses
        std::int64_t last_ns = 0;
    };
    struct Loss {
        std::uint64_t last = 0;  ///< PSN, and 1
        std::uint64_t top = 0;
    };

    void at(std::int64_t time, Event event);
    void happen(const Event& event);

    // the network
    std::uint32_t route_of(const Event& event, bool from_b);
    std::uint32_t hashed_route(const Event& event, bool from_b, std::size_t routes) const;
    bool is_dark(std::uint32_t route) const;
    bool is_lost(Lane& lane, const Route& route);
    std::int64_t arrival(const Route& route, Lane& lane);
    void observe(const Event& event, bool request);
    Entropy entropy_of(const Event& event, bool from_b) const;
    Packet packet_of(const Event& event, bool request) const;
    void note_loss(const Event& event, EntropyTruth& truth);

    // requesters
    void send(const Event& event);
    bool choose(Requester& requester, const RoutedPair& pair, Event& packet) const;
    void wake(std::uint32_t pair, std::int64_t time);
    void on_answer(const Event& event);
    void on_timer(const Event& event);

    // responders
    void arrive(const Event& event);
    void arrive_in_order(const Event& event, Responder& responder);
    void arrive_in_any_order(const Event& event, Responder& responder);
    void on_impatience(const Event& event);
    void watch(const Event& event, Responder& responder);
    void answer(std::uint32_t pair, std::uint64_t psn, bool nak);
    bool asks(std::uint32_t pair, std::uint64_t psn) const;

    const RoutePlan plan_;
    Tap tap_;
    bool checked_;
    Random random_;
    RouteTruth truth_;
    std::int64_t now_ = 0;
    std::uint64_t order_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<Requester> requesters_;
    std::vector<Responder> responders_;
    std::vector<Lane> lanes_[2];                                ///< of each direction
    std::map<std::pair<std::uint32_t, Entropy>, Loss> losses_;  ///< by pair
};

}  // namespace model
