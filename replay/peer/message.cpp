#include "replay/peer/message.h"

#include <algorithm>
#include <fmt/core.h>

#include "wire/ddp.h"
#include "wire/rdmap.h"
#include "wire/terminate.h"

namespace replay::inline peer {
namespace {

Channel channel_of(const wire::DdpControl& control, std::uint8_t opcode, std::uint32_t queue) {
    if (control.tagged)
        return opcode == static_cast<std::uint8_t>(wire::RdmapOpcode::read_response) ? Channel::read_response
                                                                                     : Channel::write;
    switch (queue) {
        case wire::queue_send: return Channel::send;
        case wire::queue_read_request: return Channel::request;
        case wire::queue_terminate: return Channel::terminate;
        case wire::queue_atomic_response: return Channel::atomic_response;
        default: return Channel::unknown;
    }
}

std::string words_of_terminate(const Message& message) {
    const auto error = terminate_error(message);
    if (!error) return "without an error";
    const auto [layer, type, code] = *error;
    const std::string_view name = wire::terminate_code_name(layer, type, code);
    return fmt::format("{}/{}/{:02x}{}{}", layer, type, code, name.empty() ? "" : " ", name);
}

std::string words_of_start(const Message& message) {
    const wire::MpaStart& start = *message.start;
    const bool reply = start.key == wire::mpa_reply_key;
    return fmt::format("MPA {} revision {}{}{}{}, {} bytes of private data", reply ? "Reply" : "Request",
                       start.revision, start.crc ? ", CRC" : "", start.marker ? ", markers" : "",
                       reply && start.rejected ? ", rejected" : "", message.body.size());
}

}  // namespace

std::optional<std::array<std::uint8_t, 3>> terminate_error(const Message& message) {
    const auto parts = wire::parse_terminate(message.body);
    if (message.channel != Channel::terminate || !parts) return std::nullopt;
    return std::array{parts->control.layer, parts->control.type, parts->control.code};
}

std::string text_of(const Message& message) {
    if (message.channel == Channel::start) return words_of_start(message);
    std::string text(wire::name_of(wire::rdmap_opcodes, message.opcode));
    if (text.empty()) text = fmt::format("opcode {}", message.opcode);
    if (message.channel == Channel::terminate) return text + ": " + words_of_terminate(message);
    if (message.tagged())
        return fmt::format("{} stag 0x{:08x} to 0x{:x}, {} bytes", text, message.stag, message.offset,
                           message.body.size());
    return fmt::format("{} queue {} msn {}, {} bytes", text, message.queue, message.msn, message.body.size());
}

Message MessageBuilder::start_frame(base::Bytes octets, std::uint64_t first_frame, std::uint64_t last_frame) {
    Message message;
    message.channel = Channel::start;
    if (const auto start = wire::parse<wire::MpaRequest>(octets)) {
        message.start = *start;
        const base::Bytes body = octets.subspan(wire::size_of<wire::MpaRequest>);
        message.body.assign(body.begin(), body.end());
    }
    message.first_frame = first_frame;
    message.last_frame = last_frame;
    return message;
}

std::optional<Message> MessageBuilder::take(const std::vector<std::byte>& ulpdu, bool crc_right,
                                            std::uint64_t first_frame, std::uint64_t last_frame) {
    Message segment;
    segment.first_frame = first_frame;
    segment.last_frame = last_frame;
    segment.segments = 1;
    segment.wrong_crcs = crc_right ? 0 : 1;
    const std::size_t header = ulpdu.empty() ? 1 : wire::ddp_header_size(ulpdu[0]);
    if (ulpdu.size() < header) {
        segment.body = ulpdu;
        return segment;
    }
    const auto control = *wire::parse<wire::DdpControl>(ulpdu);
    const auto rdmap = *wire::parse<wire::RdmapControl>(base::Bytes{ulpdu}.subspan(1));
    segment.opcode = rdmap.opcode;
    segment.version = rdmap.version;
    if (control.tagged) {
        const auto tagged = *wire::parse_ddp_tagged(ulpdu);
        segment.stag = tagged.stag;
        segment.offset = tagged.offset;
    } else {
        const auto untagged = *wire::parse_ddp_untagged(ulpdu);
        segment.queue = untagged.queue;
        segment.msn = untagged.msn;
        segment.stag = static_cast<std::uint32_t>(untagged.ulp);
    }
    segment.channel = channel_of(control, segment.opcode, segment.queue);
    segment.body.assign(ulpdu.begin() + static_cast<std::ptrdiff_t>(header), ulpdu.end());
    auto& open = open_[static_cast<std::size_t>(segment.channel)];
    if (!open) {
        open = std::move(segment);
    } else {
        open->body.insert(open->body.end(), segment.body.begin(), segment.body.end());
        open->last_frame = last_frame;
        ++open->segments;
        open->wrong_crcs += segment.wrong_crcs;
    }
    if (!control.last) return std::nullopt;
    std::optional<Message> whole = std::move(open);
    open.reset();
    return whole;
}

const Message* MessageBuilder::longest_open() const {
    const auto octets = [](const std::optional<Message>& each) { return each ? each->body.size() : 0; };
    const auto longest = std::max_element(open_.begin(), open_.end(),
                                          [&](const auto& a, const auto& b) { return octets(a) < octets(b); });
    return octets(*longest) != 0 ? &**longest : nullptr;
}

}  // namespace replay::peer
