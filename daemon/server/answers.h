#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "control/packed_snapshot.h"
#include "control/protocol.h"
#include "daemon/server/command_backend.h"
#include "daemon/server/server.h"

namespace service::inline server {

/// The rest of one answer. A million flows are written piece by piece, when the client has read what was written
/// before.
class Body {
public:
    virtual ~Body() = default;
    /// Appends about `octets` bytes, at least one flow; returns false at the end.
    virtual bool produce(std::string& out, std::size_t octets) = 0;
    /// How long to wait before produce() is called again after it produced nothing. Only streams of frames have to
    /// wait.
    virtual std::uint64_t pause_ns() const { return 0; }
};

/// The result of a request.
struct Answer {
    std::unique_ptr<Body> body;
    bool refused = false;
    bool last = false;  ///< nothing can follow on its connection, because the answer has no mark for its end
};

/// A client's request for repeated answers.
struct Subscription {
    control::Request request;
    std::uint64_t serial = 0;  ///< the server's own number for it, from 1
    std::uint64_t interval_ns = 0;
    std::uint64_t due_ns = 0;                   ///< of the server's clock
    std::uint64_t number = 0;                   ///< of updates sent
    std::uint64_t skipped = 0;                  ///< since the last one
    Published since = {};                       ///< the state at the last one
    metrics::DeviceFigures devices_since = {};  ///< the same for devices, if it is about `why`
};

/// Turns requests into answers, by way of Commands. No sockets, no clock.
class Answers {
public:
    explicit Answers(Commands& commands) : commands_(commands) {}

    /// The answer to any command except `subscribe` and `unsubscribe`, which are between a client and its server.
    Answer answer(const control::Request& request, const ServerCounters& counters);
    /// Fails with the reason if the request cannot become a subscription.
    static base::Result<void> check_subscription(const control::Request& request);
    /// Remembers where the first interval begins.
    void begin(Subscription& subscription);
    /// The next line of the subscription; the interval that it covers ends now.
    std::unique_ptr<Body> update(Subscription& subscription, const ServerCounters& counters);

    static std::unique_ptr<Body> text(std::string line);
    static Answer refusal(const control::Request& request, std::string error);
    static Answer refusal(const control::Request& request, const base::Error& error);

private:
    Answer flows(const control::Request& request);
    Answer why(const control::Request& request);
    Answer snapshot(const control::Request& request);
    Answer history(const control::Request& request);
    Answer reload(const control::Request& request);
    Answer frames(const control::Request& request);
    std::string why_result(const metrics::Snapshot& snapshot, const metrics::DeviceFigures& devices,
                           const control::Request& request) const;
    std::shared_ptr<const metrics::Snapshot> difference(const Published& earlier, const Published& later);

    struct Difference {
        std::weak_ptr<const metrics::Snapshot> earlier;
        std::weak_ptr<const metrics::Snapshot> later;
        std::weak_ptr<const metrics::Snapshot> result;
    };

    Commands& commands_;
    std::weak_ptr<control::PackedSnapshot> packed_ = {};
    std::weak_ptr<const metrics::Snapshot> packed_of_ = {};
    std::vector<Difference> differences_ = {};
};

}  // namespace service::server
