// The sources of the live screen: a capture played back in any way tells what the capture holds, and so does a history;
// a daemon that goes away is waited for.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <thread>
#include <unistd.h>

#include "cli/top/frame_ring.h"
#include "cli/top/open_feed.h"
#include "daemon/server/server.h"
#include "history/history.h"
#include "metrics/figures/snapshot_codec.h"
#include "tests/support/fake_feed.h"
#include "tests/support/pcaps.h"
#include "tests/unit/daemon/server/fake.h"

namespace cli::top {
namespace {

using testing::HasSubstr;
using Health = tui::FeedStatus::Health;

constexpr const char* lossy = "rxe-rxdrop1pct-write-bw.pcap.gz";
constexpr std::uint64_t millisecond = 1'000'000;

std::string capture(const std::string& name) { return support::pcaps() + "/" + name; }

/// All that a snapshot says, except what its engine held in memory.
std::vector<std::byte> octets(metrics::Snapshot snapshot) {
    snapshot.memory_octets = 0;
    std::vector<std::byte> out;
    metrics::encode(snapshot, out);
    return out;
}

/// Until it holds; fails after a minute.
void wait_for(const std::function<bool()>& holds, const char* what) {
    for (int i = 0; i < 6000; ++i) {
        if (holds()) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "waited in vain: " << what;
}

std::unique_ptr<tui::Feed> open(const analysis::AnalysisOptions& options, const Pace& pace) {
    std::string error;
    auto feed = open_feed(options, pace, error);
    EXPECT_EQ(error, "");
    return feed;
}
std::string refusal(const analysis::AnalysisOptions& options) {
    std::string error;
    EXPECT_EQ(open_feed(options, {}, error), nullptr);
    return error;
}
std::unique_ptr<tui::Feed> play(const std::string& path, const Pace& pace) {
    analysis::AnalysisOptions options;
    options.read_paths = {path};
    return open(options, pace);
}
void wait_for_end(tui::Feed& feed) {
    wait_for([&] { return feed.status().at_end; }, "the end");
    ASSERT_TRUE(feed.latest());
}

/// What a capture says as a whole, measured without intervals.
const metrics::Snapshot& whole_of(const std::string& name) {
    static std::map<std::string, metrics::Snapshot> known;
    auto& snapshot = known[name];
    if (snapshot.flows.empty())
        snapshot = support::FakeFeed::of_capture(name, 3'600'000'000'000).readings.back()->total;
    return snapshot;
}

TEST(FileFeed, tells_all_of_a_capture_at_any_speed) {
    for (const char* const name : {lossy, "rxe-verbs-rnr.pcap", "siw-loss1pct-send-bw.pcap"}) {
        for (const double speed : {0.0, 200.0}) {
            const auto feed = play(capture(name), {.interval_ns = 20 * millisecond, .speed = speed});
            wait_for_end(*feed);
            EXPECT_TRUE(octets(feed->latest()->total) == octets(whole_of(name))) << name << " at " << speed;
            EXPECT_EQ(feed->status().share, 1);
        }
    }
}

TEST(FileFeed, its_intervals_add_up_to_the_whole) {
    const auto feed = play(capture(lossy), {.interval_ns = 500 * millisecond, .playing = false});
    std::vector<tui::ReadingPtr> readings;
    for (int i = 1; i <= 11; ++i) {
        feed->step(1);
        wait_for([&] { return feed->latest() && feed->latest()->serial == static_cast<std::uint64_t>(i); }, "a step");
        readings.push_back(feed->latest());
    }
    // 5.203 s by capinfos: ten intervals of half a second, and the rest.
    EXPECT_TRUE(feed->status().at_end);
    std::uint64_t packets = 0;
    std::uint64_t resent = 0;
    for (std::size_t i = 0; i < readings.size(); ++i) {
        const tui::Reading& reading = *readings[i];
        EXPECT_EQ(reading.start_ns, i == 0 ? whole_of(lossy).capture.first_ns : readings[i - 1]->end_ns());
        if (i < 10) {
            EXPECT_EQ(reading.length_ns, 500 * millisecond);
        }
        packets += reading.interval.capture.packets;
        for (const metrics::FlowSnapshot& flow : reading.interval.flows)
            resent += flow.retransmitted_packets.value_or(0);
    }
    EXPECT_EQ(packets, whole_of(lossy).capture.packets);
    EXPECT_EQ(resent, *whole_of(lossy).flow(43)->retransmitted_packets);
    EXPECT_TRUE(octets(feed->latest()->total) == octets(whole_of(lossy)));
}

TEST(FileFeed, events_of_an_interval_show_frames_of_that_interval) {
    const auto feed = play(capture(lossy), {.interval_ns = 500 * millisecond, .playing = false});
    std::size_t seen = 0;
    std::uint64_t last = 0;
    for (std::uint64_t i = 1; i <= 11; ++i) {
        feed->step(1);
        wait_for([&] { return feed->latest() && feed->latest()->serial == i; }, "a step");
        const tui::ReadingPtr reading = feed->latest();
        const std::uint64_t first = last + 1;
        last = reading->total.capture.packets;
        for (const metrics::FlowSnapshot& flow : reading->interval.flows) {
            if (flow.retransmitted_packets.value_or(0) == 0) continue;
            const metrics::EventSummary* const again = flow.find_event_summary(metrics::EventKind::retransmission);
            ASSERT_NE(again, nullptr);
            ASSERT_FALSE(again->frames.empty());
            EXPECT_GE(again->frames.front(), first);
            EXPECT_LE(again->frames.back(), last);
            ++seen;
        }
    }
    EXPECT_GT(seen, 1U);
}

TEST(FileFeed, goes_where_it_is_sent) {
    const auto feed = play(capture(lossy), {.interval_ns = 1'000 * millisecond, .playing = false});
    const std::int64_t begin = whole_of(lossy).capture.first_ns;
    const auto at = [&](std::int64_t time) {
        feed->seek(time);
        wait_for([&] { return feed->latest() && feed->latest()->end_ns() == time; }, "the place");
        return feed->latest();
    };
    const tui::ReadingPtr third = at(begin + 3'000'000'000);
    EXPECT_EQ(third->start_ns, begin + 2'000'000'000);
    EXPECT_FALSE(third->restarted);
    const tui::ReadingPtr first = at(begin + 1'500'000'000);
    EXPECT_TRUE(first->restarted);
    EXPECT_EQ(first->length_ns, 1'000 * millisecond);
    EXPECT_LT(first->total.capture.packets, third->total.capture.packets);
    const tui::ReadingPtr again = at(begin + 3'000'000'000);
    EXPECT_TRUE(octets(again->total) == octets(third->total));
    EXPECT_TRUE(octets(again->interval) == octets(third->interval));
    feed->step(-1);
    wait_for([&] { return feed->latest()->end_ns() == begin + 2'000'000'000; }, "the step back");
    EXPECT_EQ(feed->latest()->start_ns, begin + 1'000'000'000);
    feed->seek(begin + 3'600'000'000'000);
    wait_for_end(*feed);
    EXPECT_TRUE(octets(feed->latest()->total) == octets(whole_of(lossy)));
    // Before the beginning there is nothing.
    feed->seek(begin - 1);
    wait_for([&] { return feed->latest()->total.capture.packets < 3; }, "the beginning");
}

TEST(FileFeed, hands_out_its_frames) {
    const auto feed = play(capture("rxe-rping.pcap"), {.interval_ns = 10 * millisecond, .speed = 0});
    wait_for_end(*feed);
    const std::uint64_t packets = whole_of("rxe-rping.pcap").capture.packets;
    EXPECT_TRUE(feed->status().has_packets);
    EXPECT_EQ(feed->status().packets_kept, packets);
    EXPECT_EQ(feed->status().last_packet, packets);
    std::vector<std::uint64_t> numbers;
    EXPECT_EQ(feed->packets(packets - 4, 3,
                            [&](const wire::Frame& frame) {
                                numbers.push_back(frame.number);
                                return true;
                            }),
              3U);
    EXPECT_EQ(numbers, (std::vector<std::uint64_t>{packets - 4, packets - 3, packets - 2}));
}

TEST(FileFeed, obeys_the_selection) {
    analysis::AnalysisOptions options;
    options.read_paths = {capture(lossy)};
    options.expression = "udp and src host 192.0.2.2";
    options.max_packets = 100;
    const auto feed = open(options, {.interval_ns = 10 * millisecond, .speed = 0});
    wait_for_end(*feed);
    EXPECT_EQ(feed->latest()->total.capture.packets, 100U);
    for (const metrics::FlowSnapshot& flow : feed->latest()->total.flows)
        EXPECT_EQ(metrics::to_text(flow.source.address), "192.0.2.2");
}

TEST(FileFeed, a_file_that_breaks_off_is_shown_up_to_there) {
    const std::string path = testing::TempDir() + "/rdmascope-feed-" + std::to_string(getpid()) + ".pcap";
    std::filesystem::copy_file(capture("rxe-rping.pcap"), path, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 7);
    const auto feed = play(path, {.interval_ns = 10 * millisecond, .speed = 0});
    wait_for_end(*feed);
    EXPECT_EQ(feed->status().health, Health::failed);
    EXPECT_THAT(feed->status().trouble, HasSubstr("cut"));
    EXPECT_EQ(feed->latest()->total.capture.packets, whole_of("rxe-rping.pcap").capture.packets - 1);
    std::remove(path.c_str());
}

TEST(OpenFeed, says_why_there_is_no_source) {
    analysis::AnalysisOptions options;
    options.read_paths = {"/nonexistent.pcap"};
    EXPECT_THAT(refusal(options), HasSubstr("/nonexistent.pcap: cannot be opened: No such file"));
    options.read_paths = {capture(lossy)};
    options.expression = "udp portt";
    EXPECT_THAT(refusal(options), HasSubstr("syntax error"));
    options = {};
    options.connect = "/nonexistent.sock";
    EXPECT_THAT(refusal(options), HasSubstr("rdmascope daemon -i IFACE"));
    options = {};
    options.history = "/nonexistent";
    EXPECT_THAT(refusal(options), HasSubstr("/nonexistent"));
    options = {};
    EXPECT_THAT(refusal(options), HasSubstr("-r FILE"));
    options.interfaces = {"no-such-interface"};
    EXPECT_THAT(refusal(options), testing::Not(HasSubstr("-r FILE")));
}

class HistoryFeed : public testing::Test {
protected:
    void SetUp() override {
        directory_ = testing::TempDir() + "rdmascope-feed-XXXXXX";
        ASSERT_NE(mkdtemp(directory_.data()), nullptr);
        fake_ = support::FakeFeed::of_capture(lossy, 500 * millisecond);
        history::HistoryOptions options;
        options.directory = directory_;
        auto writer = history::HistoryWriter::open(options);
        ASSERT_TRUE(writer.ok());
        for (const tui::ReadingPtr& reading : fake_.readings)
            ASSERT_TRUE((*writer)->append(
                {reading->start_ns, reading->length_ns, reading->total.capture.packets, reading->interval, true}));
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }
    std::unique_ptr<tui::Feed> play(const Pace& pace) {
        analysis::AnalysisOptions options;
        options.history = directory_;
        return open(options, pace);
    }
    std::string directory_;
    support::FakeFeed fake_;
};

TEST_F(HistoryFeed, tells_what_was_kept_interval_by_interval) {
    const auto feed = play({.interval_ns = 20 * millisecond});
    std::vector<tui::ReadingPtr> readings;
    wait_for(
        [&] {
            // Asked first: what comes between both questions is not to be missed.
            const bool ended = feed->status().at_end;
            const auto newer = feed->since(readings.empty() ? 0 : readings.back()->serial);
            readings.insert(readings.end(), newer.begin(), newer.end());
            return ended;
        },
        "the end");
    ASSERT_EQ(readings.size(), fake_.readings.size());
    for (std::size_t i = 0; i < readings.size(); ++i) {
        EXPECT_EQ(readings[i]->start_ns, fake_.readings[i]->start_ns);
        EXPECT_TRUE(octets(readings[i]->interval) == octets(fake_.readings[i]->interval)) << i;
    }
    EXPECT_EQ(readings.back()->total.capture.packets, whole_of(lossy).capture.packets);
    EXPECT_EQ(feed->status().speed, 25);  // half a second in a fiftieth of one
}

TEST_F(HistoryFeed, goes_where_it_is_sent) {
    const auto feed = play({.interval_ns = 1'000 * millisecond, .playing = false});
    feed->seek(fake_.readings[6]->start_ns + 17);
    wait_for([&] { return feed->latest() && feed->latest()->start_ns == fake_.readings[6]->start_ns; }, "the place");
    EXPECT_EQ(feed->latest()->total.capture.packets, fake_.readings[6]->total.capture.packets);
    EXPECT_TRUE(feed->latest()->restarted);
    feed->step(1);
    wait_for([&] { return feed->latest()->start_ns == fake_.readings[7]->start_ns; }, "the step");
    EXPECT_FALSE(feed->latest()->restarted);
    EXPECT_EQ(feed->latest()->total.capture.packets, fake_.readings[7]->total.capture.packets);
    feed->step(-1);
    wait_for([&] { return feed->latest()->start_ns == fake_.readings[6]->start_ns; }, "the step back");
    EXPECT_EQ(feed->latest()->total.capture.packets, fake_.readings[6]->total.capture.packets);
}

/// A daemon that answers until it is destroyed.
class Daemon {
public:
    explicit Daemon(const std::string& path, std::uint64_t packets) {
        commands_.packets = packets;
        commands_.packets_a_step = 5;
        service::ServerOptions options;
        options.path = path;
        auto server = service::ControlServer::open(options, commands_);
        EXPECT_TRUE(server.ok());
        server_ = std::move(server).value();
        thread_ = std::thread([this] {
            while (!ending_) server_->progress(20);
        });
    }
    ~Daemon() {
        ending_ = true;
        thread_.join();
    }

private:
    service::test::Fake commands_ = {};
    std::unique_ptr<service::ControlServer> server_ = {};
    std::atomic<bool> ending_ = false;
    std::thread thread_ = {};
};

TEST(DaemonFeed, waits_for_a_daemon_that_went_away) {
    const std::string path = testing::TempDir() + "/rdmascope-feed-" + std::to_string(getpid()) + ".sock";
    analysis::AnalysisOptions options;
    options.connect = path;
    auto daemon = std::make_unique<Daemon>(path, 1'000);
    const auto feed = open(options, {.interval_ns = 100 * millisecond});
    wait_for([&] { return feed->latest() != nullptr; }, "figures");
    // Each look sees five more packets of each of two flows.
    for (const metrics::FlowSnapshot& flow : feed->latest()->interval.flows) EXPECT_EQ(flow.packets % 5, 0U);
    EXPECT_EQ(feed->latest()->interval.flows.size(), 2U);
    EXPECT_EQ(feed->status().health, Health::good);

    daemon.reset();
    wait_for([&] { return feed->status().health == Health::lost; }, "the loss");
    EXPECT_THAT(feed->status().trouble, testing::AnyOf(HasSubstr("rdmascope daemon"), HasSubstr("went away")));
    const std::uint64_t serial = feed->latest()->serial;

    daemon = std::make_unique<Daemon>(path, 10);
    wait_for([&] { return feed->latest()->serial > serial; }, "the daemon's return");
    EXPECT_TRUE(feed->since(serial).front()->restarted);
    EXPECT_LT(feed->latest()->total.capture.packets, 1'000U);
    EXPECT_EQ(feed->status().health, Health::good);
    EXPECT_EQ(feed->status().trouble, "");
}

TEST(FrameRing, finds_frames_by_number_though_old_ones_go) {
    FrameRing ring(0xffff, std::size_t{1} << 20);
    std::vector<std::byte> data(1'000);
    std::vector<wire::Frame> frames(100);
    std::uint64_t number = 0;
    for (int round = 0; round < 200; ++round) {
        for (wire::Frame& frame : frames) {
            frame.number = ++number;
            frame.time_ns = static_cast<std::int64_t>(number);
            frame.bytes = data;
            frame.wire_length = 1'000;
        }
        ring.keep(frames);
    }
    const FrameRing::Extent extent = ring.extent();
    EXPECT_EQ(extent.last, 20'000U);
    EXPECT_EQ(extent.first, 20'000 - extent.count + 1);
    EXPECT_GT(extent.count, 900U);
    EXPECT_LT(extent.count, 1'050U);
    for (std::uint64_t wanted = extent.first; wanted <= extent.last; wanted += 37) {
        std::uint64_t found = 0;
        ring.visit(wanted, 1, [&](const wire::Frame& frame) { return found = frame.number, true; });
        EXPECT_EQ(found, wanted);
    }
    EXPECT_EQ(ring.visit(1, 100'000, [](const wire::Frame&) { return true; }), extent.count);
    EXPECT_EQ(ring.visit(20'001, 1, [](const wire::Frame&) { return true; }), 0U);
    ring.clear();
    EXPECT_EQ(ring.extent().count, 0U);
}

}  // namespace
}  // namespace cli::top
