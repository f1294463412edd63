/// What records say of queues. Every depth, time and latency is counted out by hand next to the records.
#include <cstring>
#include <gtest/gtest.h>
#include <map>

#include "metrics/measure/posts/queue_pair_table.h"
#include "tests/unit/metrics/measure/posts/records.h"

namespace {

using namespace verbs_test;
using metrics::VerbsFigures;
using metrics::posts::QueuePairTable;
using metrics::posts::QueuePairTableOptions;

constexpr std::uint32_t qp = 17;

VerbsFigures figures_of(QueuePairTable& book, std::uint32_t number = qp) {
    const auto handles = book.by_number(number);
    return handles.empty() ? VerbsFigures{} : book.figures(*book.find(handles.back()));
}

TEST(QueuePairTable, depth_is_what_was_posted_and_not_polled) {
    QueuePairTable book;
    book.add(change(0, qp, to_init, 0, 4));
    // depth:        1 from 100, 2 from 200, 1 from 500, 0 from 700, 1 from 900, 0 from 1000
    for (const Record& one : {post(100, qp, 1), post(200, qp, 2), completion(500, qp, 1), completion(700, qp, 2),
                              post(900, qp, 3), completion(1000, qp, 3)})
        book.add(one);
    const VerbsFigures figures = figures_of(book);
    EXPECT_EQ(figures.posts, 3u);
    EXPECT_EQ(figures.completions, 3u);
    EXPECT_EQ(figures.send_queue.observed_ns, 900u);
    EXPECT_DOUBLE_EQ(figures.send_queue.mean, (100 * 1 + 300 * 2 + 200 * 1 + 200 * 0 + 100 * 1) / 900.0);
    EXPECT_EQ(figures.send_queue.max, 2u);
    EXPECT_EQ(figures.send_queue.empty_ns, 200u);
    EXPECT_EQ(figures.send_queue.full_ns, 0u);
    EXPECT_EQ(figures.send_queue.capacity, 4u);
    const metrics::Histogram& latency = figures.operations.at(0).completion_ns;
    EXPECT_EQ(latency.count(), 3u);
    EXPECT_EQ(latency.sum(), 400u + 500u + 100u);
    EXPECT_EQ(figures.post_interval_ns.sum(), 100u + 700u);
    EXPECT_TRUE(figures.exact());
}

TEST(QueuePairTable, unsignalled_requests_leave_with_the_next_completion) {
    QueuePairTable book;
    book.add(change(0, qp, to_init));
    for (std::int64_t i = 0; i < 7; ++i) book.add(post(i * 10, qp, 5, 64, opcode_write, i % 4 == 3));
    book.add(completion(100, qp, 5));  // four of them
    const VerbsFigures figures = figures_of(book);
    EXPECT_EQ(figures.send_queue.max, 7u);
    EXPECT_EQ(figures.completions_missed, 0u);
    // 1 .. 6 for 10 ns each, 7 for 40 ns.
    EXPECT_DOUBLE_EQ(figures.send_queue.mean, (10 * (1 + 2 + 3 + 4 + 5 + 6) + 40 * 7) / 100.0);
    EXPECT_EQ(figures.operations.at(0).completion_ns.count(), 1u);  // its own alone
    EXPECT_EQ(figures.operations.at(0).completion_ns.sum(), 70u);
    book.add(completion(200, qp, 99));  // of no post
    EXPECT_EQ(book.unexpected(), 1u);
    EXPECT_EQ(book.find(book.by_number(qp).back())->send_level.value(), 3u);
}

TEST(QueuePairTable, all_are_signalled_where_the_recorder_did_not_know) {
    QueuePairTable book;  // sq_sig_all: flags say nothing
    book.add(change(0, qp, to_init));
    for (std::int64_t i = 0; i < 3; ++i) book.add(post(i, qp, static_cast<std::uint64_t>(i), 64, opcode_send, false));
    for (std::int64_t i = 0; i < 3; ++i) book.add(completion(10 + i, qp, static_cast<std::uint64_t>(i)));
    EXPECT_EQ(figures_of(book).operations.at(0).completion_ns.count(), 3u);
    EXPECT_EQ(book.find(book.by_number(qp).back())->send_level.value(), 0u);
}

TEST(QueuePairTable, a_missing_completion_is_made_up_for_by_the_next) {
    QueuePairTable book;
    for (std::uint64_t id = 1; id <= 4; ++id) book.add(post(static_cast<std::int64_t>(id), qp, id));
    book.add(completion(10, qp, 1));
    book.add(completion(20, qp, 4));  // 2 and 3 were lost
    const VerbsFigures figures = figures_of(book);
    EXPECT_EQ(figures.completions_missed, 2u);
    EXPECT_FALSE(figures.exact());
    EXPECT_EQ(book.find(book.by_number(qp).back())->send_level.value(), 0u);
}

TEST(QueuePairTable, flushed_requests_complete_signalled_or_not) {
    QueuePairTable book;
    for (std::uint64_t id = 1; id <= 3; ++id)
        book.add(post(static_cast<std::int64_t>(id), qp, id, 64, opcode_write, false));
    for (std::uint64_t id = 1; id <= 3; ++id) book.add(completion(10, qp, id, flushed));
    const VerbsFigures figures = figures_of(book);
    EXPECT_EQ(figures.completion_errors, 3u);
    ASSERT_EQ(figures.statuses.size(), 1u);
    EXPECT_EQ(figures.statuses[0].status, flushed);
    EXPECT_EQ(figures.statuses[0].count, 3u);
    EXPECT_EQ(figures.completions_missed, 0u);
    EXPECT_TRUE(figures.operations.empty());  // an error has no latency
}

TEST(QueuePairTable, refused_posts_are_not_in_the_queue) {
    QueuePairTable book;
    Record refused = post(5, qp, 1);
    refused.work.status = 1;
    book.add(refused);
    EXPECT_EQ(figures_of(book).posts_refused, 1u);
    EXPECT_EQ(figures_of(book).send_queue.max, 0u);
}

TEST(QueuePairTable, what_stays_on_this_side_is_in_the_queue_and_no_message) {
    QueuePairTable book;
    book.add(post(1, qp, 1, 0, opcode_invalidate));
    book.add(post(2, qp, 2));
    auto& life = *book.find(book.by_number(qp).back());
    EXPECT_EQ(life.send_level.value(), 2u);
    EXPECT_EQ(life.posts.size(), 1u);
    book.add(completion(9, qp, 2));
    EXPECT_TRUE(life.posts[0].retired);
    EXPECT_TRUE(life.posts[0].own);
    EXPECT_EQ(life.posts[0].poll_ns, 9);
}

TEST(QueuePairTable, receive_level_and_the_time_without_any) {
    QueuePairTable book;
    book.add(post_receive(0, qp));
    book.add(post_receive(100, qp));
    book.add(completion(200, qp, 0, 0, Flag::receive));
    book.add(completion(300, qp, 0, 0, Flag::receive));
    book.add(post_receive(450, qp));
    const VerbsFigures figures = figures_of(book);
    EXPECT_EQ(figures.receives, 3u);
    EXPECT_EQ(figures.receives_used, 2u);
    EXPECT_EQ(figures.receive_queue.max, 2u);
    EXPECT_EQ(figures.receive_queue.empty_ns, 150u);
    EXPECT_EQ(figures.receive_queue.observed_ns, 450u);
    EXPECT_DOUBLE_EQ(figures.receive_queue.mean, (100 * 1 + 100 * 2 + 100 * 1) / 450.0);
}

TEST(QueuePairTable, queue_pairs_share_a_receive_queue) {
    QueuePairTable book;
    for (const std::uint32_t number : {qp, qp + 1}) {
        Record made = change(0, number, to_init);
        made.change.shared_receive_queue = 5;
        book.add(made);
    }
    for (std::int64_t i = 0; i < 3; ++i) book.add(post_receive(10, 5, Flag::shared));
    book.add(completion(20, qp, 0, 0, Flag::receive));
    book.add(completion(30, qp + 1, 0, 0, Flag::receive));
    for (const std::uint32_t number : {qp, qp + 1}) {
        const VerbsFigures figures = figures_of(book, number);
        EXPECT_TRUE(figures.receive_queue_shared);
        EXPECT_EQ(figures.receive_queue.max, 3u);
        EXPECT_EQ(figures.receive_queue.observed_ns, 20u);
        EXPECT_DOUBLE_EQ(figures.receive_queue.mean, (10 * 3 + 10 * 2) / 20.0);
        EXPECT_EQ(figures.receives_used, 1u);
    }
}

TEST(QueuePairTable, a_number_that_is_used_again_is_another_queue_pair) {
    QueuePairTable book;
    book.know({100, "first", ""});
    book.add(change(0, qp, to_init));
    book.add(post(1, qp, 1));
    book.add(post(2, qp, 2));
    book.add(change(10, qp, destroyed));
    book.know({100, "second", ""});
    book.add(change(20, qp, to_init));
    book.add(post(30, qp, 1));
    const auto handles = book.by_number(qp);
    ASSERT_EQ(handles.size(), 2u);
    const VerbsFigures first = book.figures(*book.find(handles[0]));
    const VerbsFigures second = book.figures(*book.find(handles[1]));
    EXPECT_EQ(first.posts, 2u);
    EXPECT_EQ(first.process.command, "first");
    EXPECT_EQ(first.send_queue.observed_ns, 9u);
    EXPECT_EQ(second.posts, 1u);
    EXPECT_EQ(second.process.command, "second");
    EXPECT_EQ(second.send_queue.max, 1u);
    EXPECT_TRUE(book.find(handles[1])->whole);
}

TEST(QueuePairTable, processes_do_not_share_numbers) {
    QueuePairTable book;
    Record other = post(1, qp, 1);
    other.process = 200;
    book.add(post(1, qp, 1));
    book.add(other);
    Record second_device = post(1, qp, 1);
    second_device.device = 1;
    book.add(second_device);
    EXPECT_EQ(book.queue_pairs(), 3u);
}

TEST(QueuePairTable, lost_records_are_those_of_the_process_while_the_queue_pair_lived) {
    QueuePairTable book;
    book.add(lost(0, 1000));
    book.add(post(1, qp, 1));
    book.add(lost(2, 7));
    book.add(lost(3, 50, 200));
    EXPECT_EQ(figures_of(book).records_lost, 7u);
    book.add(change(4, qp, destroyed));
    book.add(lost(5, 9));
    EXPECT_EQ(figures_of(book).records_lost, 7u);
    EXPECT_EQ(book.records_lost(), 1066u);
}

TEST(QueuePairTable, a_trace_that_begins_midway_trusts_no_completion_that_could_be_anothers) {
    QueuePairTable book;
    book.add(post(1, qp, 0));
    book.add(completion(5, qp, 0));  // of this one, or of one that was posted before
    EXPECT_TRUE(figures_of(book).midway);
    EXPECT_TRUE(figures_of(book).operations.empty());
    // A second later nothing of before can be on its way.
    book.add(post(1'000'000'010, qp, 0));
    book.add(completion(1'000'000'030, qp, 0));
    ASSERT_EQ(figures_of(book).operations.size(), 1u);
    EXPECT_EQ(figures_of(book).operations[0].completion_ns.sum(), 20u);
    // Then ids alone may tell: from the sixteenth in a row that is another than the one before.
    book.add(lost(1'000'000'040, 3));
    for (std::uint64_t id = 1; id <= 20; ++id) {
        book.add(post(1'000'000'100 + static_cast<std::int64_t>(id), qp, id));
        book.add(completion(1'000'000'100 + static_cast<std::int64_t>(id), qp, id));
    }
    EXPECT_EQ(figures_of(book).operations[0].completion_ns.count(), 1u + 5u);
}

TEST(QueuePairTable, far_more_than_fit_cannot_be_outstanding) {
    QueuePairTable book;
    book.add(change(0, qp, to_init, 0, 4));
    for (std::int64_t i = 1; i <= 10; ++i) book.add(post(i, qp, static_cast<std::uint64_t>(i)));
    const VerbsFigures figures = figures_of(book);
    EXPECT_EQ(figures.send_queue.max, 8u);
    EXPECT_EQ(figures.completions_missed, 2u);
    EXPECT_EQ(figures.send_queue.full_ns, 6u);
}

/// RDMA_CM_EVENT_CONNECT_REQUEST, of 192.0.2.1 at port 7174, from 192.0.2.2.
Record connect_request(std::int64_t time_ns, std::uint16_t peer_port) {
    Record out = record(RecordKind::connection, time_ns, 0);
    out.connection = {};
    out.connection.event = 4;
    out.connection.family = 4;
    out.connection.local_port = 7174;
    out.connection.peer_port = peer_port;
    out.connection.local = {192, 0, 2, 1};
    out.connection.peer = {192, 0, 2, 2};
    return out;
}

TEST(QueuePairTable, a_servers_queue_pair_is_made_for_the_request_before_it) {
    QueuePairTable book;
    book.add(connect_request(0, 40'001));
    book.add(change(10, 1, to_init));
    book.add(connect_request(20, 40'002));
    book.add(connect_request(21, 40'003));  // two at once: nothing shows which is which
    book.add(change(30, 2, to_init));
    ASSERT_EQ(book.by_ports(7174, 40'001).size(), 1u);
    EXPECT_EQ(book.find(book.by_ports(7174, 40'001)[0])->number, 1u);
    EXPECT_EQ(to_text(book.find(book.by_ports(7174, 40'001)[0])->peer.address), "192.0.2.2");
    EXPECT_TRUE(book.by_ports(7174, 40'002).empty());
    EXPECT_TRUE(book.by_ports(7174, 40'003).empty());
    // Both were refused; seconds later there is another.
    book.add(connect_request(5'000'000'000, 40'004));
    book.add(change(5'000'000'010, 3, to_init));
    EXPECT_EQ(book.by_ports(7174, 40'004).size(), 1u);
}

/// A daemon sees processes come and go for months, and knows the one of now by its name.
TEST(QueuePairTable, processes_without_queue_pairs_make_room) {
    constexpr std::uint32_t staying = 7;
    QueuePairTableOptions options;
    options.max_processes = 64;
    options.max_queue_pairs = 24;
    QueuePairTable book(options);
    const auto of = [](Record one, std::uint32_t process) {
        one.process = process;
        return one;
    };
    book.know({staying, "stays", ""});
    book.add(of(change(0, 1, to_init), staying));
    for (std::uint32_t process = 100; process < 5100; ++process) {
        const std::int64_t now_ns = std::int64_t{process} * 1000;
        book.add(of(post(now_ns, 1, process), staying));
        book.know({process, "program " + std::to_string(process), ""});
        Record made = of(change(now_ns, 1, to_init), process);
        made.change.shared_receive_queue = 5;
        book.add(made);
        book.add(of(post_receive(now_ns + 1, 5, Flag::shared), process));
        if (process % 3 != 0) continue;  // killed: nothing shows its end
        book.add(of(change(now_ns + 2, 1, destroyed), process));
    }
    std::map<std::uint32_t, VerbsFigures> known;
    book.for_each([&](QueuePairTable::Handle, const metrics::posts::QueuePair& life) {
        known[life.process] = book.figures(life);
    });
    ASSERT_TRUE(known.contains(staying));
    EXPECT_EQ(known[staying].process.command, "stays");
    ASSERT_TRUE(known.contains(5099));
    EXPECT_EQ(known[5099].process.command, "program 5099");
    EXPECT_EQ(known[5099].receive_queue.max, 1u);
}

TEST(QueuePairTable, requests_that_nobody_took_make_room) {
    QueuePairTableOptions options;
    options.max_processes = 64;
    QueuePairTable book(options);
    for (std::uint32_t process = 100; process < 1100; ++process) {
        Record asked = connect_request(std::int64_t{process} * 1'000'000'000, 40'001);
        asked.process = process;
        book.add(asked);
    }
    Record made = change(1099LL * 1'000'000'000 + 1, 3, to_init);
    made.process = 1099;
    book.add(made);
    EXPECT_EQ(book.by_ports(7174, 40'001).size(), 1u);
}

TEST(QueuePairTable, memory_is_bounded_whatever_comes) {
    QueuePairTableOptions options;
    options.max_queue_pairs = 64;
    options.max_requests = 128;
    QueuePairTable book(options);
    std::uint64_t state = 1;
    const auto random = [&state] { return state = state * 6364136223846793005U + 1442695040888963407U; };
    for (int i = 0; i < 200'000; ++i) {
        Record one;
        std::uint64_t words[8];
        for (std::uint64_t& word : words) word = random() >> 7;
        std::memcpy(static_cast<void*>(&one), words, sizeof one);
        one.kind = static_cast<RecordKind>(random() >> 60);
        one.process = static_cast<std::uint32_t>(random() >> 62);
        one.number = static_cast<std::uint32_t>(random() >> 55);
        book.add(one);
        ASSERT_LE(book.queue_pairs(), 64u);
    }
    EXPECT_GT(book.evicted(), 0u);
    EXPECT_EQ(book.records(), 200'000u);
    book.for_each([](QueuePairTable::Handle, const metrics::posts::QueuePair& life) {
        EXPECT_LE(life.requests.size(), 128u);
        EXPECT_LE(life.posts.size(), metrics::posts::Posts::most);
    });
}

}  // namespace
