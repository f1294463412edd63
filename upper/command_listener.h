#pragma once
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "upper/rdma_message.h"
#include "upper/upper_command.h"

namespace upper {

class Connection;

/// A message of a recognized connection, when it passes.
struct MessageNote {
    const Connection& connection;
    dissect::CommandRole role = dissect::CommandRole::none;
    const Command* command = nullptr;  ///< nullptr: a message of no command that is known
    const Message* message = nullptr;
    bool begins = false;                            ///< of data: the first packet of the message
    base::Bytes head = {};                          ///< of a SEND, and of data that say something of the connection
    std::optional<std::uint32_t> key = {};          ///< of a request: that of its first range of memory
    std::optional<std::uint64_t> data_offset = {};  ///< of data that begin: their place within the command's memory
    std::uint64_t data_bytes = 0;                   ///< of data that begin: bytes that the message says it has
    std::string_view event = {};                    ///< of an interim or another message, Said::event
    std::string_view event_heading = {};
    std::optional<std::uint32_t> word = {};  ///< Said::word
    base::Bytes line_head = {};              ///< of another message: what its line is made of
    bool from_initiator = false;
};

/// Is called with what the connections hold. References are valid during the call alone.
class Listener {
public:
    virtual ~Listener() = default;
    /// The connection has an upper layer.
    virtual void recognized(const Connection&) {}
    virtual void message(const MessageNote&) {}
    /// A command is over: in the order in which they were asked, so far as they have an order.
    virtual void command(const Connection&, const FinishedCommand&) {}
    /// No more commands of the connection will come.
    virtual void ended(const Connection&) {}
};

}  // namespace upper
