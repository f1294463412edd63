#include <algorithm>
#include <utility>

#include "tests/script/runner/steps.h"

namespace script {
namespace {

/// The payload of messages that have one of their own kind; `data=` for the rest.
Octets payload_of(World& world, Words& words, const Kind& kind) {
    const auto number = [&](const char* key, std::uint64_t otherwise) {
        const auto value = words.option(key);
        return value ? world.number(*value, World::meaning_of(key)) : otherwise;
    };
    if (const auto data = words.option("data")) return world.data(*data);
    Octets out;
    if (kind.name == "read_request") {
        ReadRequest request;
        request.sink_stag = static_cast<std::uint32_t>(number("sink_stag", 0));
        request.sink_offset = number("sink_to", 0);
        request.size = static_cast<std::uint32_t>(number("size", 0));
        request.source_stag = static_cast<std::uint32_t>(number("source_stag", 0));
        request.source_offset = number("source_to", 0);
        return encode(request);
    }
    if (kind.name == "atomic_request") {
        AtomicRequest request;
        request.operation = static_cast<unsigned>(number("operation", 0));
        request.id = static_cast<std::uint32_t>(number("id", 0));
        request.stag = static_cast<std::uint32_t>(number("atomic_stag", 0));
        request.offset = number("atomic_to", 0);
        request.operand = number("operand", 0);
        // One field of 64 bits, or all bits swapped. RFC 7306 sections 5.1.1 and 5.1.2.
        request.mask = number("mask", request.operation == 0 ? 0 : request.mask);
        request.compare = number("compare", 0);
        request.compare_mask = number("compare_mask", request.compare_mask);
        return encode(request);
    }
    if (kind.name == "atomic_response") {
        put(out, number("id", 0), 4);
        put(out, number("original", 0), 8);
    } else if (kind.name == "immediate" || kind.name == "immediate_solicited") {
        put(out, number("immediate", 0), 8);
    } else if (kind.name == "terminate") {
        const auto code = terminate_code(words.next("layer/type/code"));
        put(out, code[0] << 4 | code[1], 1);
        put(out, code[2], 1);
        put(out, 0, 2);
    }
    return out;
}

Segment segment_of(World& world, Words& words, Connection& at, const Kind& kind) {
    Segment segment;
    const auto number = [&](const char* key, auto& member) {
        using Member = std::remove_reference_t<decltype(member)>;
        if (const auto value = words.option(key))
            member = static_cast<Member>(world.number(*value, World::meaning_of(key)));
    };
    segment.opcode = kind.opcode;
    segment.tagged = kind.tagged;
    segment.queue = kind.queue;
    segment.last = !words.flag("more");
    words.flag("last");
    if (words.flag("tagged")) segment.tagged = true;
    if (words.flag("untagged")) segment.tagged = false;
    segment.payload = payload_of(world, words, kind);
    number("reserved", segment.reserved);
    number("dv", segment.ddp_version);
    number("rv", segment.rdmap_version);
    number("rsv", segment.rdmap_reserved);
    number("opcode", segment.opcode);
    number("stag", segment.stag);
    number("to", segment.offset);
    number("invalidate", segment.ulp);
    number("qn", segment.queue);
    if (!segment.tagged) {
        Connection::Place& place = at.sent[segment.queue];
        segment.msn = place.msn;
        segment.message_offset = place.offset;
        place.offset += static_cast<std::uint32_t>(segment.payload.size());
        if (segment.last) place = {place.msn + 1, 0};
    }
    number("msn", segment.msn);
    number("mo", segment.message_offset);
    return segment;
}

void send_frame(World& world, Connection& at, Words& words, View octets) {
    const std::size_t chunk = world.number(words.option("chunk").value_or("0"));
    if (const auto first = words.option("first")) {
        const auto count = std::min<std::size_t>(octets.size(), world.number(*first));
        at.held.insert(at.held.end(), octets.begin(), octets.begin() + static_cast<std::ptrdiff_t>(count));
    } else {
        put(at.held, octets);
    }
    const bool hold = words.flag("hold");
    words.finish();
    if (hold) return;
    const Octets now = std::exchange(at.held, {});
    peer_sends(world, at, now, chunk);
}

/// One FPDU, right except what its line says.
void send_segment(World& world, Words& words, const Kind& kind) {
    Connection& at = world.connection();
    const Segment segment = segment_of(world, words, at, kind);
    FpduFaults faults;
    if (const auto value = words.option("length")) faults.length = world.number32(*value);
    if (const auto value = words.option("pad")) faults.pad = world.data(*value);
    if (const auto value = words.option("marker")) faults.marker = world.number32(*value);
    if (const auto value = words.option("crc")) faults.crc = *value == "bad" ? 0x01000000 : world.number32(*value);
    Octets ulpdu = header_of(segment);
    put(ulpdu, segment.payload);
    if (const auto value = words.option("ulpdu")) ulpdu.resize(world.number(*value));
    at.labelled[""] = segment;
    if (const auto label = words.option("as")) at.labelled[*label] = segment;
    const Octets fpdu = encode_fpdu(ulpdu, at.out, faults);
    ++at.fpdus_sent;
    send_frame(world, at, words, fpdu);
}

/// One message in segments of `segment=` octets of payload.
void send_message(World& world, Words& words) {
    const Kind& kind = kind_named(words.next("a message's kind"));
    const auto piece = world.number(words.option("segment").value_or("1024"));
    const Octets data = world.data(words.option("data").value_or(""));
    Connection& at = world.connection();
    const std::size_t chunk = world.number(words.option("chunk").value_or("0"));
    Segment segment;
    segment.opcode = kind.opcode;
    segment.tagged = kind.tagged;
    segment.queue = kind.queue;
    if (const auto value = words.option("stag")) segment.stag = world.number32(*value, World::Meaning::stag);
    if (const auto value = words.option("to")) segment.offset = world.number(*value, World::Meaning::offset);
    if (const auto value = words.option("invalidate")) segment.ulp = world.number32(*value, World::Meaning::stag);
    words.finish();
    if (!kind.tagged) segment.msn = at.sent[kind.queue].msn++;
    std::size_t done = 0;
    do {
        const std::size_t count = std::min<std::size_t>(piece, data.size() - done);
        segment.payload.assign(data.begin() + static_cast<std::ptrdiff_t>(done),
                               data.begin() + static_cast<std::ptrdiff_t>(done + count));
        done += count;
        segment.last = done == data.size();
        Octets ulpdu = header_of(segment);
        put(ulpdu, segment.payload);
        ++at.fpdus_sent;
        peer_sends(world, at, encode_fpdu(ulpdu, at.out, {}), chunk);
        segment.offset += count;
        segment.message_offset += static_cast<std::uint32_t>(count);
    } while (done < data.size());
    at.labelled[""] = segment;
}

void peer(World& world, Words& words) {
    Connection& at = world.connection();
    if (!at.peer) throw Failure("there is no connection yet");
    const std::string what = words.next("what the peer does");
    if (what == "request" || what == "reply") {
        StartFrame frame;
        if (what == "reply") frame.key = "MPA ID Rep Frame";
        if (what == "reply" && at.theirs) {
            frame.revision = at.theirs->revision;
            frame.enhanced = at.theirs->enhanced;
        }
        if (frame.revision < 2) frame.enhanced = false;
        read_start_frame(world, words, frame);
        at.ours = frame;
        at.agree();
        send_frame(world, at, words, encode(frame));
    } else if (what == "octets") {
        send_frame(world, at, words, world.data(words.next("octets")));
    } else if (what == "fin") {
        at.peer->close();
        world.run();
    } else if (what == "reset") {
        at.peer->reset();
        world.run();
    } else if (what == "message") {
        send_message(world, words);
    } else {
        send_segment(world, words, kind_named(what));
    }
}

}  // namespace

void peer_sends(World& world, Connection& at, View octets, std::size_t chunk) {
    while (!octets.empty()) {
        const std::size_t count = chunk == 0 ? octets.size() : std::min(chunk, octets.size());
        at.peer->send(octets.first(count));
        octets = octets.subspan(count);
        world.run();
    }
}

void peer_sends_start(World& world, Connection& at, const StartFrame& frame, std::size_t chunk) {
    at.ours = frame;
    at.agree();
    peer_sends(world, at, encode(frame), chunk);
}

void peer_sends_write(World& world, Connection& at) {
    Segment segment;
    segment.tagged = true;
    segment.opcode = 0;
    ++at.fpdus_sent;
    peer_sends(world, at, encode_fpdu(header_of(segment), at.out, {}), 0);
}

void read_start_frame(World& world, Words& words, StartFrame& frame) {
    const auto number = [&](const char* key, unsigned& member) {
        if (const auto value = words.option(key)) member = world.number32(*value);
    };
    if (const auto value = words.option("key")) {
        const Octets key = world.data(*value);
        if (key.size() != 16) throw Failure("a key has 16 octets");
        frame.key.clear();
        for (const std::byte octet : key) frame.key += static_cast<char>(octet);
    }
    number("revision", frame.revision);
    if (frame.revision < 2) frame.enhanced = false;
    for (const auto& [key, member] : {std::pair{"crc", &StartFrame::crc},
                                      {"markers", &StartFrame::markers},
                                      {"rejected", &StartFrame::rejected},
                                      {"enhanced", &StartFrame::enhanced},
                                      {"peer_to_peer", &StartFrame::peer_to_peer},
                                      {"send", &StartFrame::send},
                                      {"write", &StartFrame::write},
                                      {"read", &StartFrame::read}})
        if (const auto value = words.choice(key)) frame.*member = *value;
    number("reserved", frame.reserved);
    number("ird", frame.ird);
    number("ord", frame.ord);
    if (const auto value = words.option("length")) frame.length = world.number32(*value);
    if (const auto value = words.option("data")) frame.private_data = world.data(*value);
}

void add_peer_steps(Steps& steps) { steps["<"] = peer; }

}  // namespace script
