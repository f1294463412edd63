#include "metrics/measure/account/ledger.h"

#include <deque>
#include <gtest/gtest.h>
#include <optional>
#include <random>
#include <vector>

namespace metrics {
namespace {

constexpr auto ignore = [](const OutstandingMessage&) {};

/// What the ledger stands for, computed slowly: every message kept, every integral taken step by step.
struct Reference {
    struct Message {
        std::int64_t last_ns;
        std::uint64_t position;
        std::uint64_t bytes;
        Operation operation;
        bool again;
    };
    std::deque<Message> sent;
    std::optional<Message> open;
    std::int64_t now_ns = 0;
    Wide message_ns = 0;
    Wide byte_ns = 0;
    std::uint64_t at_max_ns = 0;
    std::uint64_t messages_max = 0;
    std::uint64_t bytes_max = 0;
    std::uint64_t responses_max = 0;

    std::uint64_t messages() const { return sent.size() + (open ? 1 : 0); }
    std::uint64_t bytes() const {
        std::uint64_t sum = open ? open->bytes : 0;
        for (const Message& message : sent) sum += message.bytes;
        return sum;
    }
    std::uint64_t responses() const {
        std::uint64_t count = open && wants_response(open->operation) ? 1 : 0;
        for (const Message& message : sent) count += wants_response(message.operation) ? 1 : 0;
        return count;
    }
    void pass(std::int64_t to_ns) {
        if (to_ns <= now_ns) return;
        const auto elapsed = static_cast<std::uint64_t>(to_ns - now_ns);
        message_ns += Wide{messages()} * elapsed;
        byte_ns += Wide{bytes()} * elapsed;
        if (messages_max != 0 && messages() == messages_max) at_max_ns += elapsed;
        now_ns = to_ns;
    }
    void look() {
        if (messages() > messages_max) at_max_ns = 0;
        messages_max = std::max(messages_max, messages());
        bytes_max = std::max(bytes_max, bytes());
        responses_max = std::max(responses_max, responses());
    }
    void expect_same(const Ledger& ledger) const {
        ASSERT_EQ(ledger.messages(), messages());
        ASSERT_EQ(ledger.bytes(), bytes());
        ASSERT_EQ(ledger.responses(), responses());
        ASSERT_EQ(ledger.messages_max(), messages_max);
        ASSERT_EQ(ledger.bytes_max(), bytes_max);
        ASSERT_EQ(ledger.responses_max(), responses_max);
        ASSERT_TRUE(ledger.message_ns(now_ns) == message_ns);
        ASSERT_TRUE(ledger.byte_ns(now_ns) == byte_ns);
        ASSERT_EQ(ledger.at_max_ns(now_ns), at_max_ns);
    }
};

Operation any_operation(std::mt19937_64& random) { return static_cast<Operation>(random() % operation_count); }

TEST(Ledger, one_message_by_hand) {
    LedgerPool pool(1000);
    Ledger ledger;
    ledger.begin(1000, Operation::write);
    ledger.add_bytes(1000, 4096);
    ledger.add_bytes(1010, 4096);
    ledger.add_bytes(1020, 1000);
    ledger.end(pool, 1020, Operation::write, 17, 9192);
    EXPECT_EQ(ledger.messages(), 1u);
    EXPECT_EQ(ledger.bytes(), 9192u);
    EXPECT_EQ(ledger.acknowledge(pool, 1025, 16, ignore), 0u);
    std::vector<OutstandingMessage> done;
    const auto keep = [&done](const OutstandingMessage& message) { done.push_back(message); };
    EXPECT_EQ(ledger.acknowledge(pool, 1030, 17, keep), 1u);
    ASSERT_EQ(done.size(), 1u);
    EXPECT_EQ(done[0].last_ns, 1020);
    EXPECT_EQ(done[0].position, 17u);
    EXPECT_EQ(done[0].bytes, 9192u);
    EXPECT_EQ(static_cast<Operation>(done[0].operation), Operation::write);
    EXPECT_FALSE(done[0].again || done[0].merged || done[0].responded);
    EXPECT_EQ(ledger.messages(), 0u);
    EXPECT_EQ(ledger.bytes(), 0u);
    // One message for 30 ns; 4096 octets for 10 ns, 8192 for 10, 9192 for 10.
    EXPECT_TRUE(ledger.message_ns(2000) == 30);
    EXPECT_TRUE(ledger.byte_ns(2000) == 40960 + 81920 + 91920);
    EXPECT_EQ(ledger.at_max_ns(2000), 30u);
    EXPECT_EQ(ledger.messages_max(), 1u);
    EXPECT_EQ(ledger.bytes_max(), 9192u);
}

TEST(Ledger, integrals_include_the_time_since_the_last_change) {
    LedgerPool pool(1000);
    Ledger ledger;
    ledger.post(pool, 100, Operation::send, 0, 10);
    ledger.post(pool, 110, Operation::send, 1, 30);
    EXPECT_TRUE(ledger.message_ns(125) == 10 + 2 * 15);
    EXPECT_TRUE(ledger.byte_ns(125) == 10 * 10 + 40 * 15);
    EXPECT_EQ(ledger.at_max_ns(125), 15u);
    EXPECT_TRUE(ledger.message_ns(125) == 40);  // asking changes nothing
    // A time before the last change takes nothing back.
    EXPECT_TRUE(ledger.message_ns(50) == 10);
}

TEST(Ledger, post_is_begin_add_and_end_at_once) {
    LedgerPool pool(1000);
    Ledger posted;
    Ledger reported;
    for (unsigned i = 0; i < 40; ++i) {
        const std::int64_t now_ns = 100 + 7 * i;
        const auto operation = static_cast<Operation>(i % operation_count);
        posted.post(pool, now_ns, operation, i, 100 * i);
        reported.begin(now_ns, operation);
        reported.add_bytes(now_ns, 100 * i);
        reported.end(pool, now_ns, operation, i, 100 * i);
        EXPECT_EQ(posted.responses(), reported.responses());
    }
    EXPECT_TRUE(posted.byte_ns(1000) == reported.byte_ns(1000));
    EXPECT_TRUE(posted.message_ns(1000) == reported.message_ns(1000));
    EXPECT_EQ(posted.bytes_max(), 78000u);  // 100 * 39 * 40 / 2
    EXPECT_EQ(reported.bytes_max(), 78000u);
    EXPECT_EQ(posted.responses_max(), 15u);  // three of every eight
    EXPECT_EQ(reported.responses_max(), 15u);
}

TEST(Ledger, a_message_begun_and_never_ended_is_forgotten) {
    LedgerPool pool(1000);
    Ledger ledger;
    ledger.begin(0, Operation::read);
    ledger.add_bytes(0, 500);
    ledger.begin(10, Operation::write);
    EXPECT_EQ(ledger.messages(), 1u);
    EXPECT_EQ(ledger.responses(), 0u);
    EXPECT_EQ(ledger.bytes(), 0u);
    ledger.end(pool, 20, Operation::write, 5, 70);
    EXPECT_EQ(ledger.bytes(), 70u);
    // An end without a beginning counts from there.
    ledger.end(pool, 30, Operation::read, 6, 80);
    EXPECT_EQ(ledger.messages(), 2u);
    EXPECT_EQ(ledger.responses(), 1u);
    ledger.add_bytes(30, 1000);  // to nothing
    EXPECT_EQ(ledger.bytes(), 150u);
    EXPECT_EQ(ledger.acknowledge(pool, 40, 6, ignore), 2u);
    EXPECT_EQ(ledger.bytes(), 0u);
    EXPECT_EQ(ledger.responses(), 0u);
}

TEST(Ledger, times_that_go_back_or_jump_do_no_harm) {
    LedgerPool pool(1000);
    Ledger ledger;
    ledger.post(pool, 1000, Operation::send, 0, 10);
    ledger.post(pool, 900, Operation::send, 1, 10);  // 100 ns before its predecessor
    EXPECT_TRUE(ledger.message_ns(1000) == 0);
    EXPECT_TRUE(ledger.message_ns(1010) == 20);
    ledger.post(pool, INT64_MIN, Operation::send, 2, 10);
    ledger.post(pool, INT64_MAX, Operation::send, 3, 10);
    const Wide years = Wide{3} * (static_cast<std::uint64_t>(INT64_MAX) - 1000);
    EXPECT_TRUE(ledger.message_ns(INT64_MAX) == years);
    EXPECT_EQ(ledger.acknowledge(pool, 0, 3, ignore), 4u);
    EXPECT_TRUE(ledger.message_ns(INT64_MAX) == years);

    Ledger before_the_epoch;
    before_the_epoch.post(pool, -50, Operation::send, 0, 1);
    EXPECT_TRUE(before_the_epoch.message_ns(50) == 100);
}

TEST(Ledger, retransmission_marks_from_a_position_on) {
    LedgerPool pool(1000);
    Ledger ledger;
    for (unsigned i = 0; i < 6; ++i) ledger.post(pool, i, Operation::send, 10 * i, 1);
    ledger.begin(6, Operation::send);
    ledger.mark_again(pool, 31);
    ledger.end(pool, 7, Operation::send, 60, 1);
    ledger.post(pool, 8, Operation::send, 70, 1);
    std::vector<std::uint64_t> again;
    ledger.acknowledge(pool, 9, 1000, [&again](const OutstandingMessage& message) {
        if (message.again) again.push_back(message.position);
    });
    EXPECT_EQ(again, (std::vector<std::uint64_t>{40, 50, 60}));
}

TEST(Ledger, responses_are_found_by_position) {
    LedgerPool pool(1000);
    Ledger ledger;
    EXPECT_EQ(ledger.oldest(pool), nullptr);
    EXPECT_EQ(ledger.oldest_response(pool, 0), nullptr);
    ledger.post(pool, 1, Operation::write, 10, 1);
    EXPECT_EQ(ledger.oldest_response(pool, 0), nullptr);
    ledger.post(pool, 2, Operation::read, 20, 4096);
    ledger.post(pool, 3, Operation::fetch_add, 21, 8);
    ASSERT_NE(ledger.oldest_response(pool, 15), nullptr);
    EXPECT_EQ(ledger.oldest_response(pool, 15)->position, 20u);
    EXPECT_EQ(ledger.oldest_response(pool, 20)->position, 20u);
    EXPECT_EQ(ledger.oldest_response(pool, 21)->position, 21u);
    EXPECT_EQ(ledger.oldest_response(pool, 22), nullptr);
    EXPECT_EQ(ledger.oldest(pool)->position, 10u);
    ledger.oldest_response(pool, 15)->responded = 1;
    std::vector<bool> responded;
    const auto keep = [&responded](const OutstandingMessage& message) { responded.push_back(message.responded); };
    EXPECT_EQ(ledger.complete_oldest(pool, 5, keep), 1u);
    EXPECT_EQ(ledger.complete_oldest(pool, 6, keep), 1u);
    EXPECT_EQ(responded, (std::vector<bool>{false, true}));
    EXPECT_EQ(ledger.responses(), 1u);
    EXPECT_EQ(ledger.messages(), 1u);
}

/// Random lives, at most 64 in the ring, so that nothing may be merged: all figures and every callback are exact.
TEST(Ledger, equals_the_reference_at_every_step) {
    std::mt19937_64 random(21);
    for (unsigned life = 0; life < 60; ++life) {
        LedgerPool pool(4096);
        Ledger ledger;
        Reference reference;
        reference.now_ns = 1000;
        ledger.clear(pool, reference.now_ns);  // starts the clock
        std::uint64_t position = random() >> 20;
        const std::uint64_t depth = 1 + random() % 64;
        for (unsigned step = 0; step < 20'000; ++step) {
            const std::int64_t now_ns =
                reference.now_ns + static_cast<std::int64_t>(random() % 1000) - (random() % 8 == 0 ? 900 : 0);
            reference.pass(now_ns);
            ledger.add_bytes(now_ns, 0);  // what happens next may not go through to it
            const Operation operation = any_operation(random);
            const std::uint32_t bytes = static_cast<std::uint32_t>(random() >> (32 + random() % 32));
            const bool room = reference.sent.size() < depth;
            std::vector<OutstandingMessage> done;
            const auto keep = [&done](const OutstandingMessage& message) { done.push_back(message); };
            std::size_t expected = 0;
            switch (random() % 16) {
                case 0:
                case 1:
                    ledger.begin(now_ns, operation);
                    reference.open = {0, 0, 0, operation, false};
                    break;
                case 2:
                case 3:
                    ledger.add_bytes(now_ns, bytes);
                    if (reference.open) reference.open->bytes += bytes;
                    break;
                case 4:
                case 5: {
                    if (!room) break;
                    position += 1 + random() % 5;
                    const bool again = reference.open && reference.open->again;
                    ledger.end(pool, now_ns, operation, position, bytes);
                    reference.open.reset();
                    reference.sent.push_back({now_ns, position, bytes, operation, again});
                    break;
                }
                case 6:
                case 7:
                case 8:
                case 9:
                    if (!room) break;
                    position += 1 + random() % 5;
                    ledger.post(pool, now_ns, operation, position, bytes);
                    reference.sent.push_back({now_ns, position, bytes, operation, false});
                    break;
                case 10:
                    ledger.complete_oldest(pool, now_ns, keep);
                    expected = reference.sent.empty() ? 0 : 1;
                    break;
                case 11:
                    if (random() % 8 != 0) break;
                    ledger.mark_again(pool, position - random() % 100);
                    break;
                case 12:
                    if (random() % 500 != 0) break;
                    ledger.clear(pool, now_ns);
                    reference.sent.clear();
                    reference.open.reset();
                    break;
                case 13: ledger.trim(pool); break;
                default: {
                    const std::uint64_t to = position - random() % 200;
                    while (expected < reference.sent.size() && reference.sent[expected].position <= to) ++expected;
                    ASSERT_EQ(ledger.acknowledge(pool, now_ns, to, keep), expected);
                }
            }
            ASSERT_EQ(done.size(), expected);
            for (const OutstandingMessage& message : done) {
                const Reference::Message& known = reference.sent.front();
                ASSERT_EQ(message.last_ns, known.last_ns);
                ASSERT_EQ(message.position, known.position);
                ASSERT_EQ(message.bytes, known.bytes);
                ASSERT_EQ(static_cast<Operation>(message.operation), known.operation);
                ASSERT_EQ(message.messages, 1u);
                ASSERT_FALSE(message.merged);
                reference.sent.pop_front();
            }
            reference.look();
            reference.expect_same(ledger);
            if (HasFatalFailure()) return;
        }
        EXPECT_EQ(ledger.merged(), 0u);
    }
}

/// More outstanding than the ring holds. `stride` packets a message, all of the same size: counts and bytes are exact
/// all the same, and what is handed out unmerged is a message that was sent, with its own time.
void expect_exact_when_merged(std::uint64_t stride, std::uint64_t depth, std::size_t pool_entries) {
    std::mt19937_64 random(22 + stride + depth);
    LedgerPool pool(pool_entries);
    Ledger ledger;
    Reference reference;
    std::uint64_t position = (std::uint64_t{1} << 24) - 100;
    constexpr std::uint32_t bytes = 4096;
    // The first message of all shows where the second begins.
    ledger.post(pool, 0, Operation::write, position, bytes);
    ledger.acknowledge(pool, 0, position, ignore);
    reference.messages_max = 1;
    reference.bytes_max = bytes;

    std::uint64_t single = 0;
    std::uint64_t in_groups = 0;
    std::uint64_t acknowledged = position;
    for (unsigned step = 0; step < 200'000; ++step) {
        const std::int64_t now_ns = reference.now_ns + static_cast<std::int64_t>(random() % 100);
        reference.pass(now_ns);
        if (reference.sent.size() < depth && random() % 8 != 0) {
            position += stride;
            ledger.post(pool, now_ns, Operation::write, position, bytes);
            reference.sent.push_back({now_ns, position, bytes, Operation::write, false});
        } else {
            acknowledged += random() % (8 * stride);
            acknowledged = std::min(acknowledged, position);
            ledger.acknowledge(pool, now_ns, acknowledged, [&](const OutstandingMessage& message) {
                ASSERT_LE(message.messages, reference.sent.size());
                if (message.merged) {
                    in_groups += message.messages;
                } else {
                    ++single;
                    ASSERT_EQ(message.messages, 1u);
                    ASSERT_EQ(message.last_ns, reference.sent.front().last_ns);
                }
                ASSERT_EQ(message.position, reference.sent[message.messages - 1u].position);
                ASSERT_EQ(message.bytes, message.messages * bytes);
                for (unsigned i = 0; i < message.messages; ++i) reference.sent.pop_front();
            });
            // The reference has lost what the ledger handed out; that must be what the acknowledgement covers.
            ASSERT_TRUE(reference.sent.empty() || reference.sent.front().position > acknowledged);
        }
        reference.look();
        reference.expect_same(ledger);
        if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(in_groups, 1000u);
    // A full ring has entries of up to 3 * depth / entries messages, with one latency each; one that was acknowledged
    // in part may be joined with its successor.
    const std::uint64_t entries = std::min<std::size_t>(pool_entries, 64);
    EXPECT_GE(single * (6 * depth / entries), in_groups);
    ledger.acknowledge(pool, reference.now_ns, position, [&](const OutstandingMessage& message) {
        if (message.merged) in_groups += message.messages;
    });
    EXPECT_EQ(ledger.merged(), in_groups);
    EXPECT_EQ(ledger.messages(), 0u);
    EXPECT_EQ(ledger.bytes(), 0u);
}

TEST(Ledger, merged_messages_of_one_packet_stay_exact) { expect_exact_when_merged(1, 128, 1000); }
TEST(Ledger, merged_messages_of_several_packets_stay_exact) { expect_exact_when_merged(16, 300, 1000); }
TEST(Ledger, deep_queues_stay_exact) { expect_exact_when_merged(3, 2000, 1000); }
TEST(Ledger, the_least_ring_stays_exact) { expect_exact_when_merged(2, 50, 4); }

TEST(Ledger, merged_messages_of_any_size_are_all_handed_out) {
    std::mt19937_64 random(23);
    for (unsigned life = 0; life < 50; ++life) {
        LedgerPool pool(1000);
        Ledger ledger;
        std::uint64_t position = 0;
        std::uint64_t sent = 0;
        std::uint64_t bytes_sent = 0;
        std::uint64_t responses_sent = 0;
        std::uint64_t done = 0;
        std::uint64_t bytes_done = 0;
        std::uint64_t responses_done = 0;
        const auto keep = [&](const OutstandingMessage& message) {
            done += message.messages;
            bytes_done += message.bytes;
            responses_done += message.responses;
            ASSERT_LE(message.responses, message.messages);
            ASSERT_EQ(message.merged == 0 && message.messages != 1, false);
        };
        Wide area = 0;
        for (std::int64_t now_ns = 0; now_ns < 20'000; ++now_ns) {
            if (now_ns > 0) area += sent - done;
            const auto bytes = static_cast<std::uint32_t>(random() % 20'000);
            const Operation operation = any_operation(random);
            if (random() % 3 != 0) {
                position += 1 + bytes / 1024;
                ledger.post(pool, now_ns, operation, position, bytes);
                ++sent;
                bytes_sent += bytes;
                responses_sent += wants_response(operation) ? 1 : 0;
            } else if (random() % 4 == 0) {
                ledger.complete_oldest(pool, now_ns, keep);
            } else {
                ledger.acknowledge(pool, now_ns, position - std::min(position, random() % 8000), keep);
            }
            ASSERT_EQ(ledger.messages(), sent - done);
            ASSERT_EQ(ledger.bytes(), bytes_sent - bytes_done);
            ASSERT_EQ(ledger.responses(), responses_sent - responses_done);
        }
        area += sent - done;
        EXPECT_TRUE(ledger.message_ns(20'000) == area);
        ledger.acknowledge(pool, 20'000, position, keep);
        EXPECT_EQ(done, sent);
        EXPECT_EQ(bytes_done, bytes_sent);
        EXPECT_EQ(responses_done, responses_sent);
        EXPECT_EQ(ledger.messages(), 0u);
        EXPECT_EQ(ledger.oldest(pool), nullptr);
    }
}

TEST(Ledger, a_capture_of_one_direction_stays_bounded) {
    LedgerPool pool(64);
    Ledger ledger;
    for (std::uint32_t i = 0; i < 5'000'000; ++i)
        ledger.post(pool, i, i % 2 == 0 ? Operation::read : Operation::write, i, 0xffffffff);
    EXPECT_LE(ledger.messages(), ledger.messages_max());
    EXPECT_LE(ledger.messages_max(), 64u * 65535 + 1);
    EXPECT_GT(ledger.messages(), 65535u);
    EXPECT_LE(ledger.responses(), ledger.messages());
    EXPECT_LE(ledger.bytes(), std::uint64_t{64} * 0xffffffff);
    EXPECT_LE(pool.octets(), 64 * sizeof(OutstandingMessage) + 1024);
    ledger.acknowledge(pool, 5'000'000, 5'000'000, ignore);
    EXPECT_EQ(ledger.messages(), 0u);
    EXPECT_EQ(ledger.bytes(), 0u);
    EXPECT_EQ(ledger.responses(), 0u);
}

TEST(Ledger, without_a_ring_nothing_is_outstanding) {
    LedgerPool pool(3);
    Ledger ledger;
    ledger.begin(0, Operation::read);
    ledger.end(pool, 10, Operation::read, 1, 100);
    ledger.post(pool, 20, Operation::write, 2, 100);
    EXPECT_EQ(ledger.messages(), 0u);
    EXPECT_EQ(ledger.bytes(), 0u);
    EXPECT_EQ(ledger.responses(), 0u);
    EXPECT_EQ(ledger.merged(), 2u);
    EXPECT_EQ(ledger.acknowledge(pool, 30, 2, ignore), 0u);
    EXPECT_EQ(pool.used(), 0u);
}

/// Late ones stand for none, and are never joined with others: a message without room is reported.
TEST(Ledger, late_messages_among_others_are_handed_out_each) {
    for (const unsigned seed : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u}) {
        std::mt19937_64 random(seed);
        LedgerPool pool(seed % 2 == 0 ? 64 + 16 + 4 : 4);
        Ledger ledger;
        unsigned posted = 0;
        unsigned counted = 0;
        for (std::uint64_t position = 1; position <= 300; ++position) {
            const bool late = random() % 8 < seed;
            const bool kept = late ? ledger.post_late(pool, 0, Operation::read, position, 100, 1)
                                   : ledger.post(pool, 0, Operation::read, position, 100, 1);
            posted += kept;
            counted += kept && !late;
            ASSERT_EQ(ledger.messages(), counted);
        }
        EXPECT_EQ(ledger.kept(), posted);
        unsigned done = 0;
        while (ledger.complete_oldest(pool, 1, ignore) != 0) ++done;
        EXPECT_EQ(done, posted) << seed;
        EXPECT_EQ(ledger.messages(), 0u);
        EXPECT_EQ(ledger.responses(), 0u);
        EXPECT_EQ(ledger.bytes(), 0u);
    }
}

/// Of the 600 positions that the guess gave the READ, the last 511 are remembered; those before it are sure.
TEST(Ledger, what_a_guess_has_given_can_be_taken_back) {
    LedgerPool pool(100);
    Ledger ledger;
    ledger.post(pool, 0, Operation::read, 10, 4096);
    ledger.move_newest(10, 12);
    ledger.move_newest(12, 15, true);
    ledger.post(pool, 0, Operation::send, 16, 1);
    EXPECT_EQ(ledger.shorten(17), 0u);
    EXPECT_EQ(ledger.shorten(16), 0u);
    EXPECT_EQ(ledger.shorten(12), 0u);
    EXPECT_EQ(ledger.shorten(14), 16u);  // 14 and 15
    EXPECT_EQ(ledger.shorten(14), 0u);
    EXPECT_EQ(ledger.shorten(13), 14u);
    EXPECT_EQ(ledger.acknowledge(pool, 1, 12, ignore), 1u);
    EXPECT_EQ(ledger.acknowledge(pool, 1, 16, ignore), 1u);
    ledger.post(pool, 2, Operation::read, 20, 4096);
    ledger.move_newest(20, 620, true);
    EXPECT_EQ(ledger.shorten(109), 0u);
    EXPECT_EQ(ledger.shorten(110), 621u);
}

TEST(Ledger, positions_beyond_48_bits_are_the_last) {
    LedgerPool pool(100);
    Ledger ledger;
    ledger.post(pool, 0, Operation::send, ~std::uint64_t{0}, 1);
    EXPECT_EQ(ledger.acknowledge(pool, 1, Ledger::max_position - 1, ignore), 0u);
    EXPECT_EQ(ledger.acknowledge(pool, 1, ~std::uint64_t{0}, ignore), 1u);
}

TEST(LedgerPool, rings_are_used_again_and_stay_within_the_bound) {
    std::mt19937_64 random(24);
    constexpr std::size_t most = 5000;
    LedgerPool pool(most);
    std::vector<Ledger> ledgers(300);
    std::vector<std::uint64_t> positions(ledgers.size());
    for (unsigned step = 0; step < 300'000; ++step) {
        const std::size_t which = random() % ledgers.size();
        Ledger& ledger = ledgers[which];
        switch (random() % 40) {
            case 0: ledger.clear(pool, step); break;
            case 1:
                ledger.acknowledge(pool, step, positions[which], ignore);
                ledger.trim(pool);
                break;
            default: {
                // Messages stay those of their own ledger, whatever rings are cut from others.
                const std::uint64_t position = ++positions[which];
                ledger.post(pool, step, Operation::send, position, static_cast<std::uint32_t>(which));
            }
        }
        ASSERT_LE(pool.used(), most);
    }
    EXPECT_LE(pool.octets(), most * sizeof(OutstandingMessage) + 1024);
    EXPECT_GT(pool.used(), most / 2);
    for (std::size_t which = 0; which < ledgers.size(); ++which) {
        std::uint64_t messages = 0;
        std::uint64_t bytes = 0;
        const std::uint64_t outstanding = ledgers[which].messages();
        ledgers[which].acknowledge(pool, 1'000'000, positions[which], [&](const OutstandingMessage& message) {
            messages += message.messages;
            bytes += message.bytes;
        });
        ASSERT_EQ(messages, outstanding);
        ASSERT_EQ(bytes, outstanding * which);
        ledgers[which].clear(pool, 1'000'000);
    }
    EXPECT_EQ(pool.used(), 0u);
}

}  // namespace
}  // namespace metrics
