#include "upper/message_writer.h"

#include <algorithm>

#include "upper/command_text.h"
#include "wire/nvme.h"

namespace upper {

using dissect::CommandRole;

base::Bytes MessageWriter::describe_head(const MessageNote& note) {
    dissection_.reset();
    const Protocol& protocol = *note.connection.protocol();
    if (note.word) {
        for (unsigned i = 0; i < word_.size(); ++i) word_[i] = static_cast<std::byte>(*note.word >> 8 * (3 - i) & 0xff);
        dissect::dissect_unit(protocol.request_layer, word_, static_cast<std::uint32_t>(word_.size()), {}, dissection_);
        return word_;
    }
    if (note.head.empty() || note.message == nullptr) return note.head;
    const bool is_data = note.role == CommandRole::data_out || note.role == CommandRole::data_in;
    const dissect::LayerId layer = is_data                              ? protocol.data_layer
                                   : note.role == CommandRole::response ? protocol.response_layer
                                                                        : protocol.request_layer;
    const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(note.message->length, 1u << 30));
    dissect::dissect_unit(layer, note.head.first(std::min<std::size_t>(note.head.size(), length)), length, {},
                          dissection_);
    if (dissection_.layer_count == 0) return note.head;
    const std::uint32_t detail = note.command == nullptr ? 0 : note.command->detail;
    if (!is_data && protocol.variant != nullptr)
        dissection_.layers[0].variant = protocol.variant(note.connection.facts(), detail);
    if (protocol.add_layers != nullptr) protocol.add_layers(note.head, detail, dissection_);
    return note.head;
}

void MessageWriter::fill_response(const MessageNote& note, dissect::CommandFacts& facts) {
    const Command& command = *note.command;
    const Progress& progress = note.connection.progress(command);
    const StatusMeaning meaning = note.connection.protocol()->status(command.detail, progress.status);
    status_ = status_text(meaning, progress.status);
    facts.status = status_;
    facts.error = name_of(meaning.error);
    if (note.head.size() >= wire::nvme_completion_bytes && dissection_.has(dissect::LayerId::nvme_completion))
        facts.queue_head = wire::parse_nvme_completion(note.head.data()).queue_head;
    if (command.is_orphan) return;
    facts.parts = parts_of(command, progress, note.connection.repair_marks(command));
    if (command.request_acked && command.request_ack_ns >= command.request_end_ns)
        facts.request_ack_ns = std::min(facts.parts->ns[CommandParts::target_before],
                                        static_cast<std::uint64_t>(command.request_ack_ns - command.request_end_ns));
}

void MessageWriter::fill_facts(const MessageNote& note, dissect::CommandFacts& facts) {
    const Connection& connection = note.connection;
    const Protocol& protocol = *connection.protocol();
    facts.protocol = protocol.name;
    facts.heading = protocol.heading;
    facts.block_word = protocol.block_word;
    facts.evidence = name_of(connection.evidence());
    facts.role = note.role;
    facts.queue = connection.facts().queue;
    facts.id_word = protocol.id_word;
    facts.begins = note.begins;
    facts.event = note.event;
    if (!note.event_heading.empty()) facts.heading = note.event_heading;
    words_.clear();
    if (note.command == nullptr) {
        if (!note.event.empty() && protocol.add_words != nullptr)
            protocol.add_words(
                {note.line_head, note.message->length, note.word, note.from_initiator, &connection.facts()}, words_);
        facts.words = words_;
        return;
    }
    const Command& command = *note.command;
    const Progress& progress = connection.progress(command);
    if (protocol.heading_of != nullptr && !command.is_orphan) facts.heading = protocol.heading_of(command.detail);
    id_ = id_text(protocol, command.id);
    target_ = target_text(protocol, command);
    facts.number = command.number;
    facts.id = id_;
    facts.kind = command.kind();
    facts.kind_text = command.kind_text();
    facts.target = target_;
    facts.bytes = command.bytes();
    facts.request_frame = command.request_last_frame;
    facts.data_first_frame = progress.data_first_frame;
    facts.response_frame = progress.response_frame;
    switch (note.role) {
        case CommandRole::request:
            facts.first_block = command.first_block();
            facts.block_count = command.block_count();
            facts.open = command.open_with_it;
            facts.limit = connection.facts().limit;
            break;
        case CommandRole::response: fill_response(note, facts); break;
        default: break;
    }
}

void MessageWriter::write(const wire::Frame& frame, const MessageNote& note) {
    dissect::CommandFacts facts;
    const base::Bytes described = describe_head(note);
    fill_facts(note, facts);
    facts.key = note.key;
    if (note.message != nullptr && note.begins) {
        facts.data_bytes = note.data_bytes;
        facts.data_offset = note.data_offset;
    }
    sink_.on_message({frame, dissection_, described, facts});
}

void MessageWriter::write_datagram(const wire::Frame& frame, const Protocol& protocol, base::Bytes payload,
                                   std::uint32_t length) {
    dissect::dissect_unit(protocol.datagram_layer, payload, length, {}, dissection_);
    ConnectionFacts none;
    Said said;
    protocol.parse(payload, length, true, none, said);
    words_.clear();
    if (protocol.add_words != nullptr) protocol.add_words({payload, length, {}, true, nullptr}, words_);
    dissect::CommandFacts facts;
    facts.protocol = protocol.name;
    facts.heading = protocol.heading;
    facts.evidence = name_of(Evidence::shape);
    facts.event = said.event.empty() ? std::string_view{"datagram"} : said.event;
    facts.words = words_;
    sink_.on_message({frame, dissection_, payload, facts});
}

void MessageWriter::write_private_data(const wire::Frame& frame, const Protocol& protocol, std::size_t message,
                                       base::Bytes data) {
    if (protocol.private_data_layers[message] == dissect::LayerId::none) return;
    const auto length = static_cast<std::uint32_t>(data.size());
    dissect::dissect_unit(protocol.private_data_layers[message], data, length, {}, dissection_);
    dissect::CommandFacts facts;
    facts.protocol = protocol.name;
    facts.heading = protocol.heading;
    facts.evidence = name_of(Evidence::private_data);
    sink_.on_message({frame, dissection_, data, facts});
}

}  // namespace upper
