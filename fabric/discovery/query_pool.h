#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fabric/subnet.h"
#include "fabric/umad/mad_transport.h"

namespace fabric::discovery {

/// The ports that a datagram leaves by, one for each hop from the local port on. IBTA vol. 1, 14.2.2.
using Route = std::vector<std::uint8_t>;
/// A path in a datagram has 64 entries, and the first is not used.
inline constexpr std::size_t longest_route = 63;

/// "0,1,4", as smpquery -D reads it.
std::string text_of(const Route& route);

/// Get of an attribute: of subnet management along a route, or of performance management at a LID.
struct Query {
    umad::Agent agent = umad::Agent::directed_route;
    std::uint16_t attribute = 0;
    std::uint32_t modifier = 0;
    Route route = {};              ///< of a directed route
    Lid lid = 0;                   ///< of performance management
    std::uint8_t port_select = 0;  ///< of attributes that are about one port of the node
};

/// The query in words: "NodeInfo at the route 0,1,4", "PortCounters of port 3 at LID 7".
std::string text_of(const Query& query);

enum class Outcome : std::uint8_t { answered, refused, silent };

struct Answer {
    Outcome outcome = Outcome::silent;
    std::string reason = {};                    ///< if it was not answered
    std::span<const std::byte> attribute = {};  ///< of the size that the class has; valid during the call
};

/// Asks many questions, a bounded number of them at a time. The answers come in any order.
class QueryPool {
public:
    using OnAnswer = std::function<void(const Answer&)>;

    QueryPool(umad::MadTransport& transport, unsigned parallel) : transport_(transport), parallel_(parallel) {}

    /// To be asked by run(). A handler may ask more.
    void ask(Query query, OnAnswer on_answer);
    /// Asks until everything is answered or given up. Fails if the port fails.
    base::Result<void> run();
    std::uint64_t asked() const { return asked_; }
    /// Calls `report` after each answer with the number of questions that were asked, and of those that are known of.
    void report_progress(std::function<void(std::uint64_t asked, std::uint64_t known)> report) {
        report_ = std::move(report);
    }

private:
    struct Pending {
        Query query;
        OnAnswer on_answer;
        std::int64_t deadline_ns = 0;  ///< in case the transport never gives up itself
    };

    base::Result<void> send_next();
    base::Result<void> receive_next();
    void finish(const umad::Received& received);
    void expire(std::int64_t now_ns);

    umad::MadTransport& transport_;
    unsigned parallel_;
    std::uint32_t next_id_ = 1;
    std::uint64_t asked_ = 0;
    std::function<void(std::uint64_t, std::uint64_t)> report_ = {};
    std::deque<Pending> waiting_ = {};
    std::unordered_map<std::uint32_t, Pending> sent_ = {};  ///< by the low half of the transaction's identifier
};

}  // namespace fabric::discovery
