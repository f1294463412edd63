#include "metrics/figures/snapshot.h"

#include <ctime>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "random_snapshot.h"
#include "snapshot_text.h"

namespace metrics {
namespace {
using test::RandomSnapshots;
using test::text_of;

Snapshot sum_of(const Snapshot& a, const Snapshot& b) {
    Snapshot sum = a;
    merge(sum, b);
    return sum;
}

Address ipv4(std::uint8_t last) {
    Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets = {192, 0, 2, last};
    return address;
}

FlowSnapshot flow(std::uint64_t id, std::uint32_t qpn, std::int64_t first_ns, std::int64_t last_ns) {
    FlowSnapshot f;
    f.id = id;
    f.source.address = ipv4(1);
    f.destination.address = ipv4(2);
    f.destination.qpn = qpn;
    f.first_ns = first_ns;
    f.last_ns = last_ns;
    f.packets = 1;
    return f;
}

Snapshot with(std::vector<FlowSnapshot> flows) {
    Snapshot snapshot;
    snapshot.flows = std::move(flows);
    return snapshot;
}

std::vector<std::uint64_t> ids(const Snapshot& snapshot) {
    std::vector<std::uint64_t> all;
    for (const FlowSnapshot& f : snapshot.flows) all.push_back(f.id);
    return all;
}

std::uint64_t sum(const StateTimes& states) { return std::accumulate(states.begin(), states.end(), std::uint64_t{0}); }

TEST(Snapshot, every_event_has_a_name_of_its_own) {
    std::set<std::string_view> names;
    for (std::size_t kind = 0; kind < event_kind_count; ++kind) names.insert(name_of(static_cast<EventKind>(kind)));
    EXPECT_EQ(names.size(), event_kind_count);
    EXPECT_FALSE(names.contains(""));
    EXPECT_EQ(name_of(EventKind::retransmission), "retransmission");
    EXPECT_EQ(name_of(EventKind::rnr_nak), "rnr_nak");
    EXPECT_EQ(name_of(EventKind::ce_mark), "ce_mark");
    EXPECT_EQ(name_of(EventKind::zero_window), "zero_window");
    EXPECT_EQ(name_of(EventKind::terminate), "terminate");
    EXPECT_EQ(name_of(EventKind::long_gap), "long_gap");
    EXPECT_EQ(name_of(EventKind::connect_request), "connect_request");
    EXPECT_EQ(name_of(EventKind::reset), "reset");
    EXPECT_EQ(name_of(EventKind::go_back_incomplete), "go_back_incomplete");
    EXPECT_EQ(name_of(EventKind::nak_missing), "nak_missing");
    EXPECT_EQ(name_of(EventKind::read_restart_wrong), "read_restart_wrong");
}

TEST(FlowSnapshot, totals_and_goodput) {
    FlowSnapshot f = flow(1, 7, 1'000'000'000, 1'500'000'000);
    f.operations[index_of(Operation::write)] = {10, 5'000, {}, {}};
    f.operations[index_of(Operation::read)] = {2, 7'000, {}, {}};
    EXPECT_EQ(f.messages_total(), 12u);
    EXPECT_EQ(f.message_bytes_total(), 12'000u);
    EXPECT_DOUBLE_EQ(f.goodput_bytes_per_sec().value(), 24'000.0);  // in half a second
    f.last_ns = f.first_ns;
    EXPECT_FALSE(f.goodput_bytes_per_sec());
    f.event_summaries = {{EventKind::gap, 3, {9, 10}, 0, 0}};
    EXPECT_EQ(f.find_event_summary(EventKind::gap), &f.event_summaries[0]);
    EXPECT_EQ(f.find_event_summary(EventKind::nak), nullptr);
}

TEST(Snapshot, finds_flows_by_id) {
    const Snapshot s = with({flow(3, 1, 0, 1), flow(8, 2, 0, 1), flow(21, 3, 0, 1)});
    EXPECT_EQ(s.flow(8), &s.flows[1]);
    EXPECT_EQ(s.flow(21), &s.flows[2]);
    EXPECT_EQ(s.flow(4), nullptr);
    EXPECT_EQ(s.flow(22), nullptr);
}

TEST(Merge, is_associative_and_commutative) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        RandomSnapshots random(seed);
        const auto parts = seed % 2 == 0 ? random.parts_in_time(3) : random.parts_at_once(3);
        const std::string all = text_of(sum_of(sum_of(parts[0], parts[1]), parts[2]));
        ASSERT_EQ(text_of(sum_of(parts[0], sum_of(parts[1], parts[2]))), all) << seed;
        ASSERT_EQ(text_of(sum_of(parts[2], sum_of(parts[1], parts[0]))), all) << seed;
        ASSERT_EQ(text_of(sum_of(parts[0], parts[1])), text_of(sum_of(parts[1], parts[0]))) << seed;
    }
}

TEST(Merge, figures_of_the_whole_are_the_sum_of_the_parts) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const auto parts = RandomSnapshots(seed).parts_at_once(3);
        std::vector<std::uint64_t> expected = test::additive_figures({});
        Snapshot whole;
        for (const Snapshot& part : parts) {
            const auto figures = test::additive_figures(part);
            for (std::size_t i = 0; i < figures.size(); ++i) expected[i] += figures[i];
            merge(whole, part);
        }
        ASSERT_EQ(test::additive_figures(whole), expected) << seed;
    }
}

TEST(Merge, with_nothing_changes_nothing) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        RandomSnapshots random(seed);
        // Duplicate attempts in one snapshot are one; a first merge sees to that.
        const Snapshot part = sum_of(random.parts_in_time(1)[0], {});
        ASSERT_EQ(text_of(sum_of(part, {})), text_of(part));
        ASSERT_EQ(text_of(sum_of({}, part)), text_of(part));
    }
}

TEST(Merge, states_sum_to_the_wall_time_where_parts_follow_each_other) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        RandomSnapshots random(seed);
        Snapshot whole;
        for (const Snapshot& part : random.parts_in_time(4)) merge(whole, part);
        for (const FlowSnapshot& f : whole.flows) ASSERT_EQ(sum(f.state_ns), f.wall_ns());
    }
}

TEST(Merge, takes_together_what_has_one_key_and_one_life) {
    FlowSnapshot before = flow(10, 7, 0, 100);
    FlowSnapshot after = flow(30, 7, 150, 200);
    EXPECT_EQ(ids(sum_of(with({before}), with({after}))), (std::vector<std::uint64_t>{10}));
    EXPECT_EQ(ids(sum_of(with({after}), with({before}))), (std::vector<std::uint64_t>{10}));
    // The connection ended: a later user of the QPN is another connection.
    before.finished = true;
    EXPECT_EQ(ids(sum_of(with({before}), with({after}))), (std::vector<std::uint64_t>{10, 30}));
    // Unless it was alive before that.
    after.first_ns = 99;
    EXPECT_EQ(ids(sum_of(with({before}), with({after}))), (std::vector<std::uint64_t>{10}));

    const auto apart = [](auto change) {
        FlowSnapshot other = flow(2, 7, 0, 100);
        change(other);
        return ids(sum_of(with({flow(1, 7, 0, 100)}), with({other}))).size() == 2;
    };
    EXPECT_FALSE(apart([](FlowSnapshot&) {}));
    EXPECT_TRUE(apart([](FlowSnapshot& f) { f.destination.qpn = 8; }));
    EXPECT_TRUE(apart([](FlowSnapshot& f) { f.service = Service::uc; }));
    EXPECT_TRUE(apart([](FlowSnapshot& f) { f.transport = wire::Transport::roce1; }));
    EXPECT_TRUE(apart([](FlowSnapshot& f) { f.source.address = ipv4(3); }));
    EXPECT_TRUE(apart([](FlowSnapshot& f) { f.destination.address = ipv4(3); }));
    EXPECT_FALSE(apart([](FlowSnapshot& f) { f.source.qpn = 99; }));  // known late: not part of the key

    FlowSnapshot stream = flow(1, 0, 0, 100);
    stream.transport = wire::Transport::iwarp;
    stream.destination.qpn.reset();
    stream.source.port = 40000;
    stream.destination.port = 4791;
    FlowSnapshot other = stream;
    other.id = 2;
    EXPECT_EQ(sum_of(with({stream}), with({other})).flows.size(), 1u);
    other.source.port = 40001;
    EXPECT_EQ(sum_of(with({stream}), with({other})).flows.size(), 2u);
}

TEST(Merge, of_two_parts_by_hand) {
    FlowSnapshot a = flow(10, 7, 1000, 2000);
    FlowSnapshot b = flow(50, 7, 2500, 4500);
    a.packets = 5;
    b.packets = 7;
    a.retransmitted_packets = 2;
    b.missing_packets = 4;
    a.duplicate_packets = 1;
    b.duplicate_packets = 0;
    a.confidence = 0.9;
    b.confidence = 0.7;
    a.messages_mean = 4;  // over 1000 ns
    b.messages_mean = 1;  // over 2000 ns
    a.messages_max = b.messages_max = 8;
    a.at_max_ns = 30;
    b.at_max_ns = 12;
    a.state_ns[index_of(State::transmit_new)] = 1000;
    b.state_ns[index_of(State::transmit_new)] = 500;
    b.state_ns[index_of(State::rnr_wait)] = 1500;
    a.round_trip_min_ns = 800;
    b.round_trip_min_ns = 650;
    a.cnp_packets = 1;
    b.cnp_packets = 3;
    a.rate_drop_after_cnp = 0.5;
    b.rate_drop_after_cnp = 0.9;
    a.credits_last = 3;
    b.credits_last = 1;
    b.source.qpn = 77;
    b.finished = true;
    a.event_summaries = {{EventKind::gap, 5, {11, 14, 19, 30}, 9, 20}, {EventKind::cnp, 1, {12}, 0, 0}};
    b.event_summaries = {{EventKind::retransmission, 1, {60}, 2, 2}, {EventKind::gap, 2, {13, 61}, 12, 13}};
    a.operations[index_of(Operation::write)].count = 3;
    b.operations[index_of(Operation::write)].count = 4;
    a.operations[index_of(Operation::write)].latency_ns.record(500);
    b.operations[index_of(Operation::write)].latency_ns.record(700);

    const Snapshot merged = sum_of(with({b}), with({a}));
    ASSERT_EQ(merged.flows.size(), 1u);
    const FlowSnapshot& f = merged.flows[0];
    EXPECT_EQ(f.id, 10u);
    EXPECT_EQ(f.first_ns, 1000);
    EXPECT_EQ(f.last_ns, 4500);
    EXPECT_TRUE(f.finished);
    EXPECT_EQ(f.packets, 12u);
    EXPECT_EQ(f.retransmitted_packets, 2u);
    EXPECT_EQ(f.missing_packets, 4u);
    EXPECT_EQ(f.duplicate_packets, 1u);
    EXPECT_FALSE(f.reordered_packets);  // known to neither
    EXPECT_DOUBLE_EQ(f.confidence, 0.7);
    EXPECT_DOUBLE_EQ(f.messages_mean, 6000.0 / 3500);
    EXPECT_EQ(f.at_max_ns, 42u);
    EXPECT_EQ(f.state_ns[index_of(State::transmit_new)], 1500u);
    EXPECT_EQ(f.state_ns[index_of(State::rnr_wait)], 1500u);
    EXPECT_EQ(f.state_ns[index_of(State::unobserved)], 500u);  // 2000 to 2500: in neither part
    EXPECT_EQ(f.round_trip_min_ns, 650u);
    EXPECT_DOUBLE_EQ(f.rate_drop_after_cnp.value(), (0.5 + 3 * 0.9) / 4);
    EXPECT_EQ(f.credits_last, 1);
    EXPECT_EQ(f.source.qpn, 77u);
    EXPECT_EQ(f.operations[index_of(Operation::write)].count, 7u);
    EXPECT_EQ(f.operations[index_of(Operation::write)].latency_ns.sum(), 1200u);
    ASSERT_EQ(f.event_summaries.size(), 3u);
    EXPECT_EQ(f.event_summaries[0].kind, EventKind::retransmission);
    EXPECT_EQ(f.event_summaries[1].kind, EventKind::gap);
    EXPECT_EQ(f.event_summaries[1].count, 7u);
    EXPECT_EQ(f.event_summaries[1].frames, (std::vector<std::uint64_t>{11, 13, 14, 19}));
    EXPECT_EQ(f.event_summaries[1].value_max, 12u);
    EXPECT_EQ(f.event_summaries[1].value_sum, 33u);
    EXPECT_EQ(f.event_summaries[2].kind, EventKind::cnp);
}

TEST(Merge, renames_the_opposite_direction) {
    const auto pair = [](std::uint64_t id, std::int64_t first_ns) {
        FlowSnapshot there = flow(id, 7, first_ns, first_ns + 10);
        FlowSnapshot back = flow(id + 1, 8, first_ns, first_ns + 10);
        std::swap(back.source.address, back.destination.address);
        there.reverse = back.id;
        back.reverse = there.id;
        return with({there, back});
    };
    const Snapshot merged = sum_of(pair(40, 1000), pair(5, 0));
    EXPECT_EQ(ids(merged), (std::vector<std::uint64_t>{5, 6}));
    EXPECT_EQ(merged.flow(5)->reverse, 6u);
    EXPECT_EQ(merged.flow(6)->reverse, 5u);

    // Paired in the later part alone, and there with a flow that has a smaller id in the earlier one.
    Snapshot early = pair(5, 0);
    for (FlowSnapshot& f : early.flows) f.reverse.reset();
    const Snapshot late = sum_of(early, pair(40, 1000));
    EXPECT_EQ(late.flow(5)->reverse, 6u);
    EXPECT_EQ(late.flow(6)->reverse, 5u);
}

TEST(Merge, hosts_count_a_sender_once) {
    const auto part = [](std::uint64_t id, std::int64_t first_ns, std::uint32_t qpn) {
        Snapshot s = with({flow(id, qpn, first_ns, first_ns + 10)});
        s.flows[0].payload_bytes = 100;
        HostSnapshot h;
        h.address = ipv4(2);
        h.senders = 1;
        h.received_wire_bytes = 150;
        s.hosts = {h};
        s.capture.packets = 1;
        s.capture.flows_seen = 1;
        s.capture.first_ns = first_ns;
        s.capture.last_ns = first_ns + 10;
        return s;
    };
    const Snapshot same = sum_of(part(1, 0, 7), part(2, 20, 7));
    EXPECT_EQ(same.hosts[0].senders, 1u);
    EXPECT_EQ(same.capture.flows_seen, 1u);
    EXPECT_EQ(same.hosts[0].received_wire_bytes, 300u);
    EXPECT_EQ(same.capture.first_ns, 0);
    EXPECT_EQ(same.capture.last_ns, 30);
    const Snapshot two = sum_of(part(1, 0, 7), part(2, 20, 8));
    EXPECT_EQ(two.hosts[0].senders, 2u);
    EXPECT_EQ(two.capture.flows_seen, 2u);
}

TEST(Difference, of_a_state_and_itself_is_silence) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Snapshot s = sum_of(RandomSnapshots(seed).parts_in_time(1)[0], {});
        const Snapshot nothing = difference(s, s);
        EXPECT_TRUE(nothing.flows.empty());
        EXPECT_TRUE(nothing.hosts.empty());
        EXPECT_TRUE(nothing.pauses.empty());
        EXPECT_TRUE(nothing.attempts.empty());
        EXPECT_EQ(nothing.capture.packets, 0u);
        EXPECT_EQ(text_of(difference({}, s)), text_of(s));
    }
}

/// What the part added is what the difference shows: it is merge() the other way round.
TEST(Difference, gives_back_what_was_merged) {
    unsigned compared = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        RandomSnapshots random(seed);
        const auto parts = random.parts_in_time(2);
        const Snapshot earlier = sum_of(parts[0], {});
        const Snapshot added = sum_of(parts[1], {});
        const Snapshot rest = difference(earlier, sum_of(earlier, added));
        ASSERT_EQ(rest.flows.size(), added.flows.size());
        EXPECT_EQ(rest.capture.packets, added.capture.packets);
        EXPECT_EQ(rest.capture.bytes, added.capture.bytes);
        EXPECT_EQ(rest.capture.last_ns, added.capture.last_ns);
        EXPECT_LE(rest.attempts.size(), added.attempts.size());
        for (const FlowSnapshot& a : added.flows) {
            const auto found = std::find_if(rest.flows.begin(), rest.flows.end(), [&a](const FlowSnapshot& f) {
                return f.source.address == a.source.address && f.destination.qpn == a.destination.qpn &&
                       f.source.port == a.source.port && f.last_ns == a.last_ns;
            });
            ASSERT_NE(found, rest.flows.end());
            const FlowSnapshot& f = *found;
            ++compared;
            EXPECT_EQ(f.packets, a.packets);
            EXPECT_EQ(f.wire_bytes, a.wire_bytes);
            EXPECT_EQ(f.cnp_packets, a.cnp_packets);
            EXPECT_EQ(f.retransmitted_packets.value_or(0), a.retransmitted_packets.value_or(0));
            EXPECT_EQ(f.naks, a.naks);
            EXPECT_EQ(f.messages_total(), a.messages_total());
            EXPECT_EQ(f.message_bytes_total(), a.message_bytes_total());
            EXPECT_EQ(f.message_bytes.buckets(), a.message_bytes.buckets());
            EXPECT_EQ(f.recovery.count, a.recovery.count);
            for (std::size_t i = 0; i < operation_count; ++i)
                EXPECT_EQ(f.operations[i].latency_ns.buckets(), a.operations[i].latency_ns.buckets());
            if (a.tcp) {
                EXPECT_EQ(f.tcp->segments, a.tcp->segments);
            }
            EXPECT_EQ(sum(f.state_ns), f.wall_ns());
            EXPECT_EQ(f.state_ns[index_of(State::rnr_wait)], a.state_ns[index_of(State::rnr_wait)]);
            const double mine = f.messages_mean * static_cast<double>(f.wall_ns());
            const double theirs = a.messages_mean * static_cast<double>(a.wall_ns());
            EXPECT_NEAR(mine, theirs, 1e-3);
        }
    }
    EXPECT_GT(compared, 500u);
}

TEST(Difference, of_a_flow_by_hand) {
    FlowSnapshot then = flow(10, 7, 1000, 2000);
    then.packets = 5;
    then.state_ns[index_of(State::transmit_new)] = 400;
    then.state_ns[index_of(State::application_idle)] = 600;
    then.messages_mean = 2;
    then.messages_max = 4;
    then.at_max_ns = 100;
    then.event_summaries = {{EventKind::gap, 1, {11}, 5, 5}, {EventKind::nak, 1, {12}, 0, 0}};
    then.operations[index_of(Operation::send)].latency_ns.record(1'000'000);
    FlowSnapshot now = then;
    now.last_ns = 3000;
    now.packets = 9;
    // The gap that was open has turned out to be a wait for the receiver: 200 ns changed their name.
    now.state_ns[index_of(State::application_idle)] = 400;
    now.state_ns[index_of(State::rnr_wait)] = 900;
    now.state_ns[index_of(State::transmit_new)] = 700;
    now.messages_mean = 3;
    now.at_max_ns = 150;
    now.event_summaries[0] = {EventKind::gap, 3, {11, 20, 21}, 9, 15};
    now.operations[index_of(Operation::send)].latency_ns.record(2'000);
    FlowSnapshot idle = flow(11, 8, 0, 500);

    const Snapshot rest = difference(with({then, idle}), with({now, idle}));
    ASSERT_EQ(ids(rest), (std::vector<std::uint64_t>{10}));
    const FlowSnapshot& f = rest.flows[0];
    EXPECT_EQ(f.first_ns, 2000);
    EXPECT_EQ(f.last_ns, 3000);
    EXPECT_EQ(f.packets, 4u);
    EXPECT_EQ(f.state_ns[index_of(State::transmit_new)], 300u);
    EXPECT_EQ(f.state_ns[index_of(State::application_idle)], 0u);
    EXPECT_EQ(f.state_ns[index_of(State::rnr_wait)], 700u);
    EXPECT_EQ(sum(f.state_ns), f.wall_ns());
    EXPECT_DOUBLE_EQ(f.messages_mean, 4.0);  // 3 * 2000 - 2 * 1000 message-ns in 1000 ns
    EXPECT_EQ(f.messages_max, 4u);
    EXPECT_EQ(f.at_max_ns, 50u);
    ASSERT_EQ(f.event_summaries.size(), 1u);
    EXPECT_EQ(f.event_summaries[0].count, 2u);
    EXPECT_EQ(f.event_summaries[0].frames, (std::vector<std::uint64_t>{20, 21}));
    EXPECT_EQ(f.event_summaries[0].value_sum, 10u);
    const Histogram& latency = f.operations[index_of(Operation::send)].latency_ns;
    EXPECT_EQ(latency.count(), 1u);
    EXPECT_EQ(latency.sum(), 2'000u);
    EXPECT_LE(*latency.max(), 2'020u);
}

TEST(Difference, keeps_flows_that_only_got_answers) {
    const FlowSnapshot then = flow(10, 7, 0, 100);
    FlowSnapshot now = then;
    now.operations[index_of(Operation::write)].latency_ns.record(5);
    EXPECT_EQ(difference(with({then}), with({now})).flows.size(), 1u);
    now = then;
    now.cnp_packets = 1;
    EXPECT_EQ(difference(with({then}), with({now})).flows.size(), 1u);
    now = then;
    now.naks[0] = 1;
    EXPECT_EQ(difference(with({then}), with({now})).flows.size(), 1u);
}

TEST(Difference, of_a_restarted_source_does_not_go_below_zero) {
    FlowSnapshot then = flow(10, 7, 0, 1000);
    then.packets = 100;
    then.state_ns[0] = 1000;
    FlowSnapshot now = flow(10, 7, 0, 10);
    now.packets = 3;
    now.state_ns[0] = 10;
    const Snapshot rest = difference(with({then}), with({now}));
    ASSERT_EQ(rest.flows.size(), 1u);
    EXPECT_EQ(rest.flows[0].packets, 0u);
    EXPECT_EQ(rest.flows[0].wall_ns(), 0u);
    EXPECT_EQ(sum(rest.flows[0].state_ns), 0u);
}

/// A busy server rejects thousands; comparing each with each of before would take minutes here.
TEST(Difference, of_very_many_attempts_is_quick) {
    constexpr std::size_t count = 300'000;
    Snapshot earlier;
    earlier.attempts.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        earlier.attempts[i].request_frame = 10 * i + 1;
        earlier.attempts[i].outcome = metrics::AttemptOutcome::rejected;
    }
    Snapshot later = earlier;
    later.attempts[7].requests = 2;                // repeated,
    later.attempts[count / 2].end_frame = 12'345;  // ended,
    later.attempts.push_back(later.attempts.back());
    later.attempts.back().request_frame += 10;  // and new
    const std::clock_t begun = std::clock();
    const Snapshot rest = difference(earlier, later);
    EXPECT_LT(std::clock() - begun, 10 * CLOCKS_PER_SEC);
    ASSERT_EQ(rest.attempts.size(), 3U);
    EXPECT_EQ(rest.attempts[0].request_frame, 71U);
    EXPECT_EQ(rest.attempts[1].request_frame, 10 * (count / 2) + 1);
    EXPECT_EQ(rest.attempts[2].request_frame, 10 * count + 1);
}

}  // namespace
}  // namespace metrics
