#include "capture/live/tap.h"

#include <gmock/gmock.h>
#include <thread>

#include "support.h"

namespace capture::test {
namespace {

using testing::HasSubstr;

std::unique_ptr<Tap> open_nothing() {
    TapOptions options;
    options.interfaces = {"no-such-link"};
    options.iwarp_ports = {7174, 20049};
    auto tap = Tap::open(options);
    if (tap.ok()) return std::move(tap).value();
    EXPECT_THAT(tap.error().text(), HasSubstr("no permission to capture"));
    return nullptr;
}

#define NEEDS_TAP(tap) \
    if (!(tap)) GTEST_SKIP() << "this machine does not let us capture"

TEST(Tap, no_interface_is_no_failure) {
    auto tap = open_nothing();
    NEEDS_TAP(tap);
    tap->set_wait_ms(1);
    wire::Frame frame;
    EXPECT_EQ(tap->next(frame), ReadStatus::timeout);
    EXPECT_THAT(tap->interfaces(), testing::IsEmpty());
    EXPECT_THAT(tap->events(), testing::IsEmpty());
    EXPECT_THAT(tap->iwarp_ports(), testing::ElementsAre(7174, 20049));
    EXPECT_EQ(tap->statistics(), Statistics{});
}

TEST(Tap, a_wait_is_ended_from_elsewhere) {
    auto tap = open_nothing();
    NEEDS_TAP(tap);
    tap->set_wait_ms(1'000'000'000);
    wire::Frame frame;
    const std::jthread other([&] { tap->wake(); });
    EXPECT_EQ(tap->next(frame), ReadStatus::timeout);
}

TEST(Tap, a_filter_that_is_none_is_refused) {
    auto tap = open_nothing();
    NEEDS_TAP(tap);
    TapOptions options;
    options.interfaces = {"no-such-link"};
    options.filter = "nonsense(";
    const auto opened = Tap::open(options);
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.error().text(), HasSubstr("`nonsense(` is not valid"));
    const auto changed = tap->reconfigure(options);
    ASSERT_FALSE(changed.ok());
    EXPECT_THAT(tap->iwarp_ports(), testing::ElementsAre(7174, 20049)) << "all is as it was";
}

TEST(Tap, too_many_configured_ports_are_told) {
    NEEDS_TAP(open_nothing());
    TapOptions options;
    options.interfaces = {"no-such-link"};
    for (std::uint16_t port = 1; port <= 65; ++port) options.iwarp_ports.push_back(port);
    const auto tap = Tap::open(options);
    ASSERT_TRUE(tap.ok());
    const auto events = (*tap)->events();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events.front().kind, TapEvent::Kind::narrowed);
    EXPECT_THAT(events.front().message, HasSubstr("65 TCP ports"));
}

}  // namespace
}  // namespace capture::test
