#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "iwarp/iwarp.h"
#include "replay/endpoints/control.h"
#include "replay/endpoints/lane.h"
#include "replay/plan/operation_queue.h"
#include "replay/plan/survey.h"

namespace replay {

/// How an end takes part.
struct PartyOptions {
    bool initiator = false;
    std::string host;
    std::uint16_t port = 0;
    Terms terms;                                ///< the initiator's; the other end takes them over
    std::optional<bool> crc;                    ///< MPA's; absent: as captured
    std::uint64_t timeout_ns = 10'000'000'000;  ///< without anything that comes about, though something is due
    std::function<bool()> stopped;              ///< asked ten times a second, and more often
    /// The two ends have found each other and agreed: operations are expected in the queue from now on.
    std::function<void(const Terms&)> begin;
};

struct PartyResult {
    struct Side {
        std::uint32_t connection = 0;
        std::uint32_t copy = 0;
        std::uint8_t side = 0;
        std::string local;  ///< this end's address and port
        std::string peer;
        SideResult done;
    };
    std::vector<Side> sides;
    std::int64_t start_ns = 0;  ///< steady clock; 0 where it never began
    std::int64_t end_ns = 0;
    bool stopped = false;
    bool told = false;  ///< the error is what the other end said
    std::string error;  ///< empty: all came about
};

/// One end of a re-enactment: a side of every connection. Driven by the thread that calls run().
class Party {
public:
    /// Listens, or is ready to connect. Throws iwarp::Error.
    Party(std::shared_ptr<iwarp::Device> device, const Survey& survey, OperationQueue& operations,
          PartyOptions options);
    ~Party();
    /// Where it listens; 0 of one that connects.
    std::uint16_t port() const { return listener_ ? listener_->port() : std::uint16_t{0}; }
    std::string address() const { return listener_ ? listener_->address() : std::string(); }

    /// From the first connection to the last farewell. What goes wrong stands in the result.
    PartyResult run();

private:
    void find_the_other();
    void wait_for_start();
    void work();
    void farewell();

    /// Sends, receives, and deals with what has come about. Waits so long at most.
    void turn(std::int64_t wait_ns);
    void take_completions();
    void take_events();
    void welcome(iwarp::ConnectionRequest& request);
    void welcome_control(iwarp::ConnectionRequest& request, const Terms& terms);
    void welcome_lane(iwarp::ConnectionRequest& request, const Loan& loan);
    void established(const iwarp::Event& event);
    void heard(const Word& word);
    void tell_news();

    void take_operations();
    Lane& lane_of(std::uint32_t connection, std::uint32_t copy, std::uint8_t side);
    void open_lanes();
    std::size_t post(std::int64_t now_ns);
    std::int64_t wait_ns(std::int64_t now_ns) const;
    bool all_settled() const;
    bool all_connected() const;
    void check_time();
    void check_stop() const;
    std::string first_unsettled() const;
    std::string name_of(const Lane& lane) const;
    iwarp::ConnectionOptions connection_options(bool crc, std::vector<std::byte> private_data) const;

    std::shared_ptr<iwarp::Device> device_;
    const Survey& survey_;
    OperationQueue& operations_;
    PartyOptions options_;
    Arena source_;
    Arena target_;
    Arena sink_;
    alignas(8) std::array<std::byte, 64> atomics_{};
    Lane::Shared shared_;
    std::unique_ptr<Control> control_;
    std::shared_ptr<iwarp::Listener> listener_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::unordered_map<std::uint64_t, Lane*> by_place_;
    std::deque<Lane*> to_open_;
    std::size_t completions_ = Control::completions();  ///< that may wait at once
    std::size_t opening_ = 0;
    std::size_t connected_ = 0;
    std::size_t pending_ = 0;  ///< operations in the lanes
    std::vector<Operation> taken_;
    bool agreed_ = false;
    bool started_ = false;
    bool peer_finished_ = false;
    bool leaving_ = false;
    std::size_t gone_ = 0;  ///< of the connected lanes
    bool control_gone_ = false;
    std::int64_t start_ns_ = 0;
    std::int64_t moved_ns_ = 0;  ///< when something came about last
    PartyResult result_;
};

}  // namespace replay
