#include "tests/model/scenarios.h"

#include <cstdlib>

namespace model {
namespace {

using metrics::Operation;

constexpr Work write(std::uint32_t bytes) { return {Operation::write, bytes}; }
constexpr Work send(std::uint32_t bytes) { return {Operation::send, bytes}; }
constexpr Work read(std::uint32_t bytes) { return {Operation::read, bytes}; }

Application posting(std::vector<Work> mix, std::uint64_t messages, std::uint32_t depth) {
    Application application;
    application.mix = std::move(mix);
    application.messages = messages;
    application.depth = depth;
    return application;
}

Plan one_sided(Application application) {
    Plan plan = pair_plan();
    plan.connections[0].a.application = std::move(application);
    return plan;
}

/// The window is smaller than what the round trip needs.
Plan window() { return one_sided(posting({write(4096)}, 1500, 2)); }
/// Far away, several messages at once.
Plan deep_window() {
    Plan plan = one_sided(posting({write(4096)}, 2000, 8));
    plan.hosts[0].delay_ns = plan.hosts[1].delay_ns = 10'000;
    return plan;
}
/// One ACK for several messages.
Plan coalesced() {
    Plan plan = one_sided(posting({write(4096)}, 2000, 8));
    plan.connections[0].b.adapter.ack_messages = 4;
    return plan;
}
Plan line_rate() { return one_sided(posting({write(65536)}, 100, 32)); }

Plan idle() {
    Application application = posting({send(2048)}, 1200, 64);
    application.burst = 4;
    application.think_ns = 60'000;
    return one_sided(application);
}

Plan in_flight() {
    Application application = posting({write(1024)}, 3000, 64);
    application.burst = 1;
    application.think_ns = 1500;
    return one_sided(application);
}

/// A client that asks, a server that answers, one question at a time.
Plan request_reply() {
    Application client = posting({send(512)}, 1500, 4);
    client.burst = 1;
    client.waits = true;
    Application server = posting({send(1024)}, 1500, 4);
    server.answers = true;
    Plan plan = one_sided(client);
    plan.connections[0].b.application = server;
    return plan;
}

Plan reads() {
    Plan plan = one_sided(posting({read(4096)}, 1200, 32));
    plan.connections[0].a.adapter.read_depth = 2;
    plan.connections[0].b.adapter.read_ns = 3000;
    return plan;
}

/// Responses are lost, the first, second, third and last of a READ in turn; the requester sees the hole and asks for
/// the rest again, without any NAK.
Plan read_losses() {
    Plan plan = reads();
    for (std::uint32_t i = 10; i < 1200; i += 20)
        plan.network.losses_behind.push_back({0, true, true, 4 * i + i / 20 % 4, 1});
    return plan;
}

/// The same where repeats are lost as well: each of those is lost twice, between the responder and the switch.
Plan read_losses_twice() {
    Plan plan = reads();
    for (std::uint32_t i = 10; i < 1200; i += 20)
        for (const std::uint32_t nth : {1u, 2u})
            plan.network.losses_before.push_back({0, true, true, 4 * i + i / 20 % 4, nth});
    return plan;
}

/// Responses are overtaken by others, and asked for again before they come.
Plan late_responses() {
    Plan plan = reads();
    plan.network.late_responses = 3000;
    plan.network.hold_ns = 1000;
    return plan;
}

/// Of READs that WRITEs follow, the last response is lost: the WRITE's acknowledgement shows that. What is not
/// acknowledged comes again, too.
Plan implied_naks() {
    Plan plan = one_sided(posting({read(3000), write(1024), read(1000), write(2000)}, 1200, 4));
    for (std::uint32_t i = 10; i < 300; i += 10)
        plan.network.losses_behind.push_back({0, true, true, 7 * i + (i / 10 % 2 == 0 ? 2u : 4u), 1});
    return plan;
}

Plan atomics() {
    Plan plan = one_sided(posting({{Operation::fetch_add, 8}, {Operation::compare_swap, 8}}, 3000, 16));
    plan.connections[0].a.adapter.read_depth = 4;
    return plan;
}

Plan mix() {
    return one_sided(posting({send(3000),
                              {Operation::send_immediate, 100},
                              {Operation::send_invalidate, 1025},
                              write(5000),
                              {Operation::write_immediate, 2048},
                              read(4096),
                              {Operation::fetch_add, 8},
                              write(0),
                              {Operation::write_immediate, 7},
                              read(10),
                              {Operation::compare_swap, 8}},
                             2200, 4));
}

Plan credits() {
    Plan plan = one_sided(posting({send(1024)}, 1500, 64));
    plan.connections[0].b.adapter.credits = true;
    plan.connections[0].b.adapter.receives = 2;
    plan.connections[0].b.adapter.repost_ns = 8000;
    return plan;
}

Plan rnr() {
    Plan plan = one_sided(posting({send(1024)}, 1000, 4));
    plan.connections[0].b.adapter.receives = 2;
    plan.connections[0].b.adapter.repost_ns = 9000;
    plan.connections[0].b.adapter.rnr_timer = 2;
    return plan;
}

/// Losses that the receiver notices by a later packet.
Plan loss_behind() {
    Plan plan = one_sided(posting({write(16384)}, 500, 16));
    plan.network.loss_behind = 4000;
    return plan;
}
Plan loss_before() {
    Plan plan = loss_behind();
    plan.network.loss_before = 4000;
    plan.network.loss_behind = 0;
    return plan;
}

/// Losses that stop a sender with a small window until the receiver has complained.
Plan nak_wait() {
    Plan plan = one_sided(posting({write(8192)}, 300, 1));
    for (std::uint32_t i = 6; i < 300; i += 3) plan.network.losses_behind.push_back({0, false, false, 8 * i + 3, 1});
    return plan;
}

/// The last packet of a lone message is lost: only the timer shows that.
Plan timeouts() {
    Application application = posting({write(2048)}, 400, 1);
    Plan plan = one_sided(application);
    for (std::uint32_t i = 5; i < 400; i += 10) plan.network.losses_behind.push_back({0, false, false, 2 * i + 1, 1});
    plan.connections[0].a.adapter.ack_timeout_ns = 4'194'304;
    return plan;
}

Plan link_shared() {
    Plan plan = pair_plan();
    plan.connections.clear();
    for (std::uint32_t i = 0; i < 4; ++i) {
        Connection connection = pair_plan().connections[0];
        connection.a.qpn = 0x100 + i;
        connection.b.qpn = 0x200 + i;
        connection.a.start_psn = 0x111111 * (i + 1);
        connection.seed = i + 1;
        connection.a.application = posting({write(262144)}, 12, 8);
        plan.connections.push_back(connection);
    }
    return plan;
}

/// A slower link after the switch marks; the sender slows down at the notifications.
Plan congestion() {
    Plan plan = one_sided(posting({write(262144)}, 50, 32));
    plan.hosts[1].down_bits_per_sec = 25'000'000'000;
    plan.network.mark_octets = 40'000;
    plan.connections[0].a.adapter.slows_down = true;
    return plan;
}

Plan stalls() {
    Plan plan = one_sided(posting({write(65536)}, 150, 8));
    plan.connections[0].a.adapter.stall_every = 8;
    plan.connections[0].a.adapter.stall_ns = 5000;
    return plan;
}

Plan pauses() {
    Plan plan = one_sided(posting({write(1048576)}, 8, 4));
    for (std::int64_t at = 30'000; at < 1'500'000; at += 50'000) plan.hosts[0].pauses.push_back({at, 6000});
    return plan;
}

Plan reordered() {
    Plan plan = one_sided(posting({write(8192)}, 500, 8));
    plan.network.reordered = 3000;
    return plan;
}
Plan doubled() {
    Plan plan = one_sided(posting({write(8192)}, 500, 8));
    plan.network.doubled = 5000;
    return plan;
}

Application paced(std::vector<Work> mix, std::uint64_t messages, std::uint32_t burst, std::int64_t period_ns) {
    Application application = posting(std::move(mix), messages, 64);
    application.burst = burst;
    application.period_ns = period_ns;
    return application;
}

Plan paced_writes(std::uint32_t burst, std::int64_t period_ns, std::int64_t jitter_ns) {
    Application application = paced({write(4096)}, 400 * std::uint64_t{burst}, burst, period_ns);
    application.jitter_ns = jitter_ns;
    return one_sided(application);
}

Plan paced_far_away() {
    Plan plan = paced_writes(1, 10'000'000, 0);
    plan.hosts[0].delay_ns = plan.hosts[1].delay_ns = 10'000;
    return plan;
}

/// One ACK for several messages of a burst.
Plan paced_coalesced() {
    Plan plan = paced_writes(4, 2'000'000, 0);
    plan.connections[0].b.adapter.ack_messages = 4;
    return plan;
}

/// Several alike, driven in turn by one thread.
Plan paced_many() {
    Plan plan = paced_writes(1, 1'000'000, 0);
    const Connection first = plan.connections[0];
    plan.connections.clear();
    for (std::uint32_t i = 0; i < 4; ++i) {
        Connection connection = first;
        connection.a.qpn = 0x100 + i;
        connection.b.qpn = 0x200 + i;
        connection.a.start_psn = 0x111111 * (i + 1);
        connection.seed = i + 1;
        connection.a.application.start_ns = 1000 + 7000 * i;
        plan.connections.push_back(connection);
    }
    return plan;
}

/// The server answers at once, and the client goes on when the next message is due.
Plan paced_questions(std::int64_t jitter_ns) {
    Application client = paced({send(512)}, 400, 1, 1'000'000);
    client.jitter_ns = jitter_ns;
    Application server = posting({send(1024)}, 400, 4);
    server.answers = true;
    Plan plan = one_sided(client);
    plan.connections[0].b.application = server;
    return plan;
}

Plan paced_reads(std::uint32_t burst) { return one_sided(paced({read(4096)}, 400 * burst, burst, 2'000'000)); }

}  // namespace

Plan pair_plan() {
    Plan plan;
    plan.hosts.resize(2);
    Connection connection;
    connection.a.host = 0;
    connection.a.qpn = 0x11;
    connection.a.start_psn = 0x123456;
    connection.b.host = 1;
    connection.b.qpn = 0x22;
    connection.b.start_psn = 0xabcdef;
    plan.connections.push_back(connection);
    return plan;
}

std::vector<Scenario> scenarios() {
    return {{"window", window()},
            {"deep_window", deep_window()},
            {"coalesced", coalesced()},
            {"line_rate", line_rate()},
            {"idle", idle()},
            {"in_flight", in_flight()},
            {"request_reply", request_reply()},
            {"reads", reads()},
            {"read_losses", read_losses()},
            {"read_losses_twice", read_losses_twice()},
            {"late_responses", late_responses()},
            {"implied_naks", implied_naks()},
            {"atomics", atomics()},
            {"mix", mix()},
            {"credits", credits()},
            {"rnr", rnr()},
            {"loss_behind", loss_behind()},
            {"loss_before", loss_before()},
            {"nak_wait", nak_wait()},
            {"timeouts", timeouts()},
            {"link_shared", link_shared()},
            {"congestion", congestion()},
            {"stalls", stalls()},
            {"pauses", pauses()},
            {"reordered", reordered()},
            {"doubled", doubled()}};
}

std::vector<Scenario> paced_scenarios() {
    return {{"paced", paced_writes(1, 1'000'000, 0)},
            {"paced_quickly", paced_writes(1, 500'000, 0)},
            {"paced_slowly", paced_writes(1, 60'000'000, 0)},
            {"paced_with_little_jitter", paced_writes(1, 1'000'000, 20'000)},
            {"paced_with_jitter", paced_writes(1, 1'000'000, 400'000)},
            {"paced_bursts", paced_writes(8, 2'000'000, 0)},
            {"paced_bursts_with_jitter", paced_writes(8, 2'000'000, 50'000)},
            {"paced_coalesced", paced_coalesced()},
            {"paced_far_away", paced_far_away()},
            {"paced_many", paced_many()},
            {"paced_questions", paced_questions(0)},
            {"paced_questions_with_jitter", paced_questions(100'000)},
            {"paced_reads", paced_reads(1)},
            {"paced_bursts_of_reads", paced_reads(2)}};
}

Scenario scenario(const std::string& name) {
    for (Scenario& each : scenarios())
        if (each.name == name) return each;
    std::abort();
}

}  // namespace model
