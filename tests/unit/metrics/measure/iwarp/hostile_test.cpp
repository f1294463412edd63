#include <gtest/gtest.h>
#include <random>

#include "script.h"

/// Whatever comes, memory stays bounded, figures stay consistent, and nothing is allocated once warm.
namespace {

using namespace metrics;
using namespace stream_test;

void check(Script& script) {
    for (FlowIndex index = 0; index < script.store.table.extent(); ++index) {
        const Flow& flow = script.store.table[index];
        if (!flow.live) continue;
        FlowSnapshot shown;
        script.tracker.describe(index, shown);
        EXPECT_LE(flow.request.repeated + flow.request.reordered + flow.request.duplicates, flow.counts.packets);
        EXPECT_LE(shown.messages_mean, static_cast<double>(shown.messages_max) + 1e-9);
        EXPECT_GE(flow.counts.last_ns, flow.counts.first_ns);
        if (!flow.attribution.started()) continue;
        std::uint64_t sum = 0;
        for (const std::uint64_t time : flow.attribution.states(flow.counts.last_ns, 0)) sum += time;
        // Times may be as far apart as they can be written.
        EXPECT_EQ(sum, static_cast<std::uint64_t>(flow.counts.last_ns) -
                           static_cast<std::uint64_t>(flow.attribution.first_ns()));
    }
}

TEST(Hostile, any_sequence_of_segments_is_survived) {
    std::mt19937 random(4711);
    const auto upto = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % (most + 1)); };
    Script script(0xfffffff0u, 77, 6);
    for (unsigned step = 0; step < 60000; ++step) {
        if (step % 500 == 0) {
            script.client_port = static_cast<std::uint16_t>(40000 + upto(7));
            script.restart(static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random()));
            if (upto(3) != 0) script.establish(static_cast<std::uint8_t>(upto(15)));
        }
        const bool client = upto(1) != 0;
        Extras extras;
        extras.window = static_cast<std::uint16_t>(upto(3) == 0 ? 0 : upto(65535));
        extras.ecn = static_cast<std::uint8_t>(upto(3));
        extras.wrong_checksum = upto(50) == 0;
        if (upto(2) == 0) extras.timestamp = static_cast<std::uint32_t>(random());
        if (upto(3) == 0) extras.identification = static_cast<std::uint16_t>(upto(65535));
        if (upto(200) == 0) extras.flags = static_cast<std::uint8_t>(upto(255) & 0xef);
        if (upto(4) == 0) extras.sack = {{static_cast<std::uint32_t>(random()), static_cast<std::uint32_t>(random())}};
        Octets payload;
        switch (upto(9)) {
            case 0:
                payload = send_of(upto(9), upto(300), upto(1) != 0, upto(1) * static_cast<std::uint32_t>(random()));
                break;
            case 1: payload = write_of(upto(3), upto(2) * 0xffffffffffffull, upto(300), upto(1) != 0); break;
            case 2: payload = read_request(upto(9), upto(1) != 0 ? 0xffffffff : upto(1000)); break;
            case 3: payload = read_response(7, 0, upto(300), upto(1) != 0); break;
            case 4: payload = atomic_request(upto(9), upto(1) != 0, upto(9)) + atomic_response(1, upto(9)); break;
            case 5: payload = immediate(upto(9)); break;
            case 6: payload = terminate(static_cast<std::uint8_t>(upto(15)), 1, 2); break;
            case 7: payload = Octets(upto(40), static_cast<std::byte>(random())); break;
            default: break;
        }
        std::int64_t offset = script.sent(client);
        if (upto(3) == 0) offset += static_cast<std::int64_t>(upto(1000)) - 700;
        if (upto(100) == 0) offset += static_cast<std::int32_t>(random());
        std::int64_t ack = script.sent(!client) - upto(upto(3) == 0 ? 500 : 0);
        if (upto(100) == 0) ack += static_cast<std::int32_t>(random());
        if (script.now_ns > INT64_MAX / 2 && upto(20) == 0) script.now_ns = 5;
        if (script.now_ns < INT64_MAX - 30'000) script.now_ns += static_cast<std::int64_t>(upto(20000)) - 1000;
        if (upto(500) == 0 && script.now_ns < INT64_MAX / 2)
            script.now_ns += static_cast<std::int64_t>(random()) * 4 - (1ll << 33);
        if (upto(5000) == 0) script.now_ns = upto(1) != 0 ? INT64_MAX - 5'000'000 : 0;
        script.segment(client, offset, payload, ack, extras);
        if (step % 1000 == 0) check(script);
    }
    script.finish();
    check(script);
    EXPECT_LE(script.flows(), 6u);
    EXPECT_GT(script.store.evicted, 0u);
}

TEST(Hostile, connections_that_never_carry_rdma_are_forgotten) {
    Script script;
    const std::size_t before = script.tracker.octets();
    Extras syn;
    syn.flags = 2;
    syn.no_ack = true;
    for (unsigned i = 0; i < 50000; ++i) {
        script.client_port = static_cast<std::uint16_t>(1024 + i);
        script.segment(true, -1, {}, 0, syn);
    }
    EXPECT_EQ(script.tracker.octets(), before);
    EXPECT_EQ(script.flows(), 0u);
    script.client_port = 999;
    script.establish();
    EXPECT_EQ(script.shown(true).tcp->mss, 1460u) << "the newest are remembered";
}

void trouble(Script& script) {
    script.establish();
    for (std::uint32_t i = 1; i <= 200; ++i) {
        const std::int64_t at = script.sent(true);
        script.data(true, send_of(i, 100) + read_request(i, 64) + write_of(1, 0, 30));
        script.after_us(20);
        if (i % 5 == 0) {
            script.segment(true, at, send_of(i, 100), script.sent(false));
            script.segment(true, script.sent(true) + 124, send_of(i + 2, 100), script.sent(false));
            script.after_us(20);
            script.segment(true, script.sent(true) - 248, send_of(i + 1, 100), script.sent(false));
        }
        script.data(false, read_response(7, 0, 64));
        script.after_us(20);
        script.ack(false, script.sent(true));
    }
}

TEST(Hostile, nothing_is_allocated_once_warm) {
    Script script;
    trouble(script);
    EXPECT_GT(script.allocations, 0u) << "the counter counts";
    script.allocations = 0;
    script.restart(9'000'000, 5'000'000);
    script.after_us(1'000'000);
    trouble(script);
    EXPECT_EQ(script.allocations, 0u);
    EXPECT_EQ(script.messages(true, Operation::send), 280u) << "200, and two more in every fifth round";
}

}  // namespace
