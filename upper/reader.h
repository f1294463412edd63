#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dissect/dissector.h"
#include "upper/command_listener.h"
#include "upper/upper_connection.h"
#include "upper/upper_protocol.h"

namespace upper {

/// What the user says of connections: a port or a queue pair, and its protocol.
struct Assignment {
    bool is_queue_pair = false;
    std::uint32_t number = 0;
    const Protocol* protocol = nullptr;
};
/// "4420=nvme", "qp:0x11=nvme". Fails with what is expected.
base::Result<Assignment, std::string> parse_assignment(const std::string& text);

struct ReaderOptions {
    std::vector<Assignment> assignments = {};
    std::size_t max_connections = 16384;     ///< the idlest goes first
    std::uint64_t max_commands = 1'000'000;  ///< that are remembered, of all connections
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
    /// No more frames will come: ends all connections.
    void finish();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace upper
