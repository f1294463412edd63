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
    std::size_t max_connections = 16384;     ///< the idlest goes first
    std::uint64_t max_commands = 1'000'000;  ///< that are remembered, of all connections
    bool only_named = false;  ///< of a set-up that names no protocol nothing is kept: its packets may never come
};

/// Between a Dissector and its sink: hands everything on, and follows with the messages of upper layers that it finds.
/// Tells a listener of connections and commands. Either may be absent.
class Reader final : public dissect::Sink {
public:
    Reader(const ReaderOptions& options, dissect::Sink* next, Listener* listener);
    ~Reader() override;
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override;
    void on_unit(const dissect::Unit& unit) override;
    void on_notice(const dissect::Notice& notice) override;
    /// Keeps the frame's time, as on_frame() does: a message may begin in it whose unit comes later.
    void note_time(const wire::Frame& frame);
    /// No more frames will come: ends all connections.
    void finish();

    /// Which connection the last unit belonged to, and which side sent it. nullptr: the unit was of none.
    struct Place {
        const Connection* connection = nullptr;
        unsigned side = 0;
    };
    Place last_place() const;
    /// Whether packets from that address to that queue pair are of a connection that is remembered.
    bool knows(const Endpoint& source, const Endpoint& destination) const;
    /// Calls `visit` with every connection that is remembered and has an upper layer.
    void visit_connections(const std::function<void(Connection&)>& visit);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace upper
