#include "tests/script/runner/steps.h"

namespace script {
namespace {

constexpr std::uint16_t stack_port = 4791;
constexpr std::uint16_t peer_port = 4792;

void listen(World& world, Words& words) {
    const iwarp::ConnectionOptions options = world.connection_options(words);
    const int backlog = static_cast<int>(world.number(words.option("backlog").value_or("16")));
    world.listener = world.device().listen("stack", stack_port, options, backlog);
}

void unlisten(World& world, Words&) {
    world.listener.reset();
    world.run();
}

Connection& connection_of(World& world, Words& words) {
    if (const auto name = words.option("as")) return world.make_connection(*name);
    return world.connection();
}

/// TCP's connection from the peer to the stack.
void peer_connects(World& world, Words& words) {
    Connection& at = connection_of(world, words);
    at.peer = world.network().connect_raw("stack", stack_port);
    at.stack_initiates = false;
    world.run();
}

void peer_accepts(World& world, Connection& at) {
    at.peer = world.network().accept_raw("peer", peer_port);
    if (!at.peer) throw Failure("the stack did not connect");
}

void connect(World& world, Words& words) {
    if (const auto name = words.option("as")) world.make_connection(*name);
    Connection& at = world.connection();
    const std::string host = words.option("host").value_or("peer");
    const iwarp::ConnectionOptions options = world.connection_options(words);
    words.finish();
    if (host == "peer") world.network().listen_raw("peer", peer_port);
    at.stack_initiates = true;
    world.queue_pair().connect(host, peer_port, options);
    world.run();
    if (host == "peer") peer_accepts(world, at);
}

void accept(World& world, Words& words) {
    if (!world.request) throw Failure("there is no request to accept");
    const iwarp::ConnectionOptions options = world.connection_options(words);
    world.queue_pair();
    world.request->accept(world.connection().queue_pair, options);
    world.request.reset();
    for (auto& event : world.events) event.request.reset();
    world.run();
}

void reject(World& world, Words& words) {
    if (!world.request) throw Failure("there is no request to reject");
    world.request->reject(world.data(words.option("data").value_or("")));
    world.request.reset();
    for (auto& event : world.events) event.request.reset();
    world.run();
}

/// A connection with everything that its making takes: `begin responder` and `begin initiator` say the stack's part;
/// words that begin with `peer.` are the peer's start frame.
void begin(World& world, Words& words) {
    const std::string part = words.next("responder or initiator");
    const auto name = words.option("as");
    Connection& at = name || world.current == nullptr ? world.make_connection(name.value_or("a")) : world.connection();
    Words peers = words.with_prefix("peer.");
    const bool open = words.flag("open");
    if (!at.queue_pair) world.make_queue_pair(words);
    const iwarp::ConnectionOptions options = world.connection_options(words);
    words.finish();
    StartFrame frame;
    if (part == "responder") {
        if (!world.listener) world.listener = world.device().listen("stack", stack_port, options);
        at.peer = world.network().connect_raw("stack", stack_port);
        world.run();
        read_start_frame(world, peers, frame);
        peer_sends_start(world, at, frame, 0);
        take_event(world, iwarp::Event::Kind::connect_request);
        world.request->accept(at.queue_pair, options);
        world.request.reset();
        world.run();
        const StartFrame reply = expect_start_frame(at);
        if (!reply.reply() || reply.rejected) throw Failure("the stack answered " + show(reply));
    } else if (part == "initiator") {
        at.stack_initiates = true;
        world.network().listen_raw("peer", peer_port);
        at.queue_pair->connect("peer", peer_port, options);
        world.run();
        peer_accepts(world, at);
        const StartFrame request = expect_start_frame(at);
        frame.key = "MPA ID Rep Frame";
        frame.revision = request.revision;
        frame.enhanced = request.enhanced;
        read_start_frame(world, peers, frame);
        peer_sends_start(world, at, frame, 0);
    } else {
        throw Failure("one begins as responder or initiator, not '" + part + "'");
    }
    take_event(world, iwarp::Event::Kind::established);
    if (open) peer_sends_write(world, at);
}

void use(World& world, Words& words) {
    const std::string name = words.next("a connection's name");
    const auto found = world.connections.find(name);
    if (found == world.connections.end()) throw Failure("there is no connection '" + name + "'");
    world.current = found->second.get();
}

void disconnect(World& world, Words&) {
    world.queue_pair().disconnect();
    world.run();
}

void abort_connection(World& world, Words&) {
    world.queue_pair().abort();
    world.run();
}

void reset(World& world, Words&) { world.queue_pair().reset(); }

void drop(World& world, Words& words) {
    const std::string what = words.next("qp or srq");
    if (what == "qp")
        world.connection().queue_pair.reset();
    else
        world.shared_queues.erase(what);
    world.run();
}

}  // namespace

void add_connection_steps(Steps& steps) {
    steps["listen"] = listen;
    steps["unlisten"] = unlisten;
    steps["peer_connects"] = peer_connects;
    steps["connect"] = connect;
    steps["accept"] = accept;
    steps["reject"] = reject;
    steps["begin"] = begin;
    steps["use"] = use;
    steps["disconnect"] = disconnect;
    steps["abort"] = abort_connection;
    steps["reset"] = reset;
    steps["drop"] = drop;
}

}  // namespace script
