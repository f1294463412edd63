#include <gtest/gtest.h>

#include "metrics/measure/engine/engine.h"
#include "script.h"

/// How many READs may be outstanding is agreed on by the start frames, and known to who names the gaps.
namespace {

using namespace metrics;
using namespace stream_test;

struct Agreed {
    std::uint16_t ird;
    std::uint16_t ord;
};

/// A client that reads twice, the second time 20 µs after the first response came. Returns the client's flow.
FlowSnapshot read_twice(std::optional<Agreed> client, std::optional<Agreed> server) {
    const auto start = [](bool request, const std::optional<Agreed>& depth) {
        return depth ? mpa_start(request, depth->ird, depth->ord) : mpa_start(request);
    };
    Script script;
    Engine engine(EngineOptions{});
    script.also = &engine;
    script.handshake();
    script.after_us(100);
    script.data(true, start(true, client));
    script.after_us(100);
    script.data(false, start(false, server));
    script.after_us(1'000'000);
    script.data(true, read_request(1, 400));
    script.after_us(500);
    script.data(false, read_response(7, 0, 400));
    script.after_us(20);
    script.data(true, read_request(2, 400));
    script.after_us(500);
    script.data(false, read_response(7, 0, 400));
    engine.flush();
    Snapshot snapshot;
    engine.describe(snapshot, script.now_ns);
    for (FlowSnapshot& flow : snapshot.flows)
        if (flow.source.port == script.client_port) return flow;
    return {};
}

std::uint64_t read_window_ns(const FlowSnapshot& flow) {
    return flow.state_ns[static_cast<std::size_t>(State::read_window)];
}

/// The requester's ORD is the lesser of its own and the peer's IRD (RFC 6581, 9.1). The second request waited 520 µs.
TEST(ReadDepth, a_read_that_waits_for_the_only_one_allowed_is_held_by_the_depth) {
    for (const std::uint16_t ord : {std::uint16_t{1}, std::uint16_t{16}}) {
        const FlowSnapshot flow = read_twice(Agreed{16, ord}, Agreed{1, 4});
        EXPECT_EQ(flow.connection->initiator_depth, 1u);
        EXPECT_EQ(read_window_ns(flow), 520'000u);
    }
}

TEST(ReadDepth, with_room_for_more_or_one_sides_word_alone_it_is_not) {
    EXPECT_EQ(read_window_ns(read_twice(Agreed{16, 2}, Agreed{4, 4})), 0u);
    EXPECT_EQ(read_window_ns(read_twice(Agreed{16, 1}, std::nullopt)), 0u);
    EXPECT_EQ(read_window_ns(read_twice(std::nullopt, std::nullopt)), 0u);
}

}  // namespace
