/// A peer that does not say what it said in the capture: how long it is listened to, and how much of it is held.
#include "replay/peer/player.h"

#include <gtest/gtest.h>

#include "wire/ddp.h"
#include "wire/mpa.h"
#include "wire/rdmap.h"

namespace replay {
namespace {

constexpr std::int64_t ms = 1'000'000;

std::vector<std::byte> start_frame(decltype(wire::MpaRequest::key) key) {
    wire::MpaRequest start;
    start.key = key;
    start.revision = 1;
    const auto octets = wire::to_octets(start);
    return {octets.begin(), octets.end()};
}

/// An FPDU with a segment of an untagged Send; nobody asked for a CRC.
std::vector<std::byte> send(std::size_t payload, bool last, std::uint32_t msn = 1) {
    std::vector<std::byte> ulpdu(wire::ddp_untagged_size + payload, std::byte{'A'});
    ulpdu[0] = last ? std::byte{0x41} : std::byte{0x01};
    ulpdu[1] = std::byte{0x43};
    base::store_be32(ulpdu.data() + 2, 0);
    base::store_be32(ulpdu.data() + 6, 0);
    base::store_be32(ulpdu.data() + 10, msn);
    base::store_be32(ulpdu.data() + 14, 0);
    std::vector<std::byte> fpdu(wire::mpa_fpdu_size(static_cast<std::uint16_t>(ulpdu.size())));
    base::store_be16(fpdu.data(), static_cast<std::uint16_t>(ulpdu.size()));
    std::copy(ulpdu.begin(), ulpdu.end(), fpdu.begin() + 2);
    return fpdu;
}

void add(ConversationSide& side, PieceKind kind, const std::vector<std::byte>& octets, std::uint64_t frame) {
    const std::size_t begin = side.octets.size();
    side.octets.insert(side.octets.end(), octets.begin(), octets.end());
    side.items.push_back({kind, begin, side.octets.size(), 0, false, frame, frame});
    if (kind == PieceKind::start) side.messages.push_back(MessageBuilder::start_frame(octets, frame, frame));
    MessageBuilder builder;
    if (kind == PieceKind::fpdu) side.messages.push_back(*builder.take(ulpdu_of(octets, false, 0), true, frame, frame));
}

/// The initiator sends 16 octets; the responder, which is played, answers with 16.
class Played : public ::testing::Test {
protected:
    Played() {
        add(conversation.sides[0], PieceKind::start, start_frame(wire::mpa_request_key), 1);
        add(conversation.sides[1], PieceKind::start, start_frame(wire::mpa_reply_key), 2);
        add(conversation.sides[0], PieceKind::fpdu, send(16, true), 3);
        add(conversation.sides[1], PieceKind::fpdu, send(16, true), 4);
        player.emplace(conversation, false, PlayerSettings{.timeout_ns = 2000 * ms, .quiet_ns = 300 * ms});
        player->begin(now);
        feed(start_frame(wire::mpa_request_key));
    }
    void feed(const std::vector<std::byte>& octets) {
        player->receive(octets, now);
        player->tick(now);
        if (!player->output().empty()) player->sent(player->output().size(), now);
    }
    /// How often the peer says this, one after the other `apart_ns`, before it is over.
    template <class Octets>
    std::size_t until_over(Octets octets, std::int64_t apart_ns, std::size_t most) {
        std::size_t times = 0;
        for (; times < most && !player->over(); ++times) {
            now += apart_ns;
            feed(octets(times));
        }
        return times;
    }

    Conversation conversation;
    std::optional<Player> player;
    std::int64_t now = 1000 * ms;
};

TEST_F(Played, a_peer_that_says_the_same_is_equal) {
    feed(send(16, true));
    now += 300 * ms;
    player->tick(now);
    ASSERT_TRUE(player->over());
    EXPECT_TRUE(player->report().equal());
}

TEST_F(Played, a_message_without_an_end_breaks_it_off) {
    const auto piece = send(60'000, false);
    EXPECT_LE(until_over([&](std::size_t) { return piece; }, 0, 100'000), Player::more_octets / 60'000 + 1);
    ASSERT_TRUE(player->over());
    EXPECT_EQ(player->our_end(), StreamEnd::reset);
    EXPECT_FALSE(player->report().equal());
    EXPECT_NE(player->report().error.find("one message does not end: Send queue 0 msn 1, "), std::string::npos)
        << player->report().error;
}

TEST_F(Played, what_is_no_whole_fpdu_is_not_held_for_ever_either) {
    const std::vector<std::byte> garbage(1 << 16, std::byte{'x'});
    Player other(conversation, false, PlayerSettings{});
    other.begin(now);
    std::size_t times = 0;
    for (; times < 10'000 && !other.over(); ++times) other.receive(garbage, now);
    EXPECT_LE(times, Player::more_octets / garbage.size() + 1);
    EXPECT_NE(other.report().error, "");
}

TEST_F(Played, messages_without_number_break_it_off) {
    const auto numbered = [](std::size_t i) { return send(0, true, static_cast<std::uint32_t>(i + 1)); };
    EXPECT_LE(until_over(numbered, 0, 100'000), Player::more_messages + 2);
    EXPECT_NE(player->report().error.find("messages have come, the capture has 2"), std::string::npos);
}

TEST_F(Played, the_timeout_is_for_what_the_capture_has_whatever_else_comes) {
    // 1000 octets every 10 ms: more than captured very soon, and never what is waited for.
    const auto piece = send(1000, false);
    const std::int64_t begun = now;
    until_over([&](std::size_t) { return piece; }, 10 * ms, 100'000);
    EXPECT_LT(now - begun, 10'000 * ms);
    const PlayReport report = player->report();
    EXPECT_EQ(report.error, "");
    ASSERT_EQ(report.differences.size(), 1u);
    EXPECT_EQ(report.differences[0].what, "did not come");
}

TEST_F(Played, a_peer_that_goes_on_for_ever_is_not_listened_to_longer_than_the_timeout) {
    const std::int64_t begun = now;
    const auto numbered = [](std::size_t i) { return send(16, true, static_cast<std::uint32_t>(i + 1)); };
    until_over(numbered, 100 * ms, 100'000);
    EXPECT_LE(now - begun, 2300 * ms);
    EXPECT_EQ(player->report().error, "");
}

}  // namespace
}  // namespace replay
