#pragma once
#include <array>
#include <string>

#include "dissect/dissector.h"
#include "dissect/upper_message.h"
#include "upper/command_listener.h"
#include "upper/upper_connection.h"

namespace upper {

/// Makes of what a connection notes the messages that printers and filters read.
class MessageWriter {
public:
    explicit MessageWriter(dissect::Sink& sink) : sink_(sink) {}

    void write(const wire::Frame& frame, const MessageNote& note);
    /// An unreliable datagram of a protocol.
    void write_datagram(const wire::Frame& frame, const Protocol& protocol, base::Bytes payload, std::uint32_t length);
    /// Private data of the Communication Manager's message 0 (REQ), 1 (REP) or 2 (REJ).
    void write_private_data(const wire::Frame& frame, const Protocol& protocol, std::size_t message, base::Bytes data);

private:
    /// The bytes that are described.
    base::Bytes describe_head(const MessageNote& note);
    void fill_facts(const MessageNote& note, dissect::CommandFacts& facts);
    void fill_response(const MessageNote& note, dissect::CommandFacts& facts);

    dissect::Sink& sink_;
    dissect::Dissection dissection_ = {};
    std::string id_ = {};
    std::string target_ = {};
    std::string status_ = {};
    std::string words_ = {};
    std::array<std::byte, 4> word_ = {};
};

}  // namespace upper
