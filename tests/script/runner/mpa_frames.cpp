#include "tests/script/runner/mpa_frames.h"

#include "tests/script/runner/command_words.h"

namespace script {
namespace {

constexpr Kind kinds[] = {
    {"write", 0, true, 0},
    {"read_request", 1, false, 1},
    {"read_response", 2, true, 0},
    {"send", 3, false, 0},
    {"send_invalidate", 4, false, 0},
    {"send_solicited", 5, false, 0},
    {"send_solicited_invalidate", 6, false, 0},
    {"terminate", 7, false, 2},
    {"immediate", 8, false, 0},
    {"immediate_solicited", 9, false, 0},
    {"atomic_request", 10, false, 1},
    {"atomic_response", 11, false, 3},
};

/// " name=value", appended: g++ 12 sees an overrun in a sum of strings.
std::string joined(const char* name, const std::string& value) {
    std::string text(1, ' ');
    text.append(name).append(1, '=').append(value);
    return text;
}
std::string number(const char* name, std::uint64_t value) { return joined(name, std::to_string(value)); }
std::string hexed(const char* name, std::uint64_t value) { return joined(name, hex_number(value)); }

}  // namespace

const Kind* kind_of(unsigned opcode) { return opcode < std::size(kinds) ? &kinds[opcode] : nullptr; }
const Kind& kind_named(std::string_view name) {
    for (const Kind& kind : kinds)
        if (kind.name == name) return kind;
    throw Failure("there is no message '" + std::string(name) + "'");
}

Octets encode(const StartFrame& frame) {
    Octets out;
    for (const char c : frame.key) put(out, static_cast<std::uint8_t>(c), 1);
    put(out,
        (frame.markers ? 0x80u : 0u) | (frame.crc ? 0x40u : 0u) | (frame.rejected ? 0x20u : 0u) |
            (frame.enhanced ? 0x10u : 0u) | frame.reserved,
        1);
    put(out, frame.revision, 1);
    Octets data;
    if (frame.carries_depths()) {
        put(data, (frame.peer_to_peer ? 0x8000u : 0u) | (frame.send ? 0x4000u : 0u) | frame.ird, 2);
        put(data, (frame.write ? 0x8000u : 0u) | (frame.read ? 0x4000u : 0u) | frame.ord, 2);
    }
    put(data, frame.private_data);
    put(out, frame.length.value_or(static_cast<unsigned>(data.size())), 2);
    put(out, data);
    return out;
}

std::optional<StartFrame> take_start_frame(Octets& stream) {
    if (stream.size() < 20) return std::nullopt;
    View rest(stream);
    StartFrame frame;
    frame.key.clear();
    for (int i = 0; i < 16; ++i) frame.key += static_cast<char>(take(rest, 1));
    if (frame.key != "MPA ID Req Frame" && frame.key != "MPA ID Rep Frame")
        throw Failure("the stack sent " + hex(stream) + ", which is no start frame");
    const auto flags = take(rest, 1);
    frame.revision = static_cast<unsigned>(take(rest, 1));
    const auto length = static_cast<unsigned>(take(rest, 2));
    frame.length = length;
    if (rest.size() < length) return std::nullopt;
    frame.markers = (flags & 0x80) != 0;
    frame.crc = (flags & 0x40) != 0;
    frame.rejected = (flags & 0x20) != 0;
    frame.enhanced = (flags & 0x10) != 0;
    frame.reserved = flags & 15;
    View data = rest.first(length);
    if (frame.carries_depths()) {
        const auto first = take(data, 2);
        const auto second = take(data, 2);
        frame.peer_to_peer = (first & 0x8000) != 0;
        frame.send = (first & 0x4000) != 0;
        frame.ird = first & 0x3fff;
        frame.write = (second & 0x8000) != 0;
        frame.read = (second & 0x4000) != 0;
        frame.ord = second & 0x3fff;
    }
    frame.private_data.assign(data.begin(), data.end());
    stream.erase(stream.begin(), stream.begin() + 20 + length);
    return frame;
}

std::string show(const StartFrame& frame) {
    std::string text = frame.reply() ? "reply" : "request";
    text += number("revision", frame.revision);
    text += frame.crc ? " crc=on" : " crc=off";
    text += frame.markers ? " markers=on" : " markers=off";
    text += frame.rejected ? " rejected=on" : " rejected=off";
    text += frame.enhanced ? " enhanced=on" : " enhanced=off";
    if (frame.reserved != 0) text += number("reserved", frame.reserved);
    if (frame.carries_depths()) {
        text += number("ird", frame.ird) + number("ord", frame.ord);
        text += frame.peer_to_peer ? " peer_to_peer=on" : " peer_to_peer=off";
        for (const auto& [set, name] : {std::pair(frame.send, " send"), {frame.write, " write"}, {frame.read, " read"}})
            if (set) text += name;
    }
    text += " data=" + hex(frame.private_data);
    return text;
}

Octets header_of(const Segment& segment) {
    Octets out;
    put(out, (segment.tagged ? 0x80u : 0u) | (segment.last ? 0x40u : 0u) | segment.reserved << 2 | segment.ddp_version,
        1);
    put(out, segment.rdmap_version << 6 | segment.rdmap_reserved << 4 | segment.opcode, 1);
    if (segment.tagged) {
        put(out, segment.stag, 4);
        put(out, segment.offset, 8);
    } else {
        put(out, segment.ulp, 4);
        put(out, segment.queue, 4);
        put(out, segment.msn, 4);
        put(out, segment.message_offset, 4);
    }
    return out;
}

Segment decode(View ulpdu) {
    Segment segment;
    const auto ddp = take(ulpdu, 1);
    segment.tagged = (ddp & 0x80) != 0;
    segment.last = (ddp & 0x40) != 0;
    segment.reserved = ddp >> 2 & 15;
    segment.ddp_version = ddp & 3;
    const auto rdmap = take(ulpdu, 1);
    segment.rdmap_version = rdmap >> 6 & 3;
    segment.rdmap_reserved = rdmap >> 4 & 3;
    segment.opcode = rdmap & 15;
    if (segment.tagged) {
        segment.stag = static_cast<std::uint32_t>(take(ulpdu, 4));
        segment.offset = take(ulpdu, 8);
    } else {
        segment.ulp = static_cast<std::uint32_t>(take(ulpdu, 4));
        segment.queue = static_cast<std::uint32_t>(take(ulpdu, 4));
        segment.msn = static_cast<std::uint32_t>(take(ulpdu, 4));
        segment.message_offset = static_cast<std::uint32_t>(take(ulpdu, 4));
    }
    segment.payload.assign(ulpdu.begin(), ulpdu.end());
    return segment;
}

Octets encode(const ReadRequest& request) {
    Octets out;
    put(out, request.sink_stag, 4);
    put(out, request.sink_offset, 8);
    put(out, request.size, 4);
    put(out, request.source_stag, 4);
    put(out, request.source_offset, 8);
    return out;
}

ReadRequest decode_read_request(View payload) {
    ReadRequest request;
    request.sink_stag = static_cast<std::uint32_t>(take(payload, 4));
    request.sink_offset = take(payload, 8);
    request.size = static_cast<std::uint32_t>(take(payload, 4));
    request.source_stag = static_cast<std::uint32_t>(take(payload, 4));
    request.source_offset = take(payload, 8);
    if (!payload.empty()) throw Failure("a Read Request is longer than 28 octets");
    return request;
}

Octets encode(const AtomicRequest& request) {
    Octets out;
    put(out, request.operation, 4);
    put(out, request.id, 4);
    put(out, request.stag, 4);
    for (const auto value : {request.offset, request.operand, request.mask, request.compare, request.compare_mask})
        put(out, value, 8);
    return out;
}

AtomicRequest decode_atomic_request(View payload) {
    AtomicRequest request;
    request.operation = static_cast<unsigned>(take(payload, 4));
    request.id = static_cast<std::uint32_t>(take(payload, 4));
    request.stag = static_cast<std::uint32_t>(take(payload, 4));
    for (auto* value : {&request.offset, &request.operand, &request.mask, &request.compare, &request.compare_mask})
        *value = take(payload, 8);
    if (!payload.empty()) throw Failure("an Atomic Request is longer than 52 octets");
    return request;
}

TerminateMessage decode_terminate(View payload) {
    TerminateMessage message;
    const auto control = take(payload, 4);
    message.layer = control >> 28 & 15;
    message.type = control >> 24 & 15;
    message.code = control >> 16 & 0xff;
    message.m = (control & 0x8000) != 0;
    message.d = (control & 0x4000) != 0;
    message.r = (control & 0x2000) != 0;
    message.reserved = control & 0x1fff;
    const auto part = [&](std::size_t size) {
        if (payload.size() < size) throw Failure("a Terminate is too short for what its bits announce");
        const View octets = payload.first(size);
        payload = payload.subspan(size);
        return Octets(octets.begin(), octets.end());
    };
    if (message.m) message.segment_length = static_cast<std::uint32_t>(take(payload, 2));
    if (message.d) {
        if (payload.empty()) throw Failure("a Terminate announces a DDP header and has none");
        message.ddp_header = part((payload[0] & std::byte{0x80}) != std::byte{} ? 14 : 18);
    }
    if (message.r) message.rdma_header = part(28);
    message.beyond = part(payload.size());
    return message;
}

std::string show(const TerminateMessage& message) {
    Octets code{static_cast<std::byte>(message.code)};
    std::string text(1, ' ');
    text.append(std::to_string(message.layer))
        .append(1, '/')
        .append(std::to_string(message.type))
        .append(1, '/')
        .append(hex(code));
    if (message.m) text += number("segment_length", message.segment_length);
    if (message.d) text += " ddp=" + hex(message.ddp_header);
    if (message.r) text += " rdma=" + hex(message.rdma_header);
    if (message.reserved != 0) text += hexed("reserved", message.reserved);
    if (!message.beyond.empty()) text += " beyond=" + hex(message.beyond);
    return text;
}

std::array<unsigned, 3> terminate_code(std::string_view text) {
    const auto first = text.find('/');
    const auto second = text.find('/', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos)
        throw Failure("'" + std::string(text) + "' is not layer/type/code");
    const Octets code = from_hex(text.substr(second + 1));
    if (code.size() != 1) throw Failure("a Terminate's code has two hexadecimal digits");
    return {static_cast<unsigned>(plain_number(text.substr(0, first))),
            static_cast<unsigned>(plain_number(text.substr(first + 1, second - first - 1))),
            std::to_integer<unsigned>(code[0])};
}

std::string show(const Segment& segment) {
    const Kind* kind = kind_of(segment.opcode);
    std::string text = kind != nullptr ? std::string(kind->name) : "opcode " + std::to_string(segment.opcode);
    if (segment.tagged)
        text += hexed("stag", segment.stag) + hexed("to", segment.offset);
    else
        text += number("qn", segment.queue) + number("msn", segment.msn) + number("mo", segment.message_offset);
    text += segment.last ? " last" : " more";
    if (!segment.tagged && segment.ulp != 0) text += hexed("invalidate", segment.ulp);
    try {
        if (kind != nullptr && kind->name == "read_request" && !segment.tagged) {
            const ReadRequest request = decode_read_request(segment.payload);
            return text + hexed("sink_stag", request.sink_stag) + hexed("sink_to", request.sink_offset) +
                   number("size", request.size) + hexed("source_stag", request.source_stag) +
                   hexed("source_to", request.source_offset);
        }
        if (kind != nullptr && kind->name == "atomic_request" && !segment.tagged) {
            const AtomicRequest request = decode_atomic_request(segment.payload);
            return text + number("operation", request.operation) + number("id", request.id) +
                   hexed("atomic_stag", request.stag) + hexed("atomic_to", request.offset) +
                   hexed("operand", request.operand) + hexed("mask", request.mask) + hexed("compare", request.compare) +
                   hexed("compare_mask", request.compare_mask);
        }
        if (kind != nullptr && kind->name == "terminate" && !segment.tagged)
            return text + show(decode_terminate(segment.payload));
    } catch (const Failure&) {
        // Shown as octets, whatever is wrong with it.
    }
    return text + number("len", segment.payload.size()) + " data=" + hex(segment.payload);
}

}  // namespace script
