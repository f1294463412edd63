// Whole screens as people see them. The figures in them were held against `rdmascope flows` and the JSON next to each
// capture when they were written; what is wrong with a flow is said here as well.
#include <gtest/gtest.h>

#include "tests/unit/tui/view/screens.h"

namespace tui {
namespace {

using support::differs_from_golden;
using support::FakeFeed;

Settings with_totals() {
    Settings settings;
    settings.window = Window::total;
    return settings;
}

/// Text, and with `styles` what the cells are.
void expect_golden(const std::string& name, const Screen& screen, int width, int height,
                   const Letters& letters = utf8_letters, bool styles = false) {
    const Picture picture = screen.draw(width, height, letters);
    EXPECT_EQ(differs_from_golden(name + ".txt", picture.grid.plain()), "");
    if (styles) {
        EXPECT_EQ(differs_from_golden(name + ".styles.txt", picture.grid.styles()), "");
    }
}

// One packet in a hundred lost at the receiver's queue: pcaps/rxe-rxdrop1pct-write-bw.json.
TEST(GoldenFlows, losses_stand_out) {
    Screen screen(FakeFeed::of_capture("rxe-rxdrop1pct-write-bw.pcap.gz", 1'000'000'000), with_totals());
    screen.show_all();
    expect_golden("flows-rxdrop-80", screen, 80, 24, utf8_letters, true);
    expect_golden("flows-rxdrop-120", screen, 120, 40);
    expect_golden("flows-rxdrop-300", screen, 300, 80);
    expect_golden("flows-rxdrop-80-ascii", screen, 80, 24, ascii_letters);
}

TEST(GoldenFlows, of_the_last_interval) {
    Screen screen(FakeFeed::of_capture("rxe-rxdrop1pct-write-bw.pcap.gz", 500'000'000));
    screen.show(5);
    expect_golden("flows-rxdrop-interval-120", screen, 120, 24, utf8_letters, true);
}

TEST(GoldenFlows, of_iwarp) {
    Screen screen(FakeFeed::of_capture("siw-loss1pct-send-bw.pcap", 500'000'000), with_totals());
    screen.show_all();
    expect_golden("flows-siw-loss-80", screen, 80, 24);
    expect_golden("flows-siw-loss-120-ascii", screen, 120, 40, ascii_letters);
}

TEST(GoldenFlows, of_storage) {
    Screen screen(FakeFeed::of_capture("nvme-rdma-rxe.pcap.gz", 1'000'000'000), with_totals());
    screen.show_all();
    expect_golden("flows-nvme-300", screen, 300, 24);
}

TEST(GoldenFlows, idle_ones_are_dim) {
    Screen screen(FakeFeed::of_capture("nvme-rdma-rxe.pcap.gz", 1'000'000'000));
    screen.show(6);
    expect_golden("flows-nvme-idle-80", screen, 80, 24, utf8_letters, true);
}

TEST(GoldenFlows, a_thousand) {
    Screen screen(feed_of(std::vector{many_flows(1000), many_flows(1000), many_flows(1000)}));
    screen.show_all();
    expect_golden("flows-thousand-80", screen, 80, 24, utf8_letters, true);
    expect_golden("flows-thousand-300", screen, 300, 80, ascii_letters);
}

TEST(GoldenFlows, grouped_and_pinned) {
    Settings settings;
    settings.grouping = Grouping::destination;
    Screen screen(feed_of(many_flows(12)), settings);
    screen.show_all();
    screen.type("jjpj");
    expect_golden("flows-grouped-120", screen, 120, 30, utf8_letters, true);
}

TEST(GoldenFlows, long_and_wide_names) {
    GivenNames names;
    names.names = {{"2001:db8::1", "gpu-node-0001.training.rack-17.example.net"}, {"192.0.2.2", "記憶装置一号機"}};
    metrics::Snapshot snapshot;
    snapshot.flows = {write_flow(1, ipv6({0x2001, 0xdb8, 0, 0, 0, 0, 0, 1}),
                                 ipv6({0x2001, 0xdb8, 0, 1, 0x5054, 0xff, 0xfe12, 0x3456}), 1000),
                      write_flow(2, ipv4(192, 0, 2, 2), ipv4(192, 0, 2, 1), 500),
                      write_flow(3, ipv6({0x2001, 0xdb8, 0, 1, 0x5054, 0xff, 0xfe12, 0x3456}),
                                 ipv6({0x2001, 0xdb8, 0, 1, 0x5054, 0xff, 0xfe12, 0x789a}), 200)};
    Screen screen(feed_of(std::move(snapshot)), {}, &names);
    screen.show_all();
    expect_golden("flows-names-80", screen, 80, 24);
    expect_golden("flows-names-120-ascii", screen, 120, 24, ascii_letters);
    expect_golden("flows-names-300", screen, 300, 24);
}

TEST(GoldenFlows, a_filter_that_hides_all) {
    Screen screen(feed_of(many_flows(12)));
    screen.show_all();
    screen.type("/goodput > 1T");
    screen.press(Named::enter);
    expect_golden("flows-hidden-80", screen, 80, 24);
}

TEST(GoldenFlows, nothing_yet) {
    metrics::Snapshot silence;
    silence.capture.packets = 1234;
    Screen screen(feed_of(std::move(silence)));
    screen.show_all();
    expect_golden("flows-none-80", screen, 80, 24);
}

// The kernel was asked for what may be RDMA alone: what else there is has not been counted.
TEST(GoldenFlows, nothing_yet_of_what_is_looked_at) {
    Screen screen(feed_of(metrics::Snapshot{}));
    screen.feed.state.rdma_only = true;
    screen.show_all();
    const std::string text = screen.draw(80, 24).grid.plain();
    EXPECT_NE(text.find("other traffic is not looked at"), std::string::npos) << text;
    EXPECT_EQ(text.find("not a single packet"), std::string::npos);
}

// pcaps/rxe-cm-reject.json: a request and its refusal. tshark: 2 frames, both of QP 1.
TEST(GoldenFlows, connections_that_were_set_up_and_carried_nothing) {
    Screen refused(FakeFeed::of_capture("rxe-cm-reject.pcap", 1'000'000'000));
    refused.show_all();
    expect_golden("flows-refused-80", refused, 80, 24);
    Screen idle(FakeFeed::of_capture("rxe-verbs-idle.pcap", 500'000'000));
    idle.show(1);
    EXPECT_NE(idle.draw(80, 24).grid.plain().find("no data yet on rxe-verbs-idle.pcap: only connection set-up"),
              std::string::npos);
    idle.show_all();
    const std::string text = idle.draw(80, 24).grid.plain();
    EXPECT_NE(text.find("no data on rxe-verbs-idle.pcap: only connection set-up was seen"), std::string::npos);
    EXPECT_NE(text.find("5 RDMA packets"), std::string::npos);
    EXPECT_EQ(text.find("4 shows"), std::string::npos) << "none was refused";
}

// The bars have K, S, a, p and no other letter than those; all have their words on 80 columns.
TEST(GoldenFlows, letters_of_the_bars_are_explained) {
    Screen screen(FakeFeed::of_capture("rxe-loss1pct-send-bw.pcap.gz", 1'000'000'000), with_totals());
    screen.show_all();
    const std::string text = screen.draw(80, 24).grid.plain();
    EXPECT_NE(text.find("KSSSS"), std::string::npos) << text;
    EXPECT_NE(text.find("\n  K recover nak  S nic stall  "), std::string::npos) << text;
    for (const char* words : {"a in flight", "p peer wait", ". idle"})
        EXPECT_NE(text.find(words), std::string::npos) << words;
}

TEST(GoldenHeader, starting_lost_and_failed) {
    FakeFeed feed;
    feed.state.kind = SourceKind::daemon;
    feed.state.name = "/run/rdmascope/rdmascope.sock";
    Screen screen(std::move(feed));
    screen.show_all();
    expect_golden("header-starting-80", screen, 80, 24);
    screen.feed.state.health = FeedStatus::Health::failed;
    screen.feed.state.trouble = "no permission to connect: be in the group rdmascope";
    screen.show_all();
    expect_golden("header-failed-80", screen, 80, 24, utf8_letters, true);
}

TEST(GoldenHeader, a_daemon_that_was_lost_and_a_capture_that_drops) {
    metrics::Snapshot snapshot = many_flows(40);
    snapshot.capture.kernel_dropped = 1234;
    snapshot.capture.packets = 410'100;  // 1,234 of 411,334: 0.3 %
    FakeFeed feed = feed_of(snapshot);
    feed.state.kind = SourceKind::daemon;
    feed.state.name = "/run/rdmascope/rdmascope.sock";
    Screen screen(std::move(feed));
    screen.show_all();
    screen.feed.state.health = FeedStatus::Health::lost;
    screen.feed.state.trouble = "the daemon is gone; tried again every second";
    screen.feed.state.warnings = {"frames are cut to 64 octets: iWARP streams may be lost", "another"};
    screen.show_all();
    expect_golden("header-drops-80", screen, 80, 24, utf8_letters, true);
    expect_golden("header-drops-120-ascii", screen, 120, 24, ascii_letters);
}

/// `senders` hosts that send to 198.51.100.1 over 10 Gbit/s, nine of them in the same millisecond.
metrics::Snapshot incast(std::size_t senders) {
    metrics::Snapshot snapshot;
    metrics::HostSnapshot sink;
    sink.address = ipv4(198, 51, 100, 1);
    sink.link_bits_per_sec = 10'000'000'000;
    sink.received_wire_bytes = 1'187'500'000;  // 95 % of the link for a second
    sink.sent_wire_bytes = 2'000'000;
    sink.senders = senders;
    sink.incast_senders_max = 9;
    sink.incast_frame = 123;
    for (std::size_t i = 0; i < senders; ++i) {
        metrics::HostSnapshot host;
        host.address = ipv4(192, 0, 2, static_cast<unsigned>(i + 1));
        host.link_bits_per_sec = 10'000'000'000;
        host.link_is_learnt = i == 0;  // its shares and its rate have a ~
        host.sent_wire_bytes = sink.received_wire_bytes / senders;
        host.incast_senders_max = 1;
        snapshot.flows.push_back(write_flow(i + 1, host.address, sink.address, 1000));
        snapshot.hosts.push_back(std::move(host));
    }
    sink.queue_pairs.accesses = 1000;
    sink.queue_pairs.distinct = senders;
    sink.queue_pairs.working_set_mean = 7.6;
    sink.queue_pairs.working_set_max = senders;
    snapshot.hosts.push_back(std::move(sink));
    return snapshot;
}

TEST(GoldenHosts, incast) {
    Screen screen(feed_of(incast(10)));
    screen.show_all();
    screen.go(View::hosts);
    expect_golden("hosts-incast-80", screen, 80, 24, utf8_letters, true);
    expect_golden("hosts-incast-120", screen, 120, 40);
    expect_golden("hosts-incast-300-ascii", screen, 300, 80, ascii_letters);
}

TEST(GoldenHosts, of_a_capture) {
    Screen screen(FakeFeed::of_capture("siw-ecn-ce-write-bw.pcap.gz", 500'000'000), with_totals());
    screen.show_all();
    screen.go(View::hosts);
    expect_golden("hosts-siw-ecn-120", screen, 120, 24);
}

// Every tenth packet marked on the way: pcaps/rxe-ecn-ce-write-bw.json.
TEST(GoldenCongestion, marks) {
    Screen screen(FakeFeed::of_capture("rxe-ecn-ce-write-bw.pcap.gz", 250'000'000), with_totals());
    screen.show_all();
    screen.go(View::congestion);
    expect_golden("congestion-ecn-80", screen, 80, 24, utf8_letters, true);
    expect_golden("congestion-ecn-120-ascii", screen, 120, 40, ascii_letters);
    expect_golden("congestion-ecn-300", screen, 300, 80);
}

TEST(GoldenCongestion, pauses_by_priority) {
    metrics::Snapshot snapshot = many_flows(200);
    for (metrics::FlowSnapshot& flow : snapshot.flows) flow.link_bits_per_sec = 100'000'000'000;
    metrics::PauseSnapshot pause;
    pause.pause_frames = 2;
    pause.resume_frames = 30;
    pause.pfc_frames = 1200;  // a third of them stops two priorities
    pause.priority_frames[3] = 1200;
    pause.priority_frames[4] = 400;
    pause.priority_quanta[4] = 781'250;     // 4 ms
    pause.priority_quanta[3] = 39'062'500;  // 512 bits each at 100 Gbit/s: 0.2 s
    snapshot.pauses.push_back(pause);
    Screen screen(feed_of(std::move(snapshot)));
    screen.show_all();
    screen.go(View::congestion);
    expect_golden("congestion-pause-80", screen, 80, 24);
    expect_golden("congestion-pause-300", screen, 300, 30);

    // Half of it was taken back: the picture is the same.
    for (std::uint64_t& quanta : pause.priority_quanta) quanta *= 2;
    pause.stopped_ns.emplace().priority_ns = {0, 0, 0, 200'000'000, 4'000'000, 0, 0, 0};
    snapshot = many_flows(200);
    for (metrics::FlowSnapshot& flow : snapshot.flows) flow.link_bits_per_sec = 100'000'000'000;
    snapshot.pauses.push_back(pause);
    Screen taken_back(feed_of(std::move(snapshot)));
    taken_back.show_all();
    taken_back.go(View::congestion);
    expect_golden("congestion-pause-300", taken_back, 300, 30);
}

TEST(GoldenCounters, errors_that_grow_first) {
    FakeFeed feed = feed_of(many_flows(4));
    tui::Reading reading = *feed.readings.front();
    reading.counters = {// A counter of 32 bits that has gone round its end counted 10: value - before, modulo 2^64.
                        {"mlx5_0", 1, "duplicate_request", 4, ~std::uint64_t{5}},
                        {"mlx5_0", 1, "out_of_sequence", 40, 12},
                        {"mlx5_0", 1, "port_rcv_data", 123'456'789'012, 123'400'000'000, 4},
                        {"mlx5_0", 1, "port_rcv_errors", 0, 0},
                        {"mlx5_0", 1, "port_xmit_data", 5'000, 4'000, 4},
                        {"mlx5_0", 1, "rnr_nak_retry_err", 3, 3},
                        {"mlx5_1", 1, "port_xmit_data", 7, {}, 4}};
    feed.readings.front() = std::make_shared<tui::Reading>(std::move(reading));
    Screen screen(std::move(feed));
    screen.show_all();
    screen.go(View::counters);
    expect_golden("counters-80", screen, 80, 24, utf8_letters, true);
}

TEST(GoldenCounters, none) {
    Screen screen(feed_of(many_flows(4)));
    screen.show_all();
    screen.go(View::counters);
    expect_golden("counters-none-80", screen, 80, 24);
}

// Reads, writes and the rest of an NVMe host: `rdmascope io` has the same figures.
TEST(GoldenCommands, of_a_capture) {
    Screen screen(FakeFeed::of_capture("nvme-rdma-rxe.pcap.gz", 1'000'000'000), with_totals());
    screen.show_all();
    screen.go(View::io);
    expect_golden("io-nvme-80", screen, 80, 24, utf8_letters, true);
    expect_golden("io-nvme-120", screen, 120, 24);
    expect_golden("io-nvme-200-ascii", screen, 200, 24, ascii_letters);
}

// `rdmascope io --each --sort latency --top 8` has the same commands.
TEST(GoldenCommands, of_a_connection) {
    Screen screen(FakeFeed::of_capture("nvme-rdma-rxe.pcap.gz", 1'000'000'000), with_totals());
    screen.show_all();
    screen.go(View::io);
    screen.press(Named::enter);
    expect_golden("io-connection-80", screen, 80, 24, utf8_letters, true);
    expect_golden("io-connection-120", screen, 120, 36);
    screen.press(Named::escape);
    EXPECT_EQ(screen.model.state().view, View::io);
}

TEST(GoldenCommands, none) {
    Screen screen(feed_of(many_flows(4)));
    screen.show_all();
    screen.go(View::io);
    expect_golden("io-none-80", screen, 80, 24);
}

// Six queues of an NVMe host: `rdmascope paths` has the same figures.
TEST(GoldenPaths, of_a_capture) {
    Screen screen(FakeFeed::of_capture("nvme-rdma-rxe-loss.pcap.gz", 1'000'000'000), with_totals());
    screen.show_all();
    screen.go(View::paths);
    expect_golden("paths-nvme-80", screen, 80, 24);
    expect_golden("paths-nvme-120", screen, 120, 24);
    expect_golden("paths-nvme-200-ascii", screen, 200, 24, ascii_letters);
}

/// Six ports between two hosts. One loses, and another one did until its route changed.
TEST(GoldenPaths, one_that_loses_and_one_that_did) {
    metrics::Snapshot snapshot = many_flows(6);
    metrics::PathWindowFigures& windows = snapshot.path_windows.emplace_back();
    windows.source = snapshot.flows[0].source.address;
    windows.destination = snapshot.flows[0].destination.address;
    windows.dscp = static_cast<std::uint8_t>(snapshot.flows[0].traffic_class >> 2);
    std::uint16_t port = 50'000;
    for (metrics::FlowSnapshot& flow : snapshot.flows) {
        flow.source.address = windows.source;
        flow.destination.address = windows.destination;
        flow.traffic_class = snapshot.flows[0].traffic_class;
        flow.packets = 20'000;
        flow.entropy = metrics::Entropy::of_udp(++port);
        metrics::EntropyWindows& row = windows.rows.emplace_back();
        row.entropy = flow.entropy;
        row.losses.packets = row.losses_before.packets = 10'000;
        row.rerouted_ns = 1'700'000'000'000'000'000;
    }
    windows.rows[2].losses.episodes = 9;
    windows.rows[4].losses_before = {.packets = 10'000, .episodes = 12, .last_ns = 1'699'999'999'000'000'000};
    for (const std::size_t lossy : {2UL, 4UL}) {
        snapshot.flows[lossy].path.emplace();
        snapshot.flows[lossy].path->loss_episodes = lossy == 2 ? 9 : 12;
    }
    Screen screen(feed_of(std::move(snapshot)));
    screen.show_all();
    screen.go(View::paths);
    expect_golden("paths-lossy-120", screen, 120, 24, utf8_letters, true);
}

TEST(GoldenPaths, none) {
    Screen screen(feed_of(many_flows(4)));
    screen.show_all();
    screen.go(View::paths);
    expect_golden("paths-none-80", screen, 80, 24);
}

TEST(GoldenHelp, of_the_view) {
    Screen screen(feed_of(many_flows(40)));
    screen.show_all();
    screen.type("?");
    expect_golden("help-80", screen, 80, 24, utf8_letters, true);
}

TEST(GoldenMenu, narrowed) {
    Screen screen(feed_of(many_flows(40)));
    screen.show_all();
    screen.type("sres");
    screen.press(Named::down);
    expect_golden("menu-sort-80", screen, 80, 24, utf8_letters, true);
}

TEST(GoldenFooter, a_prompt_with_a_mistake) {
    Screen screen(feed_of(many_flows(40)));
    screen.show_all();
    screen.type("/goodputt > 1G");
    expect_golden("footer-prompt-80", screen, 80, 24, utf8_letters, true);
}

TEST(GoldenFooter, a_filter_in_force) {
    Screen screen(feed_of(many_flows(40)));
    screen.show_all();
    screen.type("/destination.address == 198.51.100.1");
    screen.press(Named::enter);
    expect_golden("footer-filter-80", screen, 80, 24);
}

TEST(GoldenScreen, too_small) {
    Screen screen(feed_of(many_flows(40)));
    screen.show_all();
    expect_golden("screen-60x15", screen, 60, 15);
    expect_golden("screen-30x6-ascii", screen, 30, 6, ascii_letters);
}

}  // namespace
}  // namespace tui
