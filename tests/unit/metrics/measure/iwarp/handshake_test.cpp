#include <gtest/gtest.h>

#include "script.h"

/// Connections that are set up together: what their SYNs said is asked for when they turn out to carry RDMA.
namespace {

using namespace metrics;
using namespace stream_test;

/// The handshake takes 200 us.
void shake_hands(Script& script, unsigned port) {
    script.client_port = static_cast<std::uint16_t>(port);
    script.restart(1000 + port, 5000 + port);
    script.handshake();
}
/// Start frames both ways; whether the handshake is known then, and the window's scale by it.
bool is_known(Script& script, unsigned port) {
    script.client_port = static_cast<std::uint16_t>(port);
    script.restart(1000 + port, 5000 + port);
    script.after_us(100);
    script.data(true, mpa_start(true));
    script.data(false, mpa_start(false));
    script.ack(true, script.sent(false));
    script.data(true, send_of(1, 100));
    script.ack(false, script.sent(true));
    const base::CompactOptional<TcpFigures> tcp = script.shown(true).tcp;
    return tcp && tcp->handshake_ns == 200'000u && tcp->receive_window_max == 1000u << 7;
}

TEST(Handshakes, of_many_connections_all_are_known) {
    constexpr unsigned many = 6000;
    Script script(1000, 5000, std::size_t{4} * many);
    for (unsigned i = 0; i < many; ++i) shake_hands(script, 1000 + i);
    unsigned known = 0;
    for (unsigned i = 0; i < many; ++i) known += is_known(script, 1000 + i);
    EXPECT_EQ(known, many);
}

/// 2048 have a place for sure.
TEST(Handshakes, an_answer_to_nothing_takes_no_others_place) {
    Script script;
    for (unsigned i = 0; i < 2048; ++i) shake_hands(script, 1000 + i);
    Extras syn_ack;
    syn_ack.flags = 2;
    for (unsigned i = 0; i < 100; ++i) {
        script.client_port = static_cast<std::uint16_t>(30000 + i);
        script.segment(false, -1, {}, 0, syn_ack);
    }
    unsigned known = 0;
    for (unsigned i = 0; i < 200; ++i) known += is_known(script, 1000 + i);
    EXPECT_EQ(known, 200u);
}

/// The flows know by now what the first two thousand said: these make room, not those that wait.
TEST(Handshakes, those_that_are_done_with_make_room) {
    Script script;
    unsigned known = 0;
    for (unsigned i = 0; i < 100; ++i) shake_hands(script, 1000 + i);
    for (unsigned i = 0; i < 3000; ++i) {
        shake_hands(script, 2000 + i);
        known += is_known(script, 2000 + i);
    }
    for (unsigned i = 0; i < 100; ++i) known += is_known(script, 1000 + i);
    EXPECT_EQ(known, 3100u);
}

TEST(Handshakes, where_none_was_captured_the_window_is_not_known) {
    Script script;
    script.data(true, mpa_start(true));
    script.data(false, mpa_start(false));
    script.data(true, send_of(1, 100));
    script.ack(false, script.sent(true));
    EXPECT_EQ(script.shown(true).tcp->receive_window_max, std::nullopt);
}

}  // namespace
