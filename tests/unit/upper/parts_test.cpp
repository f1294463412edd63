// The parts of a command and what repairs cost it, in made exchanges whose truth is known. Times in microseconds; the
// tap is next to the initiator.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "tests/unit/upper/found_commands.h"
#include "upper/message_flow.h"
#include "upper/protocols/nvme_protocol.h"
#include "upper/upper_connection.h"

namespace upper_test {
namespace {

using Octets = std::vector<std::byte>;
using Parts = std::array<std::uint64_t, 5>;

void store_le(Octets& octets, std::size_t at, std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) octets[at + i] = static_cast<std::byte>(value >> 8 * i & 0xff);
}

constexpr std::uint32_t key_of(std::uint16_t id) { return 0x100u + id; }
constexpr std::uint64_t memory = 0x1000;

/// A Read (2) or Write (1) of one namespace with `bytes` in memory, or within the capsule.
Octets request(std::uint8_t opcode, std::uint16_t id, std::uint32_t bytes, bool in_capsule = false) {
    Octets entry(64);
    store_le(entry, 0, opcode, 1);
    store_le(entry, 1, 0x40, 1);
    store_le(entry, 2, id, 2);
    store_le(entry, 4, 1, 4);
    store_le(entry, 24, in_capsule ? 0 : memory, 8);
    store_le(entry, 32, bytes, in_capsule ? 4 : 3);
    if (!in_capsule) store_le(entry, 35, key_of(id), 4);
    store_le(entry, 39, in_capsule ? 0x01 : 0x4f, 1);
    return entry;
}

Octets response(std::uint16_t id) {
    Octets entry(16);
    store_le(entry, 12, id, 2);
    return entry;
}

/// Two flows with PSNs from 0 on.
class Exchange {
public:
    explicit Exchange(std::optional<std::uint32_t> limit = {}) {
        connection_.set_flow(0, asks_);
        connection_.set_flow(1, answers_);
        upper::ConnectionFacts facts;
        facts.queue = 1;
        facts.queue_type = 2;
        facts.limit = limit;
        connection_.recognize(upper::protocols::nvme, upper::Evidence::user, 0, facts);
        asks_.position_of(0);
        answers_.position_of(0);
    }

    struct Packet {
        bool of_initiator = true;
        std::uint32_t psn = 0;
        std::int64_t at_us = 0;
        upper::Operation operation = upper::Operation::send;
        bool starts = true;
        bool ends = true;
        Octets payload = {};
        std::uint16_t id = 0;  ///< whose memory it is about
        std::uint64_t offset = 0;
        std::uint64_t asked = 0;
        std::uint32_t length = 0;  ///< bytes of the payload, if not all were captured
    };
    void pass(const Packet& packet) {
        upper::Flow& flow = packet.of_initiator ? asks_ : answers_;
        upper::Passing passing;
        passing.begin = flow.position_of(packet.psn);
        passing.end = passing.begin + 1;
        passing.begin_ns = packet.at_us * 1000;
        passing.end_ns = packet.at_us * 1000;
        passing.first_frame = ++frame_;
        passing.frame = frame_;
        passing.operation = packet.operation;
        passing.starts = packet.starts;
        passing.ends = packet.ends;
        passing.length = packet.length != 0 ? packet.length : static_cast<std::uint32_t>(packet.payload.size());
        passing.payload = packet.payload;
        passing.has_target = packet.operation != upper::Operation::send && packet.starts;
        passing.key = key_of(packet.id);
        passing.address = memory + packet.offset;
        passing.asked = packet.asked;
        flow.pass(passing);
    }
    void ask(std::uint32_t psn, std::int64_t at_us, const Octets& entry) {
        pass({true, psn, at_us, upper::Operation::send, true, true, entry});
    }
    void answer(std::uint32_t psn, std::int64_t at_us, std::uint16_t id) {
        pass({false, psn, at_us, upper::Operation::send, true, true, response(id)});
    }
    /// A WRITE of `count` packets of 1000 bytes, one every `step` microseconds.
    void write(std::uint32_t psn, std::int64_t at_us, unsigned count, std::uint16_t id, std::int64_t step = 1,
               std::uint64_t offset = 0) {
        for (unsigned i = 0; i < count; ++i)
            pass({false, psn + i, at_us + i * step, upper::Operation::write, i == 0, i + 1 == count, Octets(1000), id,
                  offset, count * 1000u});
    }
    void acknowledge(bool of_initiator, std::uint32_t psn, std::int64_t at_us) {
        upper::Flow& flow = of_initiator ? asks_ : answers_;
        flow.acknowledge(flow.position_of(psn) + 1, at_us * 1000);
    }
    void refuse(bool of_initiator) { (of_initiator ? asks_ : answers_).refused(); }
    /// Packets of the response to a READ at `psn`.
    void respond(std::uint32_t psn, std::int64_t at_us, unsigned first, unsigned count, unsigned all) {
        for (unsigned i = first; i < first + count; ++i) {
            upper::Passing passing;
            passing.end_ns = at_us * 1000 + (i - first) * 100;
            passing.frame = ++frame_;
            passing.operation = upper::Operation::read;
            passing.starts = i == 0;
            passing.ends = i + 1 == all;
            passing.length = 1000;
            answers_.read_response(answers_.position_of(psn + i), passing);
        }
    }
    Finder& finish() {
        connection_.end();
        return finder_;
    }

private:
    Finder finder_ = {};
    upper::CommandBudget budget_ = {};
    upper::Connection connection_{1, finder_, budget_};
    upper::Flow asks_{wire::Transport::roce2, {}, {}, 24};
    upper::Flow answers_{wire::Transport::roce2, {}, {}, 24};
    std::uint64_t frame_ = 0;
};

Parts in_us(const Found& found) {
    Parts parts = found.parts_ns;
    for (std::uint64_t& part : parts) part /= 1000;
    return parts;
}

TEST(CommandParts, a_read_of_two_writes) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 8000));
    exchange.write(0, 100, 4, 1, 10);
    exchange.write(4, 150, 4, 1, 10, 4000);
    exchange.answer(8, 185, 1);
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{0, 100, 80, 5, 0}));
    EXPECT_EQ(finder.answered[0].moved, 8000u);
    EXPECT_EQ(finder.answered[0].operations, 2u);
}

TEST(CommandParts, a_write_within_its_capsule) {
    Exchange exchange;
    Octets entry = request(1, 1, 4096, true);
    entry.resize(1000);
    for (unsigned i = 0; i < 5; ++i)
        exchange.pass({true, i, i, upper::Operation::send, i == 0, i == 4, i == 0 ? entry : Octets(790)});
    exchange.acknowledge(true, 4, 60);
    exchange.answer(0, 200, 1);
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{4, 196, 0, 0, 0}));
    EXPECT_EQ(finder.answered[0].request_ack_ns, 56'000u);
    EXPECT_EQ(finder.answered[0].inline_bytes, 4096u);
}

TEST(CommandParts, the_last_packet_of_the_data_is_lost_behind_the_tap) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 4000));
    exchange.write(0, 100, 4, 1, 10);
    exchange.answer(4, 131, 1);
    exchange.refuse(false);
    exchange.pass({false, 3, 191, upper::Operation::write, false, true, Octets(1000)});
    exchange.answer(4, 192, 1);
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{0, 100, 91, 1, 0}));
    EXPECT_EQ(finder.answered[0].repair_own_ns, 61'000u);
    EXPECT_EQ(finder.answered[0].repair_behind_ns, 0u);
    EXPECT_EQ(finder.answered[0].moved, 4000u);
}

/// What did not pass is not known: the command begins with what did.
TEST(CommandParts, the_request_is_lost_before_the_tap) {
    Exchange exchange;
    exchange.ask(0, 500, request(2, 1, 1000));
    exchange.write(0, 600, 1, 1);
    exchange.answer(1, 601, 1);
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{0, 100, 0, 1, 0}));
    EXPECT_EQ(finder.answered[0].begin_ns, 500'000);
    EXPECT_EQ(finder.answered[0].repair_own_ns, 0u);
}

/// The same, where a later request passed before: its receiver has dropped that one.
TEST(CommandParts, a_lost_request_holds_up_the_next) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 1000));
    exchange.acknowledge(true, 0, 5);
    exchange.ask(2, 20, request(2, 3, 1000));
    exchange.refuse(true);
    exchange.ask(1, 500, request(2, 2, 1000));
    exchange.ask(2, 501, request(2, 3, 1000));
    exchange.write(0, 600, 1, 2);
    exchange.answer(1, 601, 2);
    exchange.write(2, 610, 1, 3);
    exchange.answer(3, 611, 3);
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 2u);
    EXPECT_EQ(finder.answered[0].id, "0x0003");
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{481, 109, 0, 1, 0}));
    EXPECT_EQ(finder.answered[0].repair_behind_ns, 481'000u);
    EXPECT_EQ(finder.answered[1].id, "0x0002");
    EXPECT_EQ(in_us(finder.answered[1]), (Parts{0, 100, 0, 1, 0}));
    EXPECT_EQ(finder.ends.at("unanswered"), 1u);
}

TEST(CommandParts, the_target_is_not_ready_to_receive) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 1000));
    exchange.refuse(true);
    exchange.ask(0, 700, request(2, 1, 1000));
    exchange.acknowledge(true, 0, 720);
    exchange.answer(0, 900, 1);
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{700, 200, 0, 0, 0}));
    EXPECT_EQ(finder.answered[0].repair_own_ns, 700'000u);
    EXPECT_EQ(finder.answered[0].request_ack_ns, 20'000u);
}

TEST(CommandParts, one_command_waits_for_the_repair_of_another) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 10'000));
    exchange.ask(1, 1, request(2, 2, 10'000));
    exchange.write(0, 10, 10, 1);
    exchange.answer(10, 20, 1);
    exchange.write(11, 21, 10, 2);
    exchange.answer(21, 31, 2);
    exchange.refuse(false);
    exchange.pass({false, 9, 61, upper::Operation::write, false, true, Octets(1000)});
    exchange.answer(10, 62, 1);
    exchange.write(11, 63, 10, 2);
    exchange.answer(21, 73, 2);
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 2u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{0, 10, 51, 1, 0}));
    EXPECT_EQ(finder.answered[0].repair_own_ns, 31'000u);
    EXPECT_EQ(finder.answered[0].repair_behind_ns, 0u);
    EXPECT_EQ(in_us(finder.answered[1]), (Parts{0, 20, 51, 1, 0}));
    EXPECT_EQ(finder.answered[1].repair_own_ns, 0u);
    EXPECT_EQ(finder.answered[1].repair_behind_ns, 42'000u);
}

TEST(CommandParts, the_tap_changes_the_order) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 2000));
    exchange.pass({false, 0, 100, upper::Operation::write, true, false, Octets(1000), 1, 0, 2000});
    exchange.answer(2, 131, 1);
    exchange.pass({false, 1, 132, upper::Operation::write, false, true, Octets(1000)});
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{0, 100, 32, 0, 0}));
    EXPECT_EQ(finder.answered[0].repair_own_ns, 0u) << "nothing was sent again";
}

// A WRITE whose PSN is before the response's is data of the command that was answered, whenever the WRITE passes.
TEST(CommandData, a_whole_write_passes_after_the_response) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 2000));
    exchange.answer(2, 131, 1);
    exchange.write(0, 132, 2, 1);
    const Finder& finder = exchange.finish();
    EXPECT_EQ(finder.unbound, 0u);
    EXPECT_EQ(finder.late, 0u);
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(finder.answered[0].operations, 1u);
    EXPECT_EQ(finder.answered[0].moved, 2000u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{0, 132, 1, 0, 0}));
}

TEST(CommandData, a_write_that_was_lost_before_the_tap_is_sent_again) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 1000));
    exchange.answer(1, 100, 1);
    exchange.refuse(false);
    exchange.write(0, 140, 1, 1);
    exchange.answer(1, 141, 1);
    const Finder& finder = exchange.finish();
    EXPECT_EQ(finder.unbound + finder.late, 0u);
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(finder.answered[0].operations, 1u);
    EXPECT_EQ(finder.answered[0].repair_own_ns, 41'000u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{0, 140, 0, 1, 0}));
}

TEST(CommandData, memory_that_is_used_again_does_not_take_earlier_data) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 1000));
    exchange.answer(1, 100, 1);
    exchange.ask(1, 101, request(2, 1, 1000));
    exchange.write(0, 102, 1, 1);
    exchange.write(2, 110, 1, 1);
    exchange.answer(3, 111, 1);
    const Finder& finder = exchange.finish();
    EXPECT_EQ(finder.unbound + finder.late, 0u);
    ASSERT_EQ(finder.answered.size(), 2u);
    for (const Found& found : finder.answered) {
        EXPECT_EQ(found.operations, 1u);
        EXPECT_EQ(found.moved, 1000u);
    }
}

TEST(CommandData, a_write_after_the_response_belongs_to_a_known_command) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 1000));
    exchange.answer(0, 100, 1);
    exchange.write(1, 110, 1, 1);
    const Finder& finder = exchange.finish();
    EXPECT_EQ(finder.late, 1u);
    EXPECT_EQ(finder.unbound, 0u);
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(finder.answered[0].operations, 0u);
}

/// A request that the capture has without its descriptor, which names the memory.
Exchange::Packet request_without_key(std::uint32_t psn, std::int64_t at_us, std::uint16_t id) {
    Exchange::Packet packet{true, psn, at_us, upper::Operation::send, true, true, request(2, id, 1000)};
    packet.length = static_cast<std::uint32_t>(packet.payload.size());
    packet.payload.resize(24);
    return packet;
}

TEST(CommandData, unknown_memory_of_two_possible_commands) {
    Exchange one;
    one.pass(request_without_key(0, 0, 1));
    one.answer(1, 100, 1);
    one.write(0, 102, 1, 9);
    const Finder& alone = one.finish();
    EXPECT_EQ(alone.unbound, 0u);
    ASSERT_EQ(alone.answered.size(), 1u);
    EXPECT_EQ(alone.answered[0].operations, 1u);

    Exchange two;
    two.pass(request_without_key(0, 0, 1));
    two.answer(1, 100, 1);
    two.pass(request_without_key(1, 101, 2));
    two.write(0, 102, 1, 9);
    two.answer(2, 110, 2);
    const Finder& both = two.finish();
    EXPECT_EQ(both.unbound, 1u);
    ASSERT_EQ(both.answered.size(), 2u);
    for (const Found& found : both.answered) EXPECT_EQ(found.operations, 0u);
}

TEST(CommandParts, a_read_is_asked_for_again_from_its_middle) {
    Exchange exchange;
    exchange.ask(0, 0, request(1, 1, 14'000));
    exchange.pass({false, 0, 50, upper::Operation::read, true, true, {}, 1, 0, 14'000});
    exchange.respond(0, 52, 0, 7, 14);
    exchange.pass({false, 7, 300, upper::Operation::read, true, true, {}, 1, 7000, 7000});
    exchange.respond(0, 309, 7, 6, 14);
    exchange.respond(0, 310, 13, 1, 14);
    exchange.answer(14, 320, 1);
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{0, 50, 260, 10, 0}));
    EXPECT_EQ(finder.answered[0].operations, 1u);
    EXPECT_EQ(finder.answered[0].moved, 14'000u);
    EXPECT_EQ(finder.answered[0].repair_own_ns, 250'000u);
}

/// Two commands may be open. From 10 to 100 and from 150 to 400 two are. The third request comes 50 after the answer
/// that made room: the limit held it up. The fourth comes 200 after such an answer, and waited for nothing. Nothing is
/// open from 500 to 600.
TEST(ConnectionTime, the_limit_is_a_state_if_the_next_request_waited_for_room) {
    for (const bool acknowledged : {false, true}) {
        SCOPED_TRACE(acknowledged);
        Exchange exchange(2);
        const auto answer = [&](std::uint32_t psn, std::int64_t at_us, std::uint16_t id) {
            exchange.answer(psn, at_us, id);
            if (acknowledged) exchange.acknowledge(false, psn, at_us + 1);
        };
        exchange.ask(0, 0, request(2, 1, 1000));
        exchange.ask(1, 10, request(2, 2, 1000));
        answer(0, 100, 1);
        exchange.ask(2, 150, request(2, 3, 1000));
        answer(1, 400, 2);
        answer(2, 500, 3);
        exchange.ask(3, 600, request(2, 4, 1000));
        answer(3, 650, 4);
        const Finder& finder = exchange.finish();
        EXPECT_EQ(finder.at_limit_ns, (90u + 250u) * 1000);
        EXPECT_EQ(finder.limit_ns, 90u * 1000);
        EXPECT_EQ(finder.wall_ns, 650u * 1000);
        EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
        EXPECT_EQ(finder.host_next_ns, (std::vector<std::uint64_t>{100'000}));
    }
}

/// Nothing is open from 100 to 130 us and from 700 to 705; from 300 to 400 the later of two commands is.
TEST(ConnectionTime, the_host_asks_next_after_its_own_time) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 1000));
    exchange.answer(0, 100, 1);
    exchange.ask(1, 130, request(2, 2, 1000));
    exchange.ask(2, 200, request(2, 3, 1000));
    exchange.answer(1, 300, 2);
    exchange.ask(3, 400, request(2, 4, 1000));
    exchange.answer(2, 600, 3);
    exchange.answer(3, 700, 4);
    exchange.ask(4, 705, request(2, 5, 1000));
    exchange.answer(4, 800, 5);
    const Finder& finder = exchange.finish();
    EXPECT_EQ(finder.host_next_ns, (std::vector<std::uint64_t>{30'000, 5'000}));
    EXPECT_EQ(finder.state_sum_ns, 800u * 1000);
}

// ---- schedules by chance: what a repair costs follows from the schedule itself ----

class Chance {
public:
    explicit Chance(unsigned seed) : engine_(seed) {}
    std::int64_t between(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
    }

private:
    std::mt19937 engine_;
};

/// A Read on the schedule: its request, its data in one WRITE, its response. Times in microseconds.
struct Planned {
    std::int64_t asked = 0;
    std::int64_t asked_again = -1;
    std::uint32_t first = 0;     ///< PSN of its data
    std::uint32_t response = 0;  ///< PSN
    std::uint64_t own = 0;       ///< of repairs
    std::uint64_t behind = 0;
    Parts parts{};
};

std::string id_text(std::size_t command) { return "0x000" + std::to_string(command); }

void expect_planned(const Finder& finder, const std::vector<Planned>& plan) {
    ASSERT_EQ(finder.answered.size(), plan.size());
    std::map<std::string, Found> by_id;
    for (const Found& found : finder.answered) by_id[found.id] = found;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        const Found& found = by_id[id_text(i)];
        EXPECT_EQ(in_us(found), plan[i].parts) << "command " << i;
        EXPECT_EQ(found.repair_own_ns, plan[i].own * 1000) << "command " << i;
        EXPECT_EQ(found.repair_behind_ns, plan[i].behind * 1000) << "command " << i;
    }
}

std::uint64_t overlap(std::int64_t begin, std::int64_t end, std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, std::min(end, to) - std::max(begin, from)));
}

/// Reads with data of one to five packets, asked one after the other.
std::vector<Planned> plan_reads(Chance& chance) {
    std::vector<Planned> plan(static_cast<std::size_t>(chance.between(1, 6)));
    std::uint32_t psn = 0;
    for (std::size_t i = 0; i < plan.size(); ++i) {
        plan[i].asked = static_cast<std::int64_t>(i) * 2;
        plan[i].first = psn;
        plan[i].response = psn + static_cast<std::uint32_t>(chance.between(1, 5));
        psn = plan[i].response + 1;
    }
    return plan;
}

std::uint32_t data_bytes(const Planned& read) { return (read.response - read.first) * 1000; }

void pass_answer(Exchange& exchange, const std::vector<Planned>& plan, std::uint32_t psn, std::int64_t at_us) {
    const auto command =
        std::find_if(plan.begin(), plan.end(), [psn](const Planned& one) { return psn <= one.response; });
    const auto id = static_cast<std::uint16_t>(command - plan.begin());
    if (psn == command->response) return exchange.answer(psn, at_us, id);
    exchange.pass({false, psn, at_us, upper::Operation::write, psn == command->first, psn + 1 == command->response,
                   Octets(1000), id, 0, data_bytes(*command)});
}

/// A packet of the target is lost behind the tap, and the target goes back to it once it has sent all.
TEST(CommandParts, a_loss_is_charged_to_all_that_wait_for_its_repair) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Chance chance(seed);
        std::vector<Planned> plan = plan_reads(chance);
        const std::uint32_t count = plan.back().response + 1;
        const auto lost = static_cast<std::uint32_t>(chance.between(0, count - 1));
        std::vector<std::int64_t> sent(count);
        std::vector<std::int64_t> again(count, -1);
        std::int64_t now = 20;
        for (std::int64_t& time : sent) time = now += chance.between(1, 10);
        now += chance.between(10, 200);
        for (std::uint32_t psn = lost; psn < count; ++psn) again[psn] = now += chance.between(1, 10);

        Exchange exchange;
        for (std::size_t i = 0; i < plan.size(); ++i)
            exchange.ask(static_cast<std::uint32_t>(i), plan[i].asked,
                         request(2, static_cast<std::uint16_t>(i), data_bytes(plan[i])));
        for (std::uint32_t psn = 0; psn < count; ++psn) pass_answer(exchange, plan, psn, sent[psn]);
        exchange.refuse(false);
        for (std::uint32_t psn = lost; psn < count; ++psn) pass_answer(exchange, plan, psn, again[psn]);

        for (Planned& one : plan) {
            const auto arrived = [&](std::uint32_t psn) { return psn < lost ? sent[psn] : again[psn]; };
            const std::int64_t data_end = arrived(one.response - 1);
            const std::int64_t end = arrived(one.response);
            // The first sending of the response counts as its beginning if all data had arrived by then.
            const std::int64_t response_begin = std::max(data_end, one.response - 1 < lost ? sent[one.response] : end);
            one.parts = {0, static_cast<std::uint64_t>(sent[one.first] - one.asked),
                         static_cast<std::uint64_t>(data_end - sent[one.first]),
                         static_cast<std::uint64_t>(response_begin - data_end),
                         static_cast<std::uint64_t>(end - response_begin)};
            const std::uint64_t waited = overlap(one.asked, end, sent.back(), again.back());
            (one.first <= lost && lost <= one.response ? one.own : one.behind) = waited;
        }
        expect_planned(exchange.finish(), plan);
    }
}

/// The target has no receive for a request: it, and those after it, are sent again.
TEST(CommandParts, an_rnr_nak_is_charged_to_all_requests_from_there_on) {
    for (unsigned seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Chance chance(seed);
        std::vector<Planned> plan = plan_reads(chance);
        const auto last = static_cast<std::int64_t>(plan.size()) - 1;
        const auto refused = static_cast<std::size_t>(chance.between(0, last));
        std::int64_t now = plan.back().asked + chance.between(10, 700);
        Exchange exchange;
        const auto ask = [&](std::size_t i, std::int64_t at_us) {
            exchange.ask(static_cast<std::uint32_t>(i), at_us,
                         request(2, static_cast<std::uint16_t>(i), data_bytes(plan[i])));
        };
        for (std::size_t i = 0; i < plan.size(); ++i) ask(i, plan[i].asked);
        exchange.refuse(true);
        for (std::size_t i = refused; i < plan.size(); ++i) ask(i, plan[i].asked_again = now += chance.between(1, 10));
        const std::int64_t repaired = now;

        for (std::size_t i = 0; i < plan.size(); ++i) {
            Planned& one = plan[i];
            std::vector<std::int64_t> sent;
            for (std::uint32_t psn = one.first; psn <= one.response; ++psn) {
                sent.push_back(now += chance.between(1, 10));
                pass_answer(exchange, plan, psn, now);
            }
            const std::int64_t request_end = i < refused ? one.asked : one.asked_again;
            const std::int64_t data_end = sent[sent.size() - 2];
            one.parts = {static_cast<std::uint64_t>(request_end - one.asked),
                         static_cast<std::uint64_t>(sent.front() - request_end),
                         static_cast<std::uint64_t>(data_end - sent.front()),
                         static_cast<std::uint64_t>(sent.back() - data_end), 0};
            const std::uint64_t waited = overlap(one.asked, sent.back(), plan.back().asked, repaired);
            if (i == refused) one.own = waited;
            if (i > refused) one.behind = waited;
        }
        expect_planned(exchange.finish(), plan);
    }
}

/// An acknowledgement was lost, and the sender repeats what has arrived: the command is over.
TEST(CommandParts, a_needless_repeat_costs_a_command_nothing) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 1000));
    exchange.write(0, 100, 1, 1);
    exchange.answer(1, 101, 1);
    exchange.acknowledge(false, 1, 110);
    exchange.answer(1, 900, 1);
    exchange.ask(0, 950, request(2, 1, 1000));
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(in_us(finder.answered[0]), (Parts{0, 100, 0, 1, 0}));
    EXPECT_EQ(finder.answered[0].repair_own_ns, 0u);
}

TEST(CommandParts, an_identifier_that_is_used_again_replaces_its_command) {
    Exchange exchange;
    exchange.ask(0, 0, request(2, 1, 1000));
    exchange.ask(1, 10, request(2, 1, 1000));
    exchange.answer(0, 30, 1);
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(finder.answered[0].begin_ns, 10'000);
    EXPECT_EQ(finder.ends.at("replaced"), 1u);
}

/// Memory is bounded: the oldest are given up.
TEST(CommandParts, commands_without_answers_are_bounded) {
    Exchange exchange;
    constexpr unsigned more = 100;
    for (unsigned i = 0; i < upper::CommandTable::max_commands + more; ++i)
        exchange.ask(i, i, request(2, static_cast<std::uint16_t>(i), 1000));
    const Finder& finder = exchange.finish();
    EXPECT_EQ(finder.ends.at("given_up"), more);
    EXPECT_EQ(finder.ends.at("unanswered"), upper::CommandTable::max_commands);
}

}  // namespace
}  // namespace upper_test
