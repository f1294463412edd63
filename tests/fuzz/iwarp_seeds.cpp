#include "tests/fuzz/iwarp_seeds.h"

#include <fstream>
#include <string>

#include "tests/fuzz/iwarp_input.h"
#include "tests/script/runner/mpa_frames.h"

namespace fuzz {
namespace {

using script::Octets;
using script::Segment;
namespace input = peer_input;

std::string text_of(const Octets& octets) { return {reinterpret_cast<const char*>(octets.data()), octets.size()}; }

Octets some_octets(std::size_t size) {
    Octets octets;
    for (std::size_t i = 0; i < size; ++i) octets.push_back(static_cast<std::byte>(i * 5 + 1));
    return octets;
}

Segment segment(std::string_view name, Octets payload, std::uint32_t msn = 1) {
    const script::Kind& kind = script::kind_named(name);
    Segment made;
    made.opcode = kind.opcode;
    made.tagged = kind.tagged;
    made.queue = kind.queue;
    made.msn = msn;
    made.payload = std::move(payload);
    return made;
}

std::string ulpdu(const Segment& made) {
    Octets octets = script::header_of(made);
    script::put(octets, made.payload);
    return text_of(octets);
}

/// Both targets' seeds, one conversation after the other.
class Writer {
public:
    explicit Writer(std::filesystem::path folder) : folder_(std::move(folder)) {
        for (const char* target : {"mpa_stream", "iwarp_peer"}) std::filesystem::create_directories(folder_ / target);
    }

    void begin(std::uint8_t choices, std::uint8_t chunk = 0) {
        peer_ = {static_cast<char>(choices), static_cast<char>(chunk), 1};
        ulpdus_.clear();
    }
    void sends(const Segment& made) { record(input::ulpdu, ulpdu(made)); }
    void names(const Segment& made, input::Name name, std::uint8_t place) {
        record(input::named_ulpdu, std::string{static_cast<char>(name), static_cast<char>(place)} + ulpdu(made));
    }
    void user(input::Action action, std::uint8_t number) {
        append_record(peer_, input::user, std::string{static_cast<char>(action), static_cast<char>(number)});
    }
    void plain(input::Record kind, std::string_view octets = {}) { append_record(peer_, kind, octets); }
    void end(const std::string& name) {
        write(folder_ / "iwarp_peer" / name, peer_);
        for (const int choices : {mpa_input::framed | mpa_input::crc | mpa_input::strict,
                                  mpa_input::framed | mpa_input::crc | mpa_input::markers,
                                  mpa_input::framed | mpa_input::direct, mpa_input::crc | mpa_input::direct}) {
            const std::string start{static_cast<char>(choices), 3, 2};
            write(folder_ / "mpa_stream" / (name + "-" + std::to_string(choices)), start + ulpdus_);
        }
    }

private:
    void record(std::uint8_t kind, const std::string& octets) {
        append_record(peer_, kind, octets);
        const std::string plain = kind == input::named_ulpdu ? octets.substr(2) : octets;
        ulpdus_ += static_cast<char>(plain.size() & 0xff);
        ulpdus_ += static_cast<char>(plain.size() >> 8);
        ulpdus_ += plain;
    }
    static void write(const std::filesystem::path& path, const std::string& content) {
        std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
    }

    std::filesystem::path folder_;
    std::string peer_;
    std::string ulpdus_;
};

Octets read_request(std::uint32_t size, std::uint64_t source = 0) {
    script::ReadRequest request;
    request.sink_stag = 0x5678;
    request.size = size;
    request.source_offset = source;
    return script::encode(request);
}

void writes_and_sends(Writer& writer, std::uint8_t choices, std::uint8_t chunk, const std::string& name) {
    writer.begin(choices, chunk);
    writer.names(segment("write", some_octets(64)), input::writable, input::tagged_header);
    writer.sends(segment("send", some_octets(20)));
    writer.sends(segment("send_solicited", some_octets(0), 2));
    writer.user(input::post_receive, 5);
    Segment first = segment("send", some_octets(30), 3);
    first.last = false;
    writer.sends(first);
    first.last = true;
    first.message_offset = 30;
    writer.sends(first);
    writer.user(input::post_send, 40);
    writer.user(input::post_write, 41);
    writer.user(input::poll, 0);
    writer.plain(input::fin);
    writer.end(name);
}

void reads_and_atomics(Writer& writer, std::uint8_t choices, const std::string& name) {
    writer.begin(choices);
    writer.names(segment("read_request", read_request(100)), input::readable, input::read_source);
    writer.names(segment("read_request", read_request(0), 2), input::readable, input::read_source);
    script::AtomicRequest add;
    add.operand = 3;
    add.mask = 0;
    writer.names(segment("atomic_request", script::encode(add), 3), input::atomic, input::atomic_target);
    add.operation = 2;
    add.offset = 504;
    add.mask = ~std::uint64_t{0};
    writer.names(segment("atomic_request", script::encode(add), 4), input::atomic, input::atomic_target);
    writer.user(input::post_read, 37);
    Segment response = segment("read_response", some_octets(40));
    response.offset = 80;
    writer.names(response, input::local, input::tagged_header);
    writer.user(input::post_atomic, 2);
    Octets answer;
    script::put(answer, 1, 4);
    script::put(answer, 7, 8);
    writer.sends(segment("atomic_response", answer));
    writer.user(input::disconnect, 0);
    writer.end(name);
}

void invalidations(Writer& writer) {
    writer.begin(input::crc | input::strict);
    writer.user(input::bind_window, 200);
    writer.names(segment("write", some_octets(100)), input::window_2, input::tagged_header);
    writer.names(segment("send_invalidate", some_octets(8)), input::window_2, input::invalidate);
    writer.names(segment("write", some_octets(64)), input::window_1, input::tagged_header);
    Octets immediate = some_octets(8);
    writer.sends(segment("immediate", immediate, 2));
    writer.names(segment("send_solicited_invalidate", some_octets(8), 3), input::writable, input::invalidate);
    writer.names(segment("write", some_octets(8)), input::writable, input::tagged_header);
    writer.end("invalidations");
}

/// More than there are receives, and more than the IRD permits.
void excesses(Writer& writer) {
    writer.begin(input::crc | input::strict);
    for (std::uint32_t msn = 1; msn <= 4; ++msn) writer.sends(segment("send", some_octets(8), msn));
    writer.end("excess-sends");
    writer.begin(input::crc);
    writer.sends(segment("write", {}));
    writer.user(input::post_receive, 9);
    for (std::uint32_t msn = 1; msn <= 6; ++msn)
        writer.names(segment("read_request", read_request(200), msn), input::readable, input::read_source);
    writer.end("excess-reads");
}

/// One segment each that the tables answer with a Terminate.
void violations(Writer& writer) {
    int number = 0;
    const auto one = [&](const Segment& made, input::Name name, std::uint8_t place) {
        writer.begin(static_cast<std::uint8_t>(input::crc | (number % 2 == 0 ? input::strict : 0)));
        writer.sends(segment("write", {}));
        writer.names(made, name, place);
        writer.names(segment("write", some_octets(16)), input::writable, input::tagged_header);
        writer.end("violation-" + std::to_string(++number));
    };
    constexpr std::uint8_t nowhere = 255;
    Segment made = segment("write", some_octets(16));
    made.offset = 500;
    one(made, input::writable, input::tagged_header);
    made.offset = ~std::uint64_t{0} - 7;
    one(made, input::writable, input::tagged_header);
    made.offset = 0;
    for (const auto name : {input::readable, input::foreign, input::local}) one(made, name, input::tagged_header);
    made.ddp_version = 2;
    one(made, input::writable, input::tagged_header);
    for (const std::uint32_t queue : {1u, 4u}) {
        made = segment("send", some_octets(8));
        made.queue = queue;
        one(made, input::local, nowhere);
    }
    made = segment("send", some_octets(200));
    one(made, input::local, nowhere);
    made = segment("send", some_octets(8), 7);
    one(made, input::local, nowhere);
    made = segment("send", some_octets(8));
    made.message_offset = 5;
    one(made, input::local, nowhere);
    made.opcode = 13;
    one(made, input::local, nowhere);
    made = segment("send", some_octets(8));
    made.rdmap_version = 3;
    one(made, input::local, nowhere);
    one(segment("immediate", some_octets(7)), input::local, nowhere);
    one(segment("read_response", some_octets(8)), input::local, input::tagged_header);
    for (const auto name : {input::writable, input::foreign, input::readable})
        one(segment("read_request", read_request(513)), name, input::read_source);
    one(segment("read_request", read_request(8, ~std::uint64_t{0} - 3)), input::readable, input::read_source);
    script::AtomicRequest add;
    add.offset = 4;
    one(segment("atomic_request", script::encode(add)), input::atomic, input::atomic_target);
    one(segment("terminate", script::from_hex("1101c00000168040000000050000000000000006")), input::local, nowhere);
}

void start_frames(Writer& writer) {
    script::StartFrame frame;
    frame.private_data = some_octets(30);
    int number = 0;
    const auto one = [&](std::uint8_t choices) {
        if ((choices & input::initiator) != 0) frame.key = "MPA ID Rep Frame";
        writer.begin(choices, 3);
        writer.plain(input::start, text_of(script::encode(frame)).substr(16));
        writer.sends(segment("write", {}));
        writer.sends(segment("send", some_octets(8)));
        writer.end("start-" + std::to_string(++number));
    };
    one(input::crc);
    frame.markers = true;
    one(input::crc | input::stack_markers);
    frame.revision = 1;
    one(0);
    frame.revision = 2;
    frame.peer_to_peer = frame.read = true;
    one(input::crc | input::initiator | input::peer_to_peer);
    frame.rejected = true;
    one(input::initiator);
    frame.rejected = false;
    frame.length = 513;
    one(input::crc);
}

}  // namespace

void write_iwarp_seeds(const std::filesystem::path& folder) {
    Writer writer(folder);
    const std::uint8_t usual = input::crc | input::strict;
    int number = 0;
    for (const int more :
         {0, int{input::initiator}, int{input::stack_markers}, int{input::peer_markers}, int{input::shared_receives},
          int{input::plain}, int{input::peer_to_peer}, int{input::initiator} | int{input::peer_to_peer}}) {
        const auto choices = static_cast<std::uint8_t>(usual ^ more);
        ++number;
        writes_and_sends(writer, choices, 0, "sends-" + std::to_string(number));
        writes_and_sends(writer, static_cast<std::uint8_t>(more), 11, "sends-cut-" + std::to_string(number));
        reads_and_atomics(writer, choices, "reads-" + std::to_string(number));
    }
    invalidations(writer);
    excesses(writer);
    violations(writer);
    start_frames(writer);
}

}  // namespace fuzz
