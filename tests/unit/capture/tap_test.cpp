#include "capture/live/tap.h"

#include <cstdlib>
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

/// Without the reports about a kernel that permits no eBPF.
std::vector<TapEvent> other_events(Tap& tap) {
    std::vector<TapEvent> events = tap.events();
    std::erase_if(events, [](const TapEvent& event) { return event.kind == TapEvent::Kind::learning; });
    return events;
}

/// For the life of an object, this kernel permits no eBPF.
class NoEbpf {
public:
    NoEbpf() { ::setenv("RDMASCOPE_EBPF", "off", 1); }
    ~NoEbpf() { ::unsetenv("RDMASCOPE_EBPF"); }
    NoEbpf(const NoEbpf&) = delete;
    NoEbpf& operator=(const NoEbpf&) = delete;
};

#define NEEDS_TAP(tap) \
    if (!(tap)) GTEST_SKIP() << "this machine does not let us capture"

TEST(Tap, no_interface_is_no_failure) {
    auto tap = open_nothing();
    NEEDS_TAP(tap);
    tap->set_wait_ms(1);
    wire::Frame frame;
    EXPECT_EQ(tap->next(frame), ReadStatus::timeout);
    EXPECT_THAT(tap->interfaces(), testing::IsEmpty());
    EXPECT_THAT(other_events(*tap), testing::IsEmpty());
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
    const NoEbpf classic;
    NEEDS_TAP(open_nothing());
    TapOptions options;
    options.interfaces = {"no-such-link"};
    for (std::uint16_t port = 1; port <= 65; ++port) options.iwarp_ports.push_back(port);
    const auto tap = Tap::open(options);
    ASSERT_TRUE(tap.ok());
    const auto events = other_events(**tap);
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events.front().kind, TapEvent::Kind::narrowed);
    EXPECT_THAT(events.front().message, HasSubstr("65 TCP ports"));
}

TEST(Tap, a_kernel_without_ebpf_is_reported) {
    const NoEbpf classic;
    auto tap = open_nothing();
    NEEDS_TAP(tap);
    const auto events = tap->events();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events.front().kind, TapEvent::Kind::learning);
    EXPECT_THAT(events.front().message, HasSubstr("missed"));
    EXPECT_THAT(events.front().message, HasSubstr("RDMASCOPE_EBPF=off"));
    EXPECT_EQ(tap->learning().place, Learning::Place::process);
    EXPECT_THAT(tap->learning().reason, HasSubstr("RDMASCOPE_EBPF=off"));
}

TEST(Tap, an_expression_of_the_user_leaves_nothing_to_learn) {
    TapOptions options;
    options.interfaces = {"no-such-link"};
    options.filter = "tcp";
    const auto tap = Tap::open(options);
    NEEDS_TAP(tap.ok());
    EXPECT_EQ((*tap)->learning(), Learning{});
    EXPECT_THAT((*tap)->events(), testing::IsEmpty());
}

}  // namespace
}  // namespace capture::test
