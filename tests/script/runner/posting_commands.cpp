#include <array>
#include <utility>

#include "tests/script/runner/steps.h"

namespace script {
namespace {

constexpr std::pair<const char*, iwarp::Posted> outcomes[] = {
    {"ok", iwarp::Posted::ok},
    {"queue_full", iwarp::Posted::queue_full},
    {"wrong_state", iwarp::Posted::wrong_state},
    {"too_many_pieces", iwarp::Posted::too_many_pieces},
    {"too_long", iwarp::Posted::too_long},
    {"invalid", iwarp::Posted::invalid},
};
constexpr std::pair<const char*, iwarp::Operation> operations[] = {
    {"send", iwarp::Operation::send},
    {"write", iwarp::Operation::write},
    {"write_immediate", iwarp::Operation::write_immediate},
    {"immediate", iwarp::Operation::immediate},
    {"read", iwarp::Operation::read},
    {"fetch_add", iwarp::Operation::fetch_add},
    {"compare_swap", iwarp::Operation::compare_swap},
    {"bind", iwarp::Operation::bind_window},
    {"register", iwarp::Operation::register_region},
    {"local_invalidate", iwarp::Operation::local_invalidate},
};

const char* word_of(iwarp::Posted posted) {
    for (const auto& [name, value] : outcomes)
        if (value == posted) return name;
    return "?";
}

void check_posted(const std::string& wanted, iwarp::Posted got) {
    if (wanted != word_of(got)) throw Failure(std::string("the post gave ") + word_of(got) + ", not " + wanted);
}

std::vector<Slice> pieces_of(World& world, Words& words) {
    std::vector<Slice> slices;
    while (!words.empty()) slices.push_back(world.slice(words.next("a place")));
    return slices;
}
std::vector<iwarp::Sge> sges_of(const std::vector<Slice>& slices) {
    std::vector<iwarp::Sge> sges;
    for (const Slice& slice : slices) sges.push_back(slice.sge());
    return sges;
}

void post_receive(World& world, Words& words, std::uint64_t id, const std::string& wanted) {
    const auto shared = words.option("srq");
    const std::vector<Slice> slices = pieces_of(world, words);
    const std::vector<iwarp::Sge> sges = sges_of(slices);
    iwarp::ReceiveRequest request;
    request.id = id;
    request.pieces = sges;
    if (shared) {
        const auto found = world.shared_queues.find(*shared);
        if (found == world.shared_queues.end()) throw Failure("there is no shared receive queue '" + *shared + "'");
        check_posted(wanted, found->second->post_receive(request));
        world.shared_receives[id] = slices;
    } else {
        check_posted(wanted, world.queue_pair().post_receive(request));
        world.connection().receives[id] = slices;
    }
    world.run();
}

/// The range that a bind or a fast registration is about.
void read_local(World& world, Words& words, iwarp::SendRequest& request) {
    Memory* changed = nullptr;
    if (const auto name = words.option("window")) {
        changed = &world.memory(*name);
        request.window = changed->window.get();
    }
    if (const auto name = words.option("region")) {
        changed = &world.memory(*name);
        request.region = changed->region.get();
    }
    if (const auto text = words.option("place")) {
        const Slice place = world.slice(*text);
        const iwarp::Sge piece = place.sge();
        request.address = piece.address;
        request.length = place.length;
        if (request.window != nullptr) request.region = place.memory->region.get();
        request.access = request.window != nullptr ? access_of(words) : region_access(words);
        if (changed != nullptr)
            changed->window_offset = permits(request.access, iwarp::Access::zero_based)
                                         ? 0
                                         : reinterpret_cast<std::uintptr_t>(piece.address);
    }
}

void post(World& world, Words& words) {
    const std::string what = words.next("an operation");
    const auto id = world.number(words.next("an identifier"));
    const std::string wanted = words.option("gives").value_or("ok");
    if (what == "receive") return post_receive(world, words, id, wanted);

    iwarp::SendRequest request;
    request.id = id;
    const auto* found = std::begin(operations);
    while (found != std::end(operations) && found->first != what) ++found;
    if (found == std::end(operations)) throw Failure("there is no operation '" + what + "'");
    request.operation = found->second;
    request.signalled = !words.flag("unsignalled");
    request.solicited = words.flag("solicited");
    request.fence = words.flag("fence");
    request.inline_data = words.flag("inline");
    request.invalidate = words.flag("invalidating");
    if (const auto value = words.option("invalidate")) {
        request.invalidate = what != "local_invalidate";
        request.invalidate_stag = world.number32(*value, World::Meaning::stag);
    }
    const auto number = [&](const char* key, std::uint64_t& member) {
        if (const auto value = words.option(key)) member = world.number(*value, World::meaning_of(key));
    };
    if (const auto value = words.option("stag")) request.remote_stag = world.number32(*value, World::Meaning::stag);
    number("to", request.remote_offset);
    number("immediate", request.immediate);
    number("operand", request.operand);
    number("compare", request.compare);
    number("compare_mask", request.compare_mask);
    if (const auto value = words.option("mask")) request.operand_mask = world.number(*value);
    read_local(world, words, request);
    const bool quietly = words.flag("hold");
    const std::vector<Slice> slices = pieces_of(world, words);
    const std::vector<iwarp::Sge> sges = sges_of(slices);
    request.pieces = sges;
    if (!slices.empty()) world.connection().sinks[id] = slices.front();
    check_posted(wanted, world.queue_pair().post_send(request));
    if (!quietly) world.run();
}

}  // namespace

void add_posting_steps(Steps& steps) { steps["post"] = post; }

}  // namespace script
