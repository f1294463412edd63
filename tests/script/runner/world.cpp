#include "tests/script/runner/world.h"

#include <limits>
#include <utility>

#include "iwarp/verbs/device.h"

namespace script {
namespace {

template <class Map>
auto& find(Map& map, const std::string& name, const char* what) {
    const auto found = map.find(name);
    if (found == map.end()) throw Failure(std::string("there is no ") + what + " '" + name + "'");
    return found->second;
}

}  // namespace

std::uint32_t Memory::stag() const { return region ? region->stag() : window ? window->stag() : 0; }

std::uint64_t Memory::first_offset() const {
    if (window) return window_offset;
    if (region) return region->first_offset();
    return octets ? reinterpret_cast<std::uintptr_t>(octets->octets().data()) : 0;
}

View Slice::octets() const {
    if (!memory->octets) throw Failure(name + " has no memory of its own");
    const auto all = memory->octets->octets();
    if (first > all.size() || length > all.size() - first) throw Failure("that is beyond the end of " + name);
    return all.subspan(first, length);
}

iwarp::Sge Slice::sge() const {
    std::byte* base = nullptr;
    if (memory->octets)
        base = memory->octets->octets().data();
    else if (memory->region)
        base = memory->region->address();
    // Slices outside are allowed: the stack is to notice.
    const auto address = reinterpret_cast<std::uintptr_t>(base) + first;
    return {reinterpret_cast<std::byte*>(address), static_cast<std::uint32_t>(length), stag.value_or(memory->stag())};
}

void Connection::pull() {
    if (!peer) throw Failure("there is no connection yet");
    put(stream, peer->take());
}

void Connection::agree() {
    out.crc = in.crc = (ours && ours->crc) || (theirs && theirs->crc);
    out.markers = theirs && theirs->markers;
    in.markers = ours && ours->markers;
}

World::~World() {
    // What a peer might still write to is let go of before the memory is.
    request.reset();
    listener.reset();
    events.clear();
    connections.clear();
}

iwarp::transport::MemoryNetwork& World::network() {
    if (!network_) network_ = iwarp::transport::MemoryNetwork::make(impairment);
    return *network_;
}

iwarp::Device& World::device() {
    if (!device_) {
        network();
        device_ = iwarp::verbs::make_device(device_options, network_->attach("stack"));
    }
    return *device_;
}

Connection& World::connection() {
    if (current == nullptr) make_connection("a");
    return *current;
}

Connection& World::make_connection(const std::string& name) {
    auto& made = connections[name];
    if (made) throw Failure("there is a connection '" + name + "' already");
    made = std::make_unique<Connection>();
    made->name = name;
    current = made.get();
    return *made;
}

std::shared_ptr<iwarp::ProtectionDomain> World::domain(const std::string& number) {
    auto& domain = domains_[number];
    if (!domain) domain = device().allocate_protection_domain();
    return domain;
}

std::shared_ptr<iwarp::CompletionQueue> World::completion_queue(const std::string& name) {
    auto& queue = completion_queues[name];
    if (!queue) queue = device().create_completion_queue(256);
    return queue;
}

Memory& World::memory(const std::string& name) { return find(memories, name, "region"); }

void World::make_queue_pair(Words& words) {
    Connection& at = connection();
    if (at.queue_pair) throw Failure("the queue pair is there already");
    iwarp::QueuePairOptions options;
    for (const auto& [key, member] : {std::pair{"max_send", &iwarp::QueuePairOptions::max_send},
                                      {"max_receive", &iwarp::QueuePairOptions::max_receive},
                                      {"max_pieces", &iwarp::QueuePairOptions::max_pieces},
                                      {"max_inline", &iwarp::QueuePairOptions::max_inline}})
        if (const auto value = words.option(key)) options.*member = number32(*value);
    options.signal_all = words.choice("signal_all").value_or(false);
    const auto sends = completion_queue(words.option("send_cq").value_or("cq"));
    const auto receives = completion_queue(words.option("receive_cq").value_or("cq"));
    std::shared_ptr<iwarp::SharedReceiveQueue> shared;
    if (const auto name = words.option("srq")) shared = find(shared_queues, *name, "shared receive queue");
    at.queue_pair =
        device().create_queue_pair(domain(words.option("pd").value_or("1")), sends, receives, options, shared);
}

iwarp::QueuePair& World::queue_pair() {
    if (!connection().queue_pair) {
        Words none("");
        make_queue_pair(none);
    }
    return *connection().queue_pair;
}

World::Meaning World::meaning_of(std::string_view key) {
    if (key.ends_with("stag") || key.starts_with("invalidate")) return Meaning::stag;
    return key == "to" || key.ends_with("_to") ? Meaning::offset : Meaning::plain;
}

std::uint64_t World::number(const std::string& text, Meaning meaning) {
    const auto term = [&](const std::string& word) -> std::uint64_t {
        if (word.empty()) throw Failure("'" + text + "' is not a number");
        if (word[0] >= '0' && word[0] <= '9') return plain_number(word);
        if (word == "max32") return std::numeric_limits<std::uint32_t>::max();
        if (word == "max64") return std::numeric_limits<std::uint64_t>::max();
        if (const auto value = values.find(word); value != values.end()) return value->second;
        const auto dot = word.find('.');
        const Memory& found = memory(word.substr(0, dot));
        const std::string member = dot == std::string::npos ? "" : word.substr(dot + 1);
        if (member == "stag" || (member.empty() && meaning == Meaning::stag)) return found.stag();
        if (member == "to" || (member.empty() && meaning == Meaning::offset)) return found.first_offset();
        throw Failure("'" + word + "' needs .stag or .to here");
    };
    std::uint64_t result = 0;
    char operation = '+';
    std::size_t at = 0;
    while (true) {
        const std::size_t end = std::min(text.find_first_of("+-^", at), text.size());
        const std::uint64_t value = term(text.substr(at, end - at));
        result = operation == '+' ? result + value : operation == '-' ? result - value : result ^ value;
        if (end == text.size()) return result;
        operation = text[end];
        at = end + 1;
    }
}

std::uint32_t World::number32(const std::string& text, Meaning meaning) {
    const std::uint64_t value = number(text, meaning);
    if (value > std::numeric_limits<std::uint32_t>::max()) throw Failure("'" + text + "' has more than 32 bits");
    return static_cast<std::uint32_t>(value);
}

Octets World::data(const std::string& text) {
    Octets out;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        const std::string part = text.substr(at, end - at);
        at = end + 1;
        const auto after = [&](const char* prefix) { return part.substr(std::string_view(prefix).size()); };
        if (part.starts_with('\'') && part.ends_with('\'') && part.size() > 1) {
            for (const char c : part.substr(1, part.size() - 2)) put(out, static_cast<std::uint8_t>(c), 1);
        } else if (part.starts_with("ramp:")) {
            const auto count = number(after("ramp:"));
            for (std::uint64_t i = 0; i < count; ++i) put(out, i & 0xff, 1);
        } else if (part.starts_with("be32:")) {
            put(out, number(after("be32:")), 4);
        } else if (part.starts_with("be64:")) {
            put(out, number(after("be64:")), 8);
        } else if (part.ends_with(']') || memories.contains(part)) {
            put(out, slice(part).octets());
        } else if (const auto star = part.find('*'); star != std::string::npos) {
            const Octets once = from_hex(part.substr(star + 1));
            for (auto count = plain_number(part.substr(0, star)); count > 0; --count) put(out, once);
        } else {
            put(out, from_hex(part));
        }
    }
    return out;
}

Slice World::slice(const std::string& text) {
    Slice found;
    const std::string place = text.substr(0, text.find('@'));
    if (place.size() != text.size()) found.stag = number32(text.substr(place.size() + 1), Meaning::stag);
    const auto bracket = place.find('[');
    found.name = place.substr(0, bracket);
    found.memory = &memory(found.name);
    if (bracket == std::string::npos) {
        found.length = found.memory->octets ? found.memory->octets->octets().size() : 0;
        return found;
    }
    const auto dots = place.find("..", bracket);
    if (dots == std::string::npos || !place.ends_with(']')) throw Failure("'" + text + "' is not name[first..last]");
    found.first = number(place.substr(bracket + 1, dots - bracket - 1));
    found.length = number(place.substr(dots + 2, place.size() - dots - 3)) - found.first;
    return found;
}

iwarp::ConnectionOptions World::connection_options(Words& words) {
    iwarp::ConnectionOptions options;
    if (const auto value = words.option("revision")) options.revision = static_cast<std::uint8_t>(number(*value));
    for (const auto& [key, member] : {std::pair{"crc", &iwarp::ConnectionOptions::crc},
                                      {"markers", &iwarp::ConnectionOptions::markers},
                                      {"peer_to_peer", &iwarp::ConnectionOptions::peer_to_peer},
                                      {"align", &iwarp::ConnectionOptions::align},
                                      {"strict", &iwarp::ConnectionOptions::strict}})
        if (const auto value = words.choice(key)) options.*member = *value;
    if (const auto value = words.option("ird")) options.ird = static_cast<std::uint16_t>(number(*value));
    if (const auto value = words.option("ord")) options.ord = static_cast<std::uint16_t>(number(*value));
    if (const auto value = words.option("max_ulpdu")) options.max_ulpdu = number32(*value);
    for (const auto& [key, member] : {std::pair{"request_timeout", &iwarp::ConnectionOptions::request_timeout},
                                      {"reply_timeout", &iwarp::ConnectionOptions::reply_timeout},
                                      {"receive_patience", &iwarp::ConnectionOptions::receive_patience},
                                      {"connect_timeout", &iwarp::ConnectionOptions::connect_timeout},
                                      {"close_timeout", &iwarp::ConnectionOptions::close_timeout}})
        if (const auto value = words.option(key))
            options.*member = std::chrono::milliseconds(duration_ns(*value) / 1'000'000);
    if (const auto value = words.option("data")) options.private_data = data(*value);
    return options;
}

void World::run() {
    network().run();
    while (auto event = device().next_event()) {
        if (event->request) request = event->request;
        events.push_back(std::move(*event));
    }
}

void World::check_end() {
    run();
    for (const auto& [name, at] : connections) {
        if (!at->peer) continue;
        at->pull();
        if (!at->stream.empty())
            throw Failure("at the end: the stack sent " + hex(at->stream) + ", which no line expects");
        if (at->end_expected) continue;
        if (at->peer->peer_reset()) throw Failure("at the end: the stack reset the connection, which no line expects");
        if (at->peer->peer_closed() && !at->terminated)
            throw Failure("at the end: the stack closed the connection, which no line expects");
    }
    for (const auto& [name, queue] : completion_queues) {
        iwarp::Completion completion;
        while (queue->poll({&completion, 1}) == 1)
            if (completion.status != iwarp::Status::flushed)
                throw Failure("at the end: work request " + std::to_string(completion.id) + " completed (status " +
                              std::to_string(static_cast<int>(completion.status)) + "), which no line expects");
    }
    for (const auto& [name, memory] : memories) {
        if (!memory.octets) continue;
        const std::string change = memory.octets->unexpected_change();
        if (!change.empty()) throw Failure("at the end: " + name + " changed, " + change);
    }
}

}  // namespace script
