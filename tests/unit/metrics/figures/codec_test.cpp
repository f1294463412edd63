#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string_view>
#include <utility>

#include "metrics/figures/snapshot_codec.h"
#include "metrics/measure/engine/analyzer.h"
#include "random_snapshot.h"
#include "snapshot_text.h"
#include "tests/support/captures.h"
#include "tests/support/sanitized.h"

namespace metrics {
namespace {
using Octets = std::vector<std::byte>;

Octets octets_of(const Snapshot& snapshot, std::uint16_t version = snapshot_version) {
    Octets octets;
    encode(snapshot, octets, version);
    return octets;
}

/// Every member, doubles bit by bit: text_of() shows nine digits of them.
void expect_equal(const Snapshot& a, const Snapshot& b) {
    ASSERT_EQ(test::text_of(a), test::text_of(b));
    ASSERT_EQ(a.flows.size(), b.flows.size());
    for (std::size_t i = 0; i < a.flows.size(); ++i) {
        ASSERT_EQ(a.flows[i].messages_mean, b.flows[i].messages_mean);
        ASSERT_EQ(a.flows[i].bytes_mean, b.flows[i].bytes_mean);
        ASSERT_EQ(a.flows[i].confidence, b.flows[i].confidence);
        ASSERT_EQ(a.flows[i].pairing.confidence, b.flows[i].pairing.confidence);
        ASSERT_EQ(a.flows[i].rate_drop_after_cnp, b.flows[i].rate_drop_after_cnp);
        ASSERT_EQ(a.flows[i].message_bytes, b.flows[i].message_bytes);
    }
    for (std::size_t i = 0; i < a.hosts.size(); ++i) {
        ASSERT_EQ(a.hosts[i].pages.working_set_mean, b.hosts[i].pages.working_set_mean);
        ASSERT_EQ(a.hosts[i].pages.bins.size(), b.hosts[i].pages.bins.size());
        for (std::size_t bin = 0; bin < a.hosts[i].pages.bins.size(); ++bin)
            ASSERT_EQ(a.hosts[i].pages.bins[bin].distance, b.hosts[i].pages.bins[bin].distance);
    }
}

Snapshot decoded(const Octets& octets) {
    const auto snapshot = decode_snapshot(octets);
    EXPECT_TRUE(snapshot.ok()) << snapshot.error().message << " at " << snapshot.error().offset;
    return snapshot.ok() ? *snapshot : Snapshot{};
}

TEST(SnapshotCodec, gives_back_every_capture) {
    std::size_t flows = 0;
    std::size_t octets = 0;
    for (const support::KeptCapture& capture : support::load_captures(SIZE_MAX)) {
        SCOPED_TRACE(capture.name);
        Analyzer analyzer;
        Snapshot middle;
        std::uint64_t number = 0;
        for (const support::KeptFrame& kept : capture.frames) {
            const wire::Frame frame = kept.frame(++number);
            analyzer.feed({&frame, 1}, true);
            if (number == capture.frames.size() / 2) middle = analyzer.snapshot();
        }
        analyzer.finish();
        const Snapshot whole = analyzer.snapshot();
        for (const Snapshot& one : {middle, whole, difference(middle, whole)})
            expect_equal(decoded(octets_of(one)), one);
        flows += whole.flows.size();
        octets += octets_of(whole).size();
    }
    EXPECT_GT(flows, 300u);
    EXPECT_LT(octets / flows, 1500u);
}

Address lid_address(std::uint8_t lid) {
    Address address;
    address.family = wire::AddressFamily::lid;
    address.octets[1] = lid;
    return address;
}

TEST(SnapshotCodec, keeps_names_since_version_13) {
    Snapshot snapshot;
    snapshot.names = {{lid_address(4), 0x0002c90300a1b2c3, "host01 mlx5_0"}, {lid_address(9), 0, {}}};
    EXPECT_EQ(decoded(octets_of(snapshot)).names, snapshot.names);
    EXPECT_TRUE(decoded(octets_of(snapshot, 12)).names.empty());
}

TEST(SnapshotNames, follow_the_addresses_that_are_left) {
    Snapshot later;
    later.names = {{lid_address(4), 1, "host01"}, {lid_address(5), 2, "host02"}, {lid_address(6), 3, "host03"}};
    FlowSnapshot flow;
    flow.id = 1;
    flow.source.address = lid_address(4);
    flow.destination.address = lid_address(6);
    flow.packets = 1;
    later.flows = {flow};
    const Snapshot rest = difference({}, later);
    ASSERT_EQ(rest.flows.size(), 1u);
    EXPECT_EQ(rest.names, (std::vector<AddressName>{later.names[0], later.names[2]}));
}

TEST(SnapshotNames, the_later_one_counts) {
    Snapshot sum;
    sum.names = {{lid_address(4), 1, "host01"}, {lid_address(5), 2, "host02"}};
    Snapshot later;
    later.names = {{lid_address(4), 7, "host07"}, {lid_address(5), 2, ""}, {lid_address(6), 3, "host03"}};
    merge(sum, later);
    EXPECT_EQ(sum.names,
              (std::vector<AddressName>{
                  {lid_address(4), 7, "host07"}, {lid_address(5), 2, "host02"}, {lid_address(6), 3, "host03"}}));
}

TEST(SnapshotCodec, gives_back_random_snapshots) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        test::RandomSnapshots random(seed);
        Snapshot whole;
        for (const Snapshot& part : random.parts_in_time(3)) {
            expect_equal(decoded(octets_of(part)), part);
            merge(whole, part);
        }
        expect_equal(decoded(octets_of(whole)), whole);
    }
}

TEST(SnapshotCodec, gives_back_what_is_at_its_bounds) {
    constexpr std::uint64_t most = ~std::uint64_t{0};
    Snapshot s;
    s.memory_octets = most;
    s.capture.first_ns = INT64_MIN;
    s.capture.last_ns = INT64_MAX;
    s.capture.kernel_dropped = most;
    FlowSnapshot f;
    f.transport = wire::Transport::iwarp;
    f.service = Service::xrc;
    f.id = most;
    f.first_ns = INT64_MAX;
    f.last_ns = INT64_MIN;
    f.reverse = 0;
    f.source.address.family = wire::AddressFamily::gid;
    f.source.address.octets.fill(0xff);
    f.source.port = 0xffff;
    f.destination.qpn = 0xffffffff;
    f.pairing = {PairingMethod::psn, 1e300};
    f.confidence = 0.1;
    f.messages_mean = std::numeric_limits<double>::denorm_min();
    f.bytes_mean = -0.5;
    f.credits_last = 0xff;
    f.message_bytes.record(most, most);
    f.message_bytes.record(0, most);
    f.state_ns.fill(most);
    f.connection->mpa_crc = false;
    f.connection->mpa_markers = true;
    f.connection->end = std::string("a\0b\xff", 4);
    f.event_summaries = {{EventKind::read_restart_wrong, most, {most, 0, most, 7}, most, most}};
    FlowSnapshot g;
    s.flows = {f, g, f};
    s.attempts.resize(2);
    s.attempts[1].request_ns = INT64_MIN;
    s.pauses.resize(1);
    s.hosts.resize(3);
    expect_equal(decoded(octets_of(s)), s);
    EXPECT_EQ(decoded(octets_of(s)).flows[0].connection->end, f.connection->end);
}

TEST(SnapshotCodec, a_long_text_is_cut_and_what_is_not_finite_is_zero) {
    Snapshot s;
    s.flows.resize(1);
    s.flows[0].connection->end.assign(100'000, 'x');
    s.flows[0].messages_mean = std::numeric_limits<double>::quiet_NaN();
    const Snapshot back = decoded(octets_of(s));
    EXPECT_EQ(back.flows.at(0).connection->end, std::string(4096, 'x'));
    EXPECT_EQ(back.flows.at(0).messages_mean, 0);
}

/// What decoding reserves for a count rests on these.
TEST(SnapshotCodec, entries_take_what_decoding_reserves_for) {
    Snapshot s;
    std::size_t size = octets_of(s).size();
    const auto grown = [&] { return octets_of(s).size() - std::exchange(size, octets_of(s).size()); };
    s.flows.resize(1);
    s.flows[0].confidence = 0;
    EXPECT_GE(grown(), 100u);
    s.hosts.resize(1);
    EXPECT_GE(grown(), 20u);
    s.pauses.resize(1);
    EXPECT_GE(grown(), 20u);
    s.attempts.resize(1);
    s.attempts[0].requests = 0;
    EXPECT_GE(grown(), 12u);
    s.hosts[0].pages.bins.resize(1);
    EXPECT_GE(grown(), 3u);
    s.flows[0].event_summaries.resize(1);
    EXPECT_GE(grown(), 5u);
    s.flows[0].verbs.emplace();
    EXPECT_GE(grown(), 1u);
    s.flows[0].verbs->operations.resize(1);
    EXPECT_GE(grown(), 7u);
    s.flows[0].verbs->statuses.resize(1);
    EXPECT_GE(grown(), 2u);
}

TEST(SnapshotCodec, no_part_of_it_is_a_snapshot) {
    test::RandomSnapshots random(7);
    for (const Snapshot& part : random.parts_in_time(2)) {
        const Octets whole = octets_of(part);
        for (std::size_t length = 0; length < whole.size(); ++length) {
            const Octets cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
            const auto snapshot = decode_snapshot(cut);
            ASSERT_FALSE(snapshot.ok()) << length;
            ASSERT_LE(snapshot.error().offset, length);
        }
        Octets longer = whole;
        longer.push_back(std::byte{0});
        ASSERT_FALSE(decode_snapshot(longer).ok());
    }
}

TEST(SnapshotCodec, damage_gives_a_snapshot_or_an_error) {
    constexpr unsigned rounds = support::optimised ? 5000 : 500;
    std::mt19937_64 random(11);
    std::size_t errors = 0;
    std::size_t snapshots = 0;
    for (const Snapshot& part : test::RandomSnapshots(8).parts_in_time(2)) {
        const Octets whole = octets_of(part);
        for (unsigned round = 0; round < rounds; ++round) {
            Octets damaged = whole;
            for (std::uint64_t flips = 1 + random() % 3; flips != 0; --flips)
                damaged[random() % damaged.size()] ^= static_cast<std::byte>(1u << random() % 8);
            const auto snapshot = decode_snapshot(damaged);
            ++(snapshot.ok() ? snapshots : errors);
            // What was taken is sound: it can be written, read and merged.
            if (snapshot.ok()) {
                expect_equal(decoded(octets_of(*snapshot)), *snapshot);
                Snapshot both = part;
                merge(both, *snapshot);
            }
        }
    }
    EXPECT_GT(errors, rounds / 20);
    EXPECT_GT(snapshots, rounds / 20);
}

TEST(SnapshotCodec, a_count_reserves_no_memory_that_octets_do_not_bear_out) {
    Octets octets = octets_of({});
    // The list of flows stands before three more empty lists and the memory's size.
    octets.resize(octets.size() - 5);
    for (int i = 0; i < 9; ++i) octets.push_back(std::byte{0xff});
    octets.push_back(std::byte{1});
    octets.resize(octets.size() + 5000);
    const auto snapshot = decode_snapshot(octets);
    ASSERT_FALSE(snapshot.ok());
    EXPECT_EQ(snapshot.error().message, "18446744073709551615 more entries than its bytes can hold");
}

/// In front of the flows are the version, thirteen counters of one octet each, the flags and two times; then came
/// values_misplaced with version 3 and beyond_hosts with version 4.
constexpr std::ptrdiff_t behind_times = 2 + 13 + 1 + 2;
Octets seventh(const Snapshot& snapshot) { return octets_of(snapshot, 7); }

TEST(SnapshotCodec, reads_and_writes_the_carriers_that_were_not_looked_into) {
    Snapshot snapshot;
    snapshot.capture.unread.add({wire::CarrierKind::ether_type, 0x8999}, 12);
    snapshot.capture.unread.add({wire::CarrierKind::ip_protocol, 50}, 300);
    snapshot.capture.unread.add_others(7);
    EXPECT_EQ(decoded(octets_of(snapshot)).capture.unread, snapshot.capture.unread);
    EXPECT_TRUE(decoded(seventh({})).capture.unread.empty());
    Octets octets = octets_of({});
    octets[behind_times + 2] = std::byte{wire::CarrierCounts::most_rows + 1};
    EXPECT_FALSE(decode_snapshot(octets).ok());
}

TEST(SnapshotCodec, reads_what_former_versions_wrote) {
    Snapshot snapshot;
    snapshot.flows.emplace_back().packets = 12'345;
    Octets octets = seventh(snapshot);
    octets.erase(octets.begin() + behind_times, octets.begin() + behind_times + 2);
    octets[0] = std::byte{2};
    // Before version 11 the traffic class is all that is known of the class.
    snapshot.flows[0].packet_class = PacketClass::of(0);
    const auto second = decode_snapshot(octets);
    ASSERT_TRUE(second.ok()) << second.error().message;
    EXPECT_EQ(test::text_of(*second), test::text_of(snapshot));
    // After the flow are four empty lists and zeros of one octet each; its own last octet came with version 2 and
    // says that there are no figures of verbs.
    octets.erase(octets.end() - 5);
    octets[0] = std::byte{1};
    const auto first = decode_snapshot(octets);
    ASSERT_TRUE(first.ok()) << first.error().message;
    EXPECT_EQ(test::text_of(*first), test::text_of(snapshot));
    octets[0] = std::byte{3};
    EXPECT_FALSE(decode_snapshot(octets).ok());
}

TEST(SnapshotCodec, reads_a_connection_that_the_third_version_wrote) {
    Snapshot snapshot;
    snapshot.flows.emplace_back().tcp.emplace();
    Octets fourth = seventh(snapshot);
    snapshot.flows[0].tcp->connection_bytes = 5;
    snapshot.flows[0].tcp->unread_bytes = 6;
    const Octets filled = seventh(snapshot);
    ASSERT_EQ(filled.size(), fourth.size());
    const auto different = std::mismatch(fourth.begin(), fourth.end(), filled.begin()).first;
    ASSERT_EQ(std::mismatch(fourth.rbegin(), fourth.rend(), filled.rbegin()).first.base() - different, 2);
    fourth.erase(different, different + 2);
    fourth.erase(fourth.begin() + behind_times + 1);
    fourth[0] = std::byte{3};
    const auto third = decode_snapshot(fourth);
    ASSERT_TRUE(third.ok()) << third.error().message;
    snapshot.flows[0].tcp->connection_bytes = snapshot.flows[0].tcp->unread_bytes = 0;
    EXPECT_EQ(test::text_of(*third), test::text_of(snapshot));
    fourth[0] = std::byte{4};
    EXPECT_FALSE(decode_snapshot(fourth).ok());
}

/// The fourth version had no count of PFC frames: the busiest priority's is the least that there were.
TEST(SnapshotCodec, reads_pauses_that_the_fourth_version_wrote) {
    Snapshot snapshot;
    snapshot.pauses.resize(1);
    snapshot.pauses[0].priority_frames = {0, 0, 0, 7, 0, 9, 0, 0};
    snapshot.pauses[0].pfc_frames = 12;
    Octets octets = seventh(snapshot);
    EXPECT_EQ(decoded(octets).pauses.at(0).pfc_frames, 12u);
    // After it are how long they held (unknown), an empty list and the octets in use, of one octet each.
    ASSERT_EQ(octets.at(octets.size() - 4), std::byte{12});
    octets.erase(octets.end() - 4, octets.end() - 2);
    octets[0] = std::byte{4};
    EXPECT_EQ(decoded(octets).pauses.at(0).pfc_frames, 9u);
}

/// The fifth version did not say how long they held.
TEST(SnapshotCodec, reads_pauses_that_the_fifth_version_wrote) {
    Snapshot snapshot;
    snapshot.pauses.resize(1);
    snapshot.pauses[0].pfc_frames = 12;
    snapshot.pauses[0].stopped_ns.emplace().priority_ns[3] = 7;
    Octets octets = seventh(snapshot);
    EXPECT_EQ(decoded(octets).pauses.at(0).stopped_ns, snapshot.pauses[0].stopped_ns);
    snapshot.pauses[0].stopped_ns.reset();
    octets = seventh(snapshot);
    octets.erase(octets.end() - 3);
    octets[0] = std::byte{5};
    EXPECT_EQ(decoded(octets).pauses.at(0).pfc_frames, 12u);
    EXPECT_FALSE(decoded(octets).pauses.at(0).stopped_ns);
}

/// The sixth version did not say who rejected.
TEST(SnapshotCodec, reads_an_attempt_that_the_sixth_version_wrote) {
    Snapshot snapshot;
    snapshot.attempts.resize(1);
    snapshot.attempts[0].reason = "Timeout";
    snapshot.attempts[0].by_client = true;
    Octets octets = seventh(snapshot);
    EXPECT_TRUE(decoded(octets).attempts.at(0).by_client);
    octets.erase(octets.end() - 2);  // after it are the octets in use
    octets[0] = std::byte{6};
    EXPECT_EQ(decoded(octets).attempts.at(0).reason, "Timeout");
    EXPECT_FALSE(decoded(octets).attempts.at(0).by_client);
}

/// The seventh version had words alone, which say what the kinds do.
TEST(SnapshotCodec, reads_kinds_out_of_the_words_that_the_seventh_version_wrote) {
    const auto attempt_of = [](const std::string& reason) {
        Snapshot snapshot;
        snapshot.attempts.resize(1);
        snapshot.attempts[0].reason = reason;
        return decoded(seventh(snapshot)).attempts.at(0);
    };
    EXPECT_EQ(attempt_of("No QP available").reject_reason, RejectReason::no_queue_pair);
    EXPECT_EQ(attempt_of("No resources available").reject_reason, RejectReason::no_resources);
    EXPECT_EQ(attempt_of("Timeout").reject_reason, RejectReason::timeout);
    EXPECT_EQ(attempt_of("Invalid Service ID").reject_reason, RejectReason::invalid_service_id);
    EXPECT_EQ(attempt_of("Stale connection").reject_reason, RejectReason::stale_connection);
    EXPECT_EQ(attempt_of("Consumer Reject").reject_reason, std::nullopt);

    const auto end_of = [](const std::string& words) {
        Snapshot snapshot;
        snapshot.flows.resize(1);
        snapshot.flows[0].connection->end = words;
        snapshot.flows[0].connection->end_frame = 0x55;
        const FlowSnapshot flow = decoded(seventh(snapshot)).flows.at(0);
        EXPECT_EQ(flow.connection->end, words);
        EXPECT_EQ(flow.connection->end_frame, 0x55u);
        return flow.connection->end_kind;
    };
    EXPECT_EQ(end_of("DREQ"), EndKind::disconnect_request);
    EXPECT_EQ(end_of("DREP"), EndKind::disconnect_reply);
    EXPECT_EQ(end_of("REJ: Stale connection"), EndKind::rejected);
    EXPECT_EQ(end_of("MPA reply: rejected"), EndKind::mpa_rejected);
    EXPECT_EQ(end_of("TCP RST"), EndKind::tcp_reset);
    EXPECT_EQ(end_of("TCP FIN"), EndKind::tcp_fin);
    EXPECT_EQ(end_of("ports used again"), EndKind::ports_reused);
    EXPECT_EQ(end_of(""), std::nullopt);
}

/// The seventh version knew nothing of ICMP, of the longest FPDU or of management datagrams.
TEST(SnapshotCodec, keeps_what_the_eighth_version_added) {
    Snapshot snapshot;
    FlowSnapshot& flow = snapshot.flows.emplace_back();
    Address router;
    router.family = wire::AddressFamily::ipv4;
    router.octets[0] = 198;
    flow.icmp.emplace().add(wire::IcmpErrorKind::fragmentation_needed, router, 1500);
    flow.tcp.emplace().fpdu_bytes_max = 4020;
    flow.connection->refused_peer_to_peer_frame = 6;
    snapshot.capture.management[2] = 5;
    snapshot.attempts.resize(1);
    snapshot.attempts[0].icmp = flow.icmp;
    const Snapshot eighth = decoded(octets_of(snapshot));
    EXPECT_EQ(eighth.flows.at(0).icmp, flow.icmp);
    EXPECT_EQ(eighth.flows.at(0).tcp->fpdu_bytes_max, 4020u);
    EXPECT_EQ(eighth.flows.at(0).connection->refused_peer_to_peer_frame, 6u);
    EXPECT_EQ(eighth.capture.management[2], 5u);
    EXPECT_EQ(eighth.attempts.at(0).icmp, flow.icmp);
    const Snapshot former = decoded(seventh(snapshot));
    EXPECT_FALSE(former.flows.at(0).icmp);
    EXPECT_EQ(former.flows.at(0).tcp->fpdu_bytes_max, 0u);
    EXPECT_EQ(former.capture.management[2], 0u);
}

/// The tenth version did not count the commands that waited long.
TEST(SnapshotCodec, keeps_what_the_eleventh_version_added) {
    Snapshot snapshot;
    CommandConnectionFigures& commands = snapshot.flows.emplace_back().commands.emplace();
    commands.open_long = 3;
    commands.oldest_open_ns = 7;
    commands.kinds.emplace_back().unanswered_long = 2;
    EXPECT_EQ(test::text_of(decoded(octets_of(snapshot))), test::text_of(snapshot));
    const Octets former = octets_of(snapshot, 10);
    commands.open_long = 0;
    commands.kinds[0].unanswered_long = 0;
    EXPECT_EQ(test::text_of(decoded(former)), test::text_of(snapshot));
}

/// The eleventh version knew neither the credits that were asked for nor congestion maps.
TEST(SnapshotCodec, keeps_what_the_twelfth_version_added) {
    Snapshot snapshot;
    CommandConnectionFigures& commands = snapshot.flows.emplace_back().commands.emplace();
    commands.limit_asked = 128;
    commands.congested_ports = 3;
    for (const bool is_open : {false, true}) {
        if (is_open) commands.oldest_open_ns = 7;
        const CommandConnectionFigures later = *decoded(octets_of(snapshot)).flows.at(0).commands;
        EXPECT_EQ(later.limit_asked, 128u);
        EXPECT_EQ(later.congested_ports, 3u);
        EXPECT_EQ(later.oldest_open_ns, commands.oldest_open_ns);
        const CommandConnectionFigures former = *decoded(octets_of(snapshot, 11)).flows.at(0).commands;
        EXPECT_FALSE(former.limit_asked);
        EXPECT_EQ(former.congested_ports, 0u);
        EXPECT_EQ(former.oldest_open_ns, commands.oldest_open_ns);
    }
}

/// The twelfth version did not say when paths lost packets, nor when routes changed.
TEST(SnapshotCodec, keeps_what_the_thirteenth_version_added) {
    Snapshot snapshot;
    EntropyWindows& row = snapshot.path_windows.emplace_back().rows.emplace_back();
    row.entropy = Entropy::of_udp(50'000);
    row.marks = {3, 4};
    row.losses = {.packets = 1000, .episodes = 3, .packets_since = 200, .widest_gap = 300, .last_ns = 1'700'000'000};
    row.losses_before = {.packets = 10, .episodes = 1, .packets_since = 4, .widest_gap = 0, .last_ns = -5};
    row.rerouted_ns = 1'600'000'000;
    EXPECT_EQ(decoded(octets_of(snapshot)).path_windows, snapshot.path_windows);
    const EntropyWindows former = decoded(octets_of(snapshot, 12)).path_windows.at(0).rows.at(0);
    EXPECT_EQ(former.marks, (SignCounts{3, 4}));
    EXPECT_EQ(former.losses, LossTimes{});
    EXPECT_EQ(former.rerouted_ns, 0);
}

/// Outcomes are written by name, as the first version did.
TEST(SnapshotCodec, an_outcome_of_a_later_version_is_unknown) {
    Snapshot snapshot;
    snapshot.attempts.resize(1);
    for (const AttemptOutcome outcome : {AttemptOutcome::unknown, AttemptOutcome::established, AttemptOutcome::rejected,
                                         AttemptOutcome::reset, AttemptOutcome::unanswered}) {
        snapshot.attempts[0].outcome = outcome;
        EXPECT_EQ(decoded(octets_of(snapshot)).attempts.at(0).outcome, outcome) << name_of(outcome);
    }
    snapshot.attempts[0].outcome = AttemptOutcome::rejected;
    Octets octets = octets_of(snapshot);
    constexpr std::string_view name = "rejected";
    const auto at = std::search(octets.begin(), octets.end(), name.begin(), name.end(),
                                [](std::byte octet, char c) { return octet == static_cast<std::byte>(c); });
    ASSERT_NE(at, octets.end());
    *at = std::byte{'x'};
    EXPECT_EQ(decoded(octets).attempts.at(0).outcome, AttemptOutcome::unknown);
}

TEST(SnapshotCodec, the_twelfth_version_has_no_time_at_the_limit_nor_of_the_host) {
    Snapshot snapshot;
    std::array<std::uint64_t, command_state_count> states{1, 2, 3, 4, 5, 6, 7};
    snapshot.flows.emplace_back().commands.emplace().states_ns = states;
    snapshot.flows[0].commands->host_next_ns.record(17);
    EXPECT_EQ(decoded(octets_of(snapshot)).flows[0].commands->states_ns, states);
    EXPECT_EQ(decoded(octets_of(snapshot)).flows[0].commands->host_next_ns.sum(), 17u);
    states.back() = 0;
    EXPECT_EQ(decoded(octets_of(snapshot, 12)).flows[0].commands->states_ns, states);
    EXPECT_TRUE(decoded(octets_of(snapshot, 12)).flows[0].commands->host_next_ns.empty());
}

TEST(SnapshotCodec, says_which_version_it_does_not_know) {
    Octets octets = octets_of({});
    EXPECT_EQ(octets[0], std::byte{14});
    octets[0] = std::byte{15};
    const auto later = decode_snapshot(octets);
    ASSERT_FALSE(later.ok());
    EXPECT_EQ(later.error().message, "made by a later version (15; this one reads up to 14)");
    octets[0] = std::byte{0};
    ASSERT_FALSE(decode_snapshot(octets).ok());
    ASSERT_FALSE(decode_snapshot({}).ok());
}

}  // namespace
}  // namespace metrics
