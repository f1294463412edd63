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
#include "replay/endpoints/connection_side.h"
#include "replay/endpoints/control_connection.h"
#include "replay/plan/operation_queue.h"
#include "replay/plan/survey.h"
#include "replay/replay_error.h"

namespace replay::inline endpoints {

/// The options of an end of a re-enactment.
struct EndpointOptions {
    bool initiator = false;
    std::string host;
    std::uint16_t port = 0;
    Terms terms;                                ///< the initiator's; the other end follows
    std::optional<bool> crc;                    ///< MPA's CRC; no value: as captured
    std::uint64_t timeout_ns = 10'000'000'000;  ///< the longest time without progress although something is due
    std::function<bool()> stopped;              ///< called at least ten times a second
    /// Called when the two ends have found each other and agreed: operations are expected in the queue from now on.
    std::function<void(const Terms&)> begin;
};

struct EndpointResult {
    struct Side {
        std::uint32_t connection = 0;
        std::uint32_t copy = 0;
        std::uint8_t side = 0;
        std::string local;  ///< this end's address and port
        std::string peer;
        SideResult done;
    };
    std::vector<Side> sides;
    std::int64_t start_ns = 0;  ///< steady clock; 0 if it never began
    std::int64_t end_ns = 0;
    bool stopped = false;
    bool by_peer = false;  ///< the other end reported the error
    std::string error;     ///< empty: success
};

/// One end of a re-enactment: one side of every connection. Driven by the thread that calls run().
class ReplayEndpoint {
public:
    /// Listens, or prepares to connect. Throws iwarp::Error.
    ReplayEndpoint(std::shared_ptr<iwarp::Device> device, const Survey& survey, OperationQueue& operations,
                   EndpointOptions options);
    ~ReplayEndpoint();
    /// The port where it listens; 0 if it connects.
    std::uint16_t port() const { return listener_ ? listener_->port() : std::uint16_t{0}; }
    std::string address() const { return listener_ ? listener_->address() : std::string(); }

    /// Runs from the first connection to the end of the last one. Errors are in the result.
    EndpointResult run();

private:
    Status run_all();
    void note_sides();
    Status agree_with_peer();
    Status wait_for_start();
    Status work();
    Status finish();

    /// Sends, receives, and handles what has happened. Waits at most `wait_ns`.
    Status progress(std::int64_t wait_ns);
    Status read_completions();
    Status read_events();
    Status on_connect_request(iwarp::ConnectionRequest& request);
    void accept_control(iwarp::ConnectionRequest& request, const Terms& terms);
    Status accept_side(iwarp::ConnectionRequest& request, const Advertisement& advertisement);
    Status on_established(const iwarp::Event& event);
    Status on_control_message(const ControlMessage& word);
    void report_arrivals();

    void read_operations();
    ConnectionSide& side_of(std::uint32_t connection, std::uint32_t copy, std::uint8_t side);
    void connect_sides();
    Result<std::size_t> post(std::int64_t now_ns);
    std::int64_t wait_ns(std::int64_t now_ns) const;
    std::string ended_text(const iwarp::Event& event, bool of_control) const;
    bool all_settled() const;
    bool all_connected() const;
    Status check_time();
    Status check_stop() const;
    std::string first_unsettled() const;
    std::string name_of(const ConnectionSide& lane) const;
    iwarp::ConnectionOptions connection_options(bool crc, std::vector<std::byte> private_data) const;

    std::shared_ptr<iwarp::Device> device_;
    const Survey& survey_;
    OperationQueue& operations_;
    EndpointOptions options_;
    PatternMemory source_;
    PatternMemory target_;
    PatternMemory sink_;
    alignas(8) std::array<std::byte, 64> atomics_{};
    ConnectionSide::Shared shared_;
    std::unique_ptr<ControlConnection> control_;
    std::shared_ptr<iwarp::Listener> listener_;
    std::vector<std::unique_ptr<ConnectionSide>> sides_;
    std::unordered_map<std::uint64_t, ConnectionSide*> by_place_;
    std::deque<ConnectionSide*> to_open_;
    std::size_t completions_ = ControlConnection::completions();  ///< that may wait at once
    std::size_t opening_ = 0;
    std::size_t connected_ = 0;
    std::size_t pending_ = 0;  ///< operations in the sides
    std::vector<Operation> taken_;
    bool agreed_ = false;
    bool started_ = false;
    bool peer_finished_ = false;
    bool leaving_ = false;
    std::size_t closed_sides_ = 0;  ///< of the connected sides
    bool control_closed_ = false;
    std::int64_t start_ns_ = 0;
    std::int64_t progress_ns_ = 0;  ///< the time of the last progress
    EndpointResult result_;
};

}  // namespace replay::endpoints
