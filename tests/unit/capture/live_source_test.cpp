#include "capture/live/live_source.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <thread>

#include "support.h"

namespace capture::test {
namespace {

using testing::HasSubstr;

/// The loopback interface, or nothing where this machine lets nobody capture.
std::unique_ptr<LiveSource> open_loopback(LiveOptions options) {
    if (options.interface.empty()) options.interface = "lo";
    options.immediate = true;
    auto source = LiveSource::open(options);
    if (!source.ok()) {
        EXPECT_NE(source.error().text(), "");
        return nullptr;
    }
    return std::move(source).value();
}

class Sender {
public:
    Sender() : fd_(::socket(AF_INET, SOCK_DGRAM, 0)) {}
    ~Sender() { ::close(fd_); }
    void send(std::uint16_t port, std::string_view data) const {
        sockaddr_in to = {};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        ::sendto(fd_, data.data(), data.size(), 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }

private:
    int fd_;
};

#define NEEDS_CAPTURE(source) \
    if (!(source)) GTEST_SKIP() << "this machine does not let us capture"

TEST(LiveSource, filtered_frames_of_loopback) {
    auto source = open_loopback({.filter = "udp dst port 4791"});
    NEEDS_CAPTURE(source);
    const Sender sender;
    sender.send(4790, "not this");
    sender.send(4791, "but this");
    wire::Frame frame;
    ReadStatus status = ReadStatus::timeout;
    for (int i = 0; i < 50 && status == ReadStatus::timeout; ++i) status = source->next(frame);
    ASSERT_EQ(status, ReadStatus::frame);
    EXPECT_THAT(std::string(text_of(frame)), testing::EndsWith("but this"));
    EXPECT_EQ(frame.wire_length, 14U + 20 + 8 + 8);
    EXPECT_NEAR(static_cast<double>(frame.time_ns) / 1e9, static_cast<double>(std::time(nullptr)), 5);
    EXPECT_EQ(frame.number, 1U);
    const InterfaceInfo& info = source->interfaces().at(0);
    EXPECT_EQ(info.name, "lo");
    EXPECT_EQ(info.filter, "udp dst port 4791");
    EXPECT_EQ(info.link_type, wire::LinkType::ethernet);
    EXPECT_EQ(info.snaplen, max_snaplen);
    EXPECT_GE(source->statistics().received.value_or(0), 1U);
    EXPECT_EQ(source->statistics().kernel_dropped, 0U);
}

TEST(LiveSource, snaplen_cuts) {
    auto source = open_loopback({.snaplen = 20, .filter = "udp dst port 4791"});
    NEEDS_CAPTURE(source);
    Sender().send(4791, "hello");
    wire::Frame frame;
    ReadStatus status = ReadStatus::timeout;
    for (int i = 0; i < 50 && status == ReadStatus::timeout; ++i) status = source->next(frame);
    ASSERT_EQ(status, ReadStatus::frame);
    EXPECT_EQ(frame.bytes.size(), 20U);
    EXPECT_EQ(frame.wire_length, 14U + 20 + 8 + 5);
}

TEST(LiveSource, any_tells_the_interface_of_every_frame) {
    auto source = open_loopback({.interface = "any"});
    NEEDS_CAPTURE(source);
    EXPECT_EQ(source->interfaces().at(0).link_type, wire::LinkType::linux_sll2);
}

TEST(LiveSource, quiet_interface_times_out) {
    auto source = open_loopback({.timeout_ms = 20, .filter = "udp port 9 and udp port 10"});
    NEEDS_CAPTURE(source);
    wire::Frame frame;
    EXPECT_EQ(source->next(frame), ReadStatus::timeout);
}

TEST(LiveSource, interruption_ends) {
    auto source = open_loopback({.filter = "udp port 9 and udp port 10"});
    NEEDS_CAPTURE(source);
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        source->interrupt();
    });
    wire::Frame frame;
    ReadStatus status = ReadStatus::timeout;
    for (int i = 0; i < 50 && status == ReadStatus::timeout; ++i) status = source->next(frame);
    other.join();
    EXPECT_EQ(status, ReadStatus::end);
}

TEST(LiveSource, what_cannot_be_is_told) {
    NEEDS_CAPTURE(open_loopback({}));
    const auto missing = LiveSource::open({.interface = "no-such-if"});
    ASSERT_FALSE(missing.ok());
    EXPECT_THAT(missing.error().text(), HasSubstr("no-such-if: no such interface; there are: "));
    EXPECT_THAT(missing.error().text(), HasSubstr("lo"));
    const auto filter = LiveSource::open({.interface = "lo", .filter = "udp porrt 1"});
    ASSERT_FALSE(filter.ok());
    EXPECT_THAT(filter.error().text(), HasSubstr("udp porrt 1"));
    const auto stamp = LiveSource::open({.interface = "lo", .timestamp_type = "sundial"});
    ASSERT_FALSE(stamp.ok());
    EXPECT_THAT(stamp.error().text(), HasSubstr("-J"));
    const auto link = LiveSource::open({.interface = "lo", .link_type = wire::LinkType::infiniband});
    ASSERT_FALSE(link.ok());
    EXPECT_THAT(link.error().text(), HasSubstr("-L"));
}

TEST(LiveSource, lists) {
    const auto devices = list_devices();
    ASSERT_TRUE(devices.ok()) << devices.error().text();
    NEEDS_CAPTURE(open_loopback({}));
    bool loopback = false;
    for (const Device& device : *devices) loopback = loopback || (device.name == "lo" && device.loopback && device.up);
    EXPECT_TRUE(loopback);
    const auto types = link_types("lo");
    ASSERT_TRUE(types.ok()) << types.error().text();
    EXPECT_EQ(types->at(0).name, "EN10MB");
    EXPECT_TRUE(timestamp_types("lo").ok());
    EXPECT_FALSE(timestamp_types("no-such-if").ok());
}

TEST(LiveSource, devices_have_numbers) {
    const auto devices = list_devices();
    ASSERT_TRUE(devices.ok());
    if (devices->empty()) GTEST_SKIP();
    auto source = open_loopback({.interface = "1"});
    NEEDS_CAPTURE(source);
    EXPECT_EQ(source->interfaces().at(0).name, devices->front().name);
}

}  // namespace
}  // namespace capture::test
