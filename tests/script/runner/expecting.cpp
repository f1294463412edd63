#include <algorithm>
#include <utility>

#include "tests/script/runner/steps.h"

namespace script {
namespace {

using iwarp::CompletedOperation;
using iwarp::Status;
using EventKind = iwarp::Event::Kind;

constexpr std::pair<const char*, Status> statuses[] = {
    {"success", Status::success},
    {"local_length", Status::local_length},
    {"local_protection", Status::local_protection},
    {"flushed", Status::flushed},
    {"window_bind", Status::window_bind},
    {"remote_access", Status::remote_access},
    {"remote_invalid", Status::remote_invalid},
    {"remote_operation", Status::remote_operation},
    {"connection_lost", Status::connection_lost},
    {"fatal", Status::fatal},
};
constexpr std::pair<const char*, CompletedOperation> operations[] = {
    {"send", CompletedOperation::send},
    {"write", CompletedOperation::write},
    {"read", CompletedOperation::read},
    {"fetch_add", CompletedOperation::fetch_add},
    {"compare_swap", CompletedOperation::compare_swap},
    {"bind", CompletedOperation::bind_window},
    {"register", CompletedOperation::register_region},
    {"local_invalidate", CompletedOperation::local_invalidate},
    {"receive", CompletedOperation::receive},
    {"receive_immediate", CompletedOperation::receive_immediate},
};
constexpr std::pair<const char*, EventKind> events[] = {
    {"connect_request", EventKind::connect_request},
    {"established", EventKind::established},
    {"rejected", EventKind::rejected},
    {"connect_failed", EventKind::connect_failed},
    {"disconnected", EventKind::disconnected},
    {"terminated", EventKind::terminated},
    {"completion", EventKind::completion},
    {"completion_overflow", EventKind::completion_overflow},
    {"receive_limit", EventKind::receive_limit},
    {"communication_established", EventKind::communication_established},
};
constexpr std::pair<const char*, iwarp::QueuePairState> states[] = {
    {"idle", iwarp::QueuePairState::idle},       {"connected", iwarp::QueuePairState::connected},
    {"closing", iwarp::QueuePairState::closing}, {"terminating", iwarp::QueuePairState::terminating},
    {"error", iwarp::QueuePairState::error},
};

template <class Table, class Value>
std::string word_of(const Table& table, Value value) {
    for (const auto& [name, known] : table)
        if (known == value) return name;
    return "?";
}

std::string show(const iwarp::Completion& got) {
    std::string text = std::to_string(got.id) + " " + word_of(statuses, got.status) + " " +
                       word_of(operations, got.operation) + " len=" + std::to_string(got.length);
    if (got.solicited) text += " solicited";
    if (got.immediate) text += " immediate=" + hex_number(*got.immediate);
    if (got.invalidated_stag) text += " invalidated=" + hex_number(*got.invalidated_stag);
    return text;
}

/// The octets that a completion is about lie where they should.
bool data_lies(World& world, std::uint64_t id, const Octets& wanted) {
    Connection& at = world.connection();
    std::vector<Slice> places;
    if (at.receives.contains(id))
        places = at.receives[id];
    else if (world.shared_receives.contains(id))
        places = world.shared_receives[id];
    else if (at.sinks.contains(id))
        places = {at.sinks[id]};
    View rest(wanted);
    for (const Slice& place : places) {
        const std::size_t count = std::min<std::size_t>(rest.size(), place.length);
        const View got = place.octets().first(count);
        if (!std::equal(got.begin(), got.end(), rest.begin()))
            throw Failure("in " + place.name + " there is " + hex(got));
        place.memory->octets->accept(place.first, got);
        rest = rest.subspan(count);
    }
    return rest.empty();
}

void expect_completion(World& world, Words& words) {
    const auto queue = world.completion_queue(words.option("cq").value_or("cq"));
    const auto id = world.number(words.next("a work request's identifier"));
    iwarp::Completion got;
    if (queue->poll({&got, 1}) == 0) throw Failure("nothing has completed");
    bool right = got.id == id;
    Status status = Status::success;
    const auto immediate = words.option("immediate");
    const auto invalidated = words.option("invalidated");
    const auto length = words.option("len");
    const auto data = words.option("data");
    const bool solicited = words.flag("solicited");
    while (!words.empty()) {
        const std::string word = words.next("a status or an operation");
        const auto* known =
            std::find_if(std::begin(statuses), std::end(statuses), [&](const auto& row) { return row.first == word; });
        if (known != std::end(statuses))
            status = known->second;
        else
            right = right && word_of(operations, got.operation) == word;
    }
    right = right && got.status == status && got.solicited == solicited;
    right = right && got.immediate.has_value() == immediate.has_value() &&
            (!immediate || *got.immediate == world.number(*immediate));
    right = right && got.invalidated_stag.has_value() == invalidated.has_value() &&
            (!invalidated || *got.invalidated_stag == world.number(*invalidated, World::Meaning::stag));
    right = right && (!length || got.length == world.number(*length));
    if (!right) throw Failure("got: " + show(got));
    if (data) {
        const Octets wanted = world.data(*data);
        if (wanted.size() != got.length || !data_lies(world, id, wanted)) throw Failure("got: " + show(got));
    }
}

void expect_event(World& world, Words& words) {
    const EventKind kind = event_kind(words.next("an event"));
    const iwarp::Event event = take_event(world, kind);
    if (const auto data = words.option("data"))
        if (world.data(*data) != event.private_data) throw Failure("its private data is " + hex(event.private_data));
    if (const auto text = words.option("text")) {
        const std::string wanted = text->substr(1, text->size() - 2);
        if (event.text.find(wanted) == std::string::npos) throw Failure("its text is '" + event.text + "'");
    } else if (kind == EventKind::connect_failed && event.text.empty()) {
        throw Failure("it does not say why");
    }
    if (kind == EventKind::connect_request) {
        for (const auto& [key, got] : {std::pair{"ird", event.request->ird()}, {"ord", event.request->ord()}})
            if (const auto value = words.option(key); value && world.number(*value) != got)
                throw Failure(std::string("its ") + key + " is " + std::to_string(got));
        if (const auto value = words.choice("peer_to_peer"); value && *value != event.request->peer_to_peer())
            throw Failure("its peer_to_peer is otherwise");
        if (const auto data = words.option("private")) {
            const auto got = event.request->private_data();
            if (world.data(*data) != Octets(got.begin(), got.end())) throw Failure("its private data is " + hex(got));
        }
    }
    if (kind == EventKind::established || kind == EventKind::rejected)
        for (const auto& [key, got] : {std::pair{"ird", event.ird}, {"ord", event.ord}})
            if (const auto value = words.option(key); value && world.number(*value) != got)
                throw Failure(std::string("its ") + key + " is " + std::to_string(got));
    if (kind == EventKind::terminated) {
        const bool ours = words.flag("sent");
        const auto code = terminate_code(words.next("layer/type/code"));
        if (!event.terminate) throw Failure("it does not say which Terminate");
        const auto& got = *event.terminate;
        if (got.sent_by_us != ours || code != std::array<unsigned, 3>{got.layer, got.type, got.code})
            throw Failure("got: " + std::to_string(got.layer) + "/" + std::to_string(got.type) + "/" +
                          hex(Octets{static_cast<std::byte>(got.code)}) + (got.sent_by_us ? ", sent" : ", received"));
        if (got.text.empty()) throw Failure("it has no words");
    }
}

void expect_none(World& world, Words& words) {
    const std::string what = words.next("completion or event");
    if (what == "completion") {
        const auto name = words.option("cq").value_or("cq");
        iwarp::Completion got;
        if (world.completion_queue(name)->poll({&got, 1}) != 0) throw Failure("got: " + show(got));
        return;
    }
    const EventKind kind = event_kind(words.next("an event"));
    for (const auto& event : world.events)
        if (event.kind == kind) throw Failure("there is one");
}

void expect_agreement(World& world, Words& words) {
    const auto got = world.queue_pair().agreement();
    if (!got) throw Failure("nothing is agreed");
    for (const auto& [key, value] : {std::pair<const char*, std::uint64_t>{"revision", got->revision},
                                     {"ird", got->ird},
                                     {"ord", got->ord},
                                     {"max_ulpdu", got->max_ulpdu}})
        if (const auto wanted = words.option(key); wanted && world.number(*wanted) != value)
            throw Failure(std::string(key) + " is " + std::to_string(value));
    for (const auto& [key, value] : {std::pair{"enhanced", got->enhanced},
                                     {"crc", got->crc},
                                     {"markers_sent", got->markers_sent},
                                     {"markers_received", got->markers_received},
                                     {"peer_to_peer", got->peer_to_peer}})
        if (const auto wanted = words.choice(key); wanted && *wanted != value)
            throw Failure(std::string(key) + (value ? " is on" : " is off"));
}

void expect_counter(World& world, Words& words) {
    const auto& device = world.device().counters();
    std::vector<std::pair<const char*, std::uint64_t>> all{{"connections_opened", device.connections_opened},
                                                           {"connections_refused", device.connections_refused},
                                                           {"handshakes_failed", device.handshakes_failed},
                                                           {"terminates_sent", device.terminates_sent},
                                                           {"terminates_received", device.terminates_received}};
    if (world.current != nullptr && world.current->queue_pair) {
        const auto& own = world.current->queue_pair->counters();
        const std::pair<const char*, std::uint64_t> more[] = {{"fpdus_sent", own.fpdus_sent},
                                                              {"fpdus_received", own.fpdus_received},
                                                              {"payload_octets_sent", own.payload_octets_sent},
                                                              {"payload_octets_received", own.payload_octets_received},
                                                              {"crc_errors", own.crc_errors},
                                                              {"reads_served", own.reads_served}};
        all.insert(all.end(), std::begin(more), std::end(more));
    }
    for (const auto& [key, value] : all)
        if (const auto wanted = words.option(key); wanted && world.number(*wanted) != value)
            throw Failure(std::string(key) + " is " + std::to_string(value));
}

void expect_memory(World& world, Words& words) {
    const Slice place = world.slice(words.next("a place"));
    const Octets wanted = world.data(words.next("octets"));
    const View got = place.octets();
    if (!std::equal(got.begin(), got.end(), wanted.begin(), wanted.end())) throw Failure("there is " + hex(got));
    place.memory->octets->accept(place.first, got);
}

void expect_end(World& world, const std::string& how) {
    Connection& at = world.connection();
    if (!at.peer) throw Failure("there is no connection");
    at.pull();
    if (!at.stream.empty()) throw Failure("before that the stack sent " + hex(at.stream));
    const bool reset = at.peer->peer_reset();
    const bool closed = at.peer->peer_closed();
    if (how == "open") {
        if (reset || closed) throw Failure(reset ? "the connection was reset" : "the stack has closed the connection");
        return;
    }
    const bool right = how == "closed" ? closed || reset : how == "reset" ? reset : closed && !reset;
    if (!right)
        throw Failure(reset ? "the connection was reset" : closed ? "the stack sent FIN" : "the connection is open");
    at.end_expected = true;
}

void expect_silence(World& world) {
    Connection& at = world.connection();
    at.pull();
    if (!at.stream.empty()) throw Failure("the stack sent " + hex(at.stream));
}

/// What comes next, to the octet; a line of `>` still takes it.
void expect_octets(World& world, Words& words) {
    Connection& at = world.connection();
    at.pull();
    const Octets wanted = world.data(words.next("octets"));
    const View got = View(at.stream).first(std::min(at.stream.size(), wanted.size()));
    if (!std::equal(got.begin(), got.end(), wanted.begin(), wanted.end())) throw Failure("got: " + hex(got, 200));
}

void expect_validity(World& world, Words& words, bool wanted) {
    const Memory& memory = world.memory(words.next("a region or window"));
    if ((memory.region ? memory.region->valid() : memory.window->valid()) != wanted)
        throw Failure(wanted ? "it is not valid" : "it is valid");
}

void expect(World& world, Words& words) {
    world.run();
    const std::string what = words.next("what is expected");
    if (what == "completion") return expect_completion(world, words);
    if (what == "event") return expect_event(world, words);
    if (what == "no") return expect_none(world, words);
    if (what == "agreement") return expect_agreement(world, words);
    if (what == "counter") return expect_counter(world, words);
    if (what == "memory") return expect_memory(world, words);
    if (what == "fin" || what == "reset" || what == "closed" || what == "open") return expect_end(world, what);
    if (what == "octets") return expect_octets(world, words);
    if (what == "silence") return expect_silence(world);
    if (what == "valid" || what == "invalid") return expect_validity(world, words, what == "valid");
    if (what == "state") {
        const auto got = word_of(states, world.queue_pair().state());
        if (got != words.next("a state")) throw Failure("the state is " + got);
        return;
    }
    if (what == "waiting") {
        const auto size = world.completion_queue(words.option("cq").value_or("cq"))->size();
        if (size != world.number(words.next("a number"))) throw Failure(std::to_string(size) + " completions wait");
        return;
    }
    if (what == "overflow") {
        if (!world.completion_queue(words.option("cq").value_or("cq"))->overflowed()) throw Failure("there was none");
        return;
    }
    throw Failure("nothing is known of expecting '" + what + "'");
}

}  // namespace

EventKind event_kind(const std::string& name) {
    for (const auto& [known, kind] : events)
        if (known == name) return kind;
    throw Failure("there is no event '" + name + "'");
}

std::string_view event_word(EventKind kind) {
    for (const auto& [name, known] : events)
        if (known == kind) return name;
    return "?";
}

iwarp::Event take_event(World& world, EventKind kind) {
    world.run();
    auto found = std::find_if(world.events.begin(), world.events.end(),
                              [kind](const iwarp::Event& event) { return event.kind == kind; });
    if (found == world.events.end()) {
        std::string others;
        for (const auto& event : world.events) {
            others += (others.empty() ? "; there is " : ", ") + std::string(event_word(event.kind));
            if (!event.text.empty()) others += " '" + event.text + "'";
        }
        throw Failure("there is no event " + std::string(event_word(kind)) + others);
    }
    iwarp::Event event = std::move(*found);
    world.events.erase(found);
    return event;
}

void add_expect_steps(Steps& steps) { steps["expect"] = expect; }

}  // namespace script
