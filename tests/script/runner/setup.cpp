#include <algorithm>
#include <iterator>

#include "tests/script/runner/steps.h"

namespace script {
namespace {

struct Right {
    const char* name;
    iwarp::Access access;
};
constexpr Right rights[] = {

    {"remote_read", iwarp::Access::remote_read},     {"remote_write", iwarp::Access::remote_write},
    {"remote_atomic", iwarp::Access::remote_atomic}, {"bind", iwarp::Access::bind},
    {"zero_based", iwarp::Access::zero_based},
};

Memory& new_memory(World& world, const std::string& name) {
    Memory& memory = world.memories[name];
    if (memory.octets || memory.region || memory.window) throw Failure("there is a '" + name + "' already");
    return memory;
}

void device(World& world, Words& words) {
    world.device_options.privileged = words.flag("privileged");
    if (const auto value = words.option("max_regions")) world.device_options.max_regions = world.number(*value);
    if (const auto value = words.option("max_queue_pairs")) world.device_options.max_queue_pairs = world.number(*value);
    if (const auto value = words.option("max_connections")) world.device_options.max_connections = world.number(*value);
}

void network(World& world, Words& words) {
    auto& impairment = world.impairment;
    if (const auto value = words.option("chunk")) impairment.chunk = world.number(*value);
    impairment.random_chunks = words.flag("random");
    if (const auto value = words.option("seed")) impairment.seed = world.number(*value);
    if (const auto value = words.option("emss")) impairment.emss = world.number32(*value);
    if (const auto value = words.option("window")) impairment.window = world.number(*value);
    if (const auto value = words.option("delay")) impairment.delay_ns = duration_ns(*value);
}

void memory(World& world, Words& words) {
    const std::string name = words.next("a name");
    const auto size = world.number(words.next("a size"));
    new_memory(world, name).octets = std::make_shared<GuardedMemory>(size, words.flag("low"));
}

void region(World& world, Words& words) {
    const std::string name = words.next("a name");
    const auto size = world.number(words.next("a size"));
    const auto domain = world.domain(words.option("pd").value_or("1"));
    Memory made;
    made.octets = std::make_shared<GuardedMemory>(size, words.flag("low"));
    made.region = domain->register_memory(made.octets->octets(), region_access(words));
    new_memory(world, name) = made;
}

/// Another region over memory that is there already.
void alias(World& world, Words& words) {
    const std::string name = words.next("a name");
    const Slice place = world.slice(words.next("a place"));
    const auto domain = world.domain(words.option("pd").value_or("1"));
    Memory made;
    made.octets = place.memory->octets;
    if (place.first != 0) throw Failure("an alias begins where the memory does");
    made.region = domain->register_memory(made.octets->octets().first(place.length), region_access(words));
    new_memory(world, name) = made;
}

void fast(World& world, Words& words) {
    const std::string name = words.next("a name");
    const auto size = world.number(words.next("a size"));
    Memory made;
    made.region = world.domain(words.option("pd").value_or("1"))->allocate_region(size);
    new_memory(world, name) = made;
}

void window(World& world, Words& words) {
    const std::string name = words.next("a name");
    const auto type = static_cast<int>(world.number(words.next("1 or 2")));
    Memory made;
    made.window = world.domain(words.option("pd").value_or("1"))->allocate_window(type);
    new_memory(world, name) = made;
}

void deregister(World& world, Words& words) {
    Memory& memory = world.memory(words.next("a name"));
    memory.region.reset();
    memory.window.reset();
}

/// `reregister a over=b[0..64] remote_write`: the handle of a, the memory of b.
void reregister(World& world, Words& words) {
    Memory& memory = world.memory(words.next("a name"));
    if (const auto place = words.option("over")) {
        const Slice over = world.slice(*place);
        memory.region->reregister(over.memory->octets->octets().subspan(over.first, over.length), region_access(words));
        memory.octets = over.memory->octets;
    } else {
        memory.region->reregister(memory.octets->octets(), region_access(words));
    }
}

void renew_key(World& world, Words& words) {
    Memory& memory = world.memory(words.next("a name"));
    memory.region->renew_key(static_cast<std::uint8_t>(world.number(words.next("a key"))));
}

/// Type 1, by call.
void bind(World& world, Words& words) {
    Memory& memory = world.memory(words.next("a window"));
    const Slice place = world.slice(words.next("a place"));
    const bool refused = words.flag("refused");
    const iwarp::Access access = access_of(words);
    const iwarp::Sge piece = place.sge();
    const bool bound = memory.window->bind(*place.memory->region, piece.address, place.length, access);
    if (bound == refused) throw Failure(bound ? "the window was bound" : "the window was not bound");
    memory.window_offset =
        permits(access, iwarp::Access::zero_based) ? 0 : reinterpret_cast<std::uintptr_t>(piece.address);
}

void let(World& world, Words& words) {
    const std::string name = words.next("a name");
    world.values[name] = world.number(words.next("a value"));
}

/// The user writes into its memory.
void fill(World& world, Words& words) {
    const Slice place = world.slice(words.next("a place"));
    const Octets octets = world.data(words.next("octets"));
    if (octets.size() != place.length) throw Failure("those are " + std::to_string(octets.size()) + " octets");
    place.memory->octets->write(place.first, octets);
}

void cq(World& world, Words& words) {
    const std::string name = words.next("a name");
    const auto capacity = world.number(words.next("a capacity"));
    world.completion_queues[name] = world.device().create_completion_queue(capacity);
}

void srq(World& world, Words& words) {
    const std::string name = words.next("a name");
    const auto size = world.number32(words.next("a size"));
    world.shared_queues[name] =
        world.device().create_shared_receive_queue(world.domain(words.option("pd").value_or("1")), size);
}

void queue_pair(World& world, Words& words) {
    if (const auto name = words.option("as")) world.make_connection(*name);
    world.make_queue_pair(words);
}

void resize(World& world, Words& words) {
    const std::string what = words.next("cq, srq or qp");
    if (what == "qp") {
        const auto send = world.number32(words.next("a number of sends"));
        world.queue_pair().resize(send, world.number32(words.next("a number of receives")));
    } else if (what == "cq") {
        const auto queue = world.completion_queue(words.next("a name"));
        queue->resize(world.number(words.next("a capacity")));
    } else {
        const auto& queue = world.shared_queues.at(words.next("a name"));
        queue->resize(world.number32(words.next("a size")));
    }
}

void arm(World& world, Words& words) {
    const auto& queue = world.shared_queues.at(words.next("a shared receive queue"));
    queue->arm_limit(world.number32(words.next("a limit")));
}

void notify(World& world, Words& words) {
    world.completion_queue(words.next("a completion queue"))->request_event(words.flag("solicited"));
}

void advance(World& world, Words& words) {
    const std::int64_t until = world.network().now_ns() + duration_ns(words.next("a time"));
    // In steps, so that what becomes due on the way happens in its turn.
    world.run();
    while (world.network().now_ns() < until) {
        const std::int64_t left = until - world.network().now_ns();
        world.network().advance(std::min<std::int64_t>(left, 50'000'000));
        world.run();
    }
}

}  // namespace

iwarp::Access access_of(Words& words) {
    iwarp::Access access = iwarp::Access::none;
    for (const Right& right : rights)
        if (words.flag(right.name)) access = access | right.access;
    return access;
}

iwarp::Access region_access(Words& words) {
    // Nearly all memory is the user's to write: only the exception is worth a word.
    const bool plain = words.flag("no_local_write");
    return access_of(words) | (plain ? iwarp::Access::none : iwarp::Access::local_write);
}

void add_setup_steps(Steps& steps) {
    steps["device"] = device;
    steps["network"] = network;
    steps["memory"] = memory;
    steps["region"] = region;
    steps["alias"] = alias;
    steps["fast"] = fast;
    steps["window"] = window;
    steps["deregister"] = deregister;
    steps["reregister"] = reregister;
    steps["renew_key"] = renew_key;
    steps["bind"] = bind;
    steps["let"] = let;
    steps["fill"] = fill;
    steps["cq"] = cq;
    steps["srq"] = srq;
    steps["queue_pair"] = queue_pair;
    steps["resize"] = resize;
    steps["arm"] = arm;
    steps["notify"] = notify;
    steps["advance"] = advance;
}

}  // namespace script
