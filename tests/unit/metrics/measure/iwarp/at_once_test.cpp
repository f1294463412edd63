#include <gtest/gtest.h>
#include <random>

#include "script.h"

/// Attribution's short way for segments gives what its rules give, whatever came before.
namespace {

using namespace metrics;
using namespace stream_test;

constexpr std::uint8_t tcp_ece = 0x40;

struct Conversation {
    std::uint32_t kinds;          ///< of messages: 1 Writes, 2 and Sends, 3 and READs
    bool both;                    ///< the server speaks, too
    std::uint32_t small_windows;  ///< one acknowledgement of so many; 0: none
    std::uint32_t marks;          ///< also, with ECE
    std::uint32_t again;          ///< one segment of so many is sent again; 0: none
};

/// Both scripts say the same; only one of them may take the short way.
class Twins {
public:
    Twins(const Conversation& wanted, unsigned seed) : wanted_(wanted), random_(seed) {
        by_rules_.store.options.shortcut = false;
        each([](Script& script) { script.establish(); });
    }

    void step() {
        constexpr std::int64_t gaps_ns[] = {0, 0, 100, 400, 700, 900, 1'100, 5'000, 80'000, 2'500'000};
        // After the long ones marks are forgotten.
        const std::int64_t gap_ns = upto(99) == 0 ? 400'000'000 : gaps_ns[upto(9)];
        const bool client = !wanted_.both || upto(2) != 0;
        if (upto(3) == 0)
            acknowledge(!client, gap_ns);
        else
            speak(client, gap_ns);
    }
    std::string difference() {
        for (const bool client : {true, false}) {
            const Flow* const one = at_once_.flow(client);
            const Flow* const other = by_rules_.flow(client);
            if (one == nullptr || other == nullptr) continue;
            const Attribution& quick = one->attribution;
            const Attribution& ruled = other->attribution;
            const std::int64_t now_ns = at_once_.now_ns;
            if (quick.states(now_ns, one->ledger.messages()) != ruled.states(now_ns, other->ledger.messages()))
                return client ? "the client's states" : "the server's states";
            if (quick.unsure_ns() != ruled.unsure_ns()) return "what another tolerance would have named";
            if (quick.queueing_ns() != ruled.queueing_ns()) return "queueing";
            if (quick.started() && quick.last_state() != ruled.last_state()) return "the last state";
        }
        return {};
    }

private:
    template <class Act>
    void each(Act act) {
        act(at_once_);
        act(by_rules_);
    }
    std::uint32_t upto(std::uint32_t most) { return static_cast<std::uint32_t>(random_() % (most + 1)); }
    bool one_of(std::uint32_t many) { return many != 0 && upto(many - 1) == 0; }

    void acknowledge(bool client, std::int64_t gap_ns) {
        Extras extras;
        if (one_of(wanted_.small_windows)) extras.window = static_cast<std::uint16_t>(upto(2));
        if (one_of(wanted_.marks)) extras.flags = tcp_ece;
        const std::int64_t most = at_once_.sent(!client);
        const std::int64_t missing = upto(2) == 0 ? upto(400) : 0;
        each([&](Script& script) {
            script.now_ns += gap_ns;
            script.ack(client, std::max<std::int64_t>(most - missing, 0), extras);
        });
    }
    void speak(bool client, std::int64_t gap_ns) {
        const std::size_t length = 8 + upto(300);
        if (one_of(wanted_.again) && !last_[client].empty()) {
            each([&](Script& script) {
                script.now_ns += gap_ns;
                script.segment(client, script.sent(client) - static_cast<std::int64_t>(last_[client].size()),
                               last_[client], 0);
            });
            return;
        }
        const bool ends = upto(3) != 0;
        Octets octets;
        switch (open_[client] ? 0 : upto(wanted_.kinds)) {
            case 2: octets = send_of(++msn_[client], length); break;
            case 3: octets = read_request(++msn_[client], 500); break;
            default: octets = write_of(7, 4096, length, ends); open_[client] = !ends;
        }
        if (wanted_.kinds >= 3 && !open_[client] && upto(5) == 0) octets = read_response(9, 0, length);
        last_[client] = octets;
        each([&](Script& script) {
            script.now_ns += gap_ns;
            // Now and then the segment acknowledges nothing that is new.
            script.segment(client, script.sent(client), octets, script.sent(!client) / 2);
        });
    }

    Conversation wanted_;
    std::mt19937 random_;
    Script at_once_;
    Script by_rules_;
    Octets last_[2];
    bool open_[2] = {false, false};
    std::uint32_t msn_[2] = {0, 0};
};

TEST(AtOnce, names_every_gap_as_the_rules_do) {
    const Conversation conversations[] = {
        {1, false, 0, 0, 0}, {1, false, 3, 0, 0}, {2, false, 1, 0, 0}, {1, false, 0, 3, 0}, {2, true, 0, 0, 0},
        {3, true, 0, 0, 0},  {3, true, 4, 4, 0},  {2, false, 0, 0, 9}, {3, true, 5, 5, 9},
    };
    for (const Conversation& conversation : conversations)
        for (unsigned seed = 0; seed < 8; ++seed) {
            Twins twins(conversation, seed);
            for (unsigned step = 0; step < 2500; ++step) {
                twins.step();
                ASSERT_EQ(twins.difference(), "")
                    << "conversation " << &conversation - conversations << ", seed " << seed << ", step " << step;
            }
        }
}

/// A second mark makes the sender remember for twice 1.5 ms: each must be heeded, though what comes after it is
/// prompt.
TEST(AtOnce, marks_are_heeded_one_by_one) {
    for (const bool shortcut : {true, false}) {
        Script script;
        script.store.options.shortcut = shortcut;
        script.establish();
        const auto write = [&script](std::int64_t gap_ns, bool ends) {
            script.now_ns += gap_ns;
            script.segment(true, script.sent(true), write_of(7, 0, 100, ends), 20);
        };
        const auto mark = [&script](std::int64_t gap_ns) {
            script.now_ns += gap_ns;
            Extras extras;
            extras.flags = tcp_ece;
            script.ack(false, 20, extras);
        };
        write(100'000, true);
        write(100'000, true);
        mark(300);
        write(300, true);
        mark(300);
        write(300, false);
        const Attribution& attribution = script.flow(true)->attribution;
        EXPECT_EQ(attribution.time_in(State::congestion_paced), 0u);
        write(2'500'000, true);
        EXPECT_EQ(attribution.time_in(State::congestion_paced), 2'500'000u) << "shortcut " << shortcut;
    }
}

}  // namespace
