#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dissect/dissector.h"
#include "upper/assignment.h"
#include "upper/command_listener.h"
#include "upper/upper_connection.h"
#include "upper/upper_protocol.h"

namespace upper {

struct ReaderOptions {
    std::vector<Assignment> assignments = {};
    std::size_t max_connections = 16384;     ///< above that, the idlest connection is forgotten
    std::uint64_t max_commands = 1'000'000;  ///< remembered at the same time, of all connections
    bool only_named = false;  ///< a set-up that names no protocol is not kept: its packets may never come
};

/// Stands between a Dissector and its sink: passes everything on, and adds the messages of upper layers. Reports
/// connections and commands to a listener. Sink and listener may be absent.
class Reader final : public dissect::Sink {
public:
    Reader(const ReaderOptions& options, dissect::Sink* next, Listener* listener);
    ~Reader() override;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override;
    void on_unit(const dissect::Unit& unit) override;
    void on_notice(const dissect::Notice& notice) override;
    /// Keeps the frame's time, as on_frame() does: a message may begin in this frame although its unit comes later.
    void note_time(const wire::Frame& frame);
    /// No more frames will come: ends all connections.
    void finish();

    /// The connection of the last unit, and the side that sent the unit; nullptr: the unit belongs to no connection.
    struct Place {
        const Connection* connection = nullptr;
        unsigned side = 0;
    };
    Place last_place() const;
    /// Whether packets from this address to this queue pair belong to a remembered connection.
    bool knows(const Endpoint& source, const Endpoint& destination) const;
    /// Calls `visit` with each remembered connection that has an upper layer.
    void visit_connections(const std::function<void(Connection&)>& visit);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace upper
