#pragma once
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "upper/rdma_message.h"
#include "upper/upper_command.h"

namespace upper {

class Connection;

/// A message of a connection whose protocol is known, reported when the message passes.
struct MessageNote {
    const Connection& connection;
    dissect::CommandRole role = dissect::CommandRole::none;
    const Command* command = nullptr;  ///< nullptr: the message belongs to no known command
    const Message* message = nullptr;
    bool begins = false;                    ///< data: this is the first packet of the message
    base::Bytes head = {};                  ///< the first bytes of a SEND, or of data that describe the connection
    std::optional<std::uint32_t> key = {};  ///< request: the key of its first memory range
    std::optional<std::uint64_t> data_offset = {};  ///< first packet of data: their place in the command's memory
    std::uint64_t data_bytes = 0;                   ///< first packet of data: bytes that the message announces
    std::string_view event = {};                    ///< interim or other message: Said::event
    std::string_view event_heading = {};
    std::optional<std::uint32_t> word = {};  ///< Said::word
    base::Bytes line_head = {};              ///< other message: the bytes for its line of output
    bool from_initiator = false;
};

/// Receives what connections do. References are valid during the call only.
class Listener {
public:
    virtual ~Listener() = default;
    /// The upper layer of the connection is now known.
    virtual void recognized(const Connection&) {}
    virtual void message(const MessageNote&) {}
    /// A command has ended. Commands come in the order of their requests, if the protocol has an order.
    virtual void command(const Connection&, const FinishedCommand&) {}
    /// The initiator asked for nothing for this long: from a response that left no command open to the next request.
    virtual void asked_next(const Connection&, std::uint64_t /*host_ns*/) {}
    /// The connection has ended: no more commands will come.
    virtual void ended(const Connection&) {}
};

}  // namespace upper
