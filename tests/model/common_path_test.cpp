/// The way of the commonest RoCE packets gives the figures of the general one, whatever came before.
#include <array>
#include <gtest/gtest.h>

#include "tests/model/model_analysis.h"
#include "tests/model/plan.h"
#include "wire/aeth.h"

namespace {

using namespace model;

/// What happens in a conversation, each once in this number of packets; 0: never.
struct Conversation {
    const char* name = "";
    std::uint32_t kinds = 1;  ///< of requests: 1 Writes, 2 and Sends, 3 and READs
    bool both = false;        ///< the other end asks, too
    std::uint32_t credits = 0;
    std::uint32_t rnr = 0;
    std::uint32_t naks = 0;
    std::uint32_t cnps = 0;
    std::uint32_t marks = 0;
    std::uint32_t losses = 0;
    std::uint32_t unseen = 0;  ///< frames that came through, but not to the tap
    std::uint32_t again = 0;
    std::uint32_t late = 0;   ///< requests that others overtake
    std::uint32_t stray = 0;  ///< acknowledgements of what was acknowledged before, or never sent
    std::uint32_t pauses = 0;
    std::uint32_t drops = 0;  ///< frames that the capture says it has lost
};

/// Both analyzers get the same packets; only one of them may take the short way.
class Twins {
public:
    Twins(const Conversation& wanted, std::uint64_t seed)
        : wanted_(wanted),
          random_(seed),
          known_directions_(seed % 3 == 0),
          quick_(options(true, seed)),
          ruled_(options(false, seed)) {}

    void step() {
        constexpr std::array<std::int64_t, 11> gaps_ns{0,     50,    100,    400,     700,      900,
                                                       1'100, 5'000, 80'000, 700'000, 2'500'000};
        now_ns_ += random_.below(150) == 0 ? 400'000'000 : gaps_ns[random_.below(gaps_ns.size())];
        const std::size_t end = wanted_.both ? random_.below(2) : 0;
        if (one_of(wanted_.drops)) {
            quick_.dropped(now_ns_, 1);
            ruled_.dropped(now_ns_, 1);
        }
        switch (random_.below(8)) {
            case 0:
            case 1: acknowledge(end); break;
            case 2: beside(); break;
            default: ask(end);
        }
    }
    std::string quick() { return text(quick_); }
    std::string ruled() { return text(ruled_); }

private:
    /// One end as requester.
    struct End {
        std::uint32_t next = 0;
        std::uint32_t acknowledged = 0;
        std::uint32_t left = 0;  ///< packets of the message under way
        bool sends = false;      ///< it is a Send
        Packet last = {};
        Packet held = {};  ///< by the network
        std::uint16_t held_identification = 0;
        bool overtaken = false;
    };

    static metrics::AnalyzerOptions options(bool shortcut, std::uint64_t seed) {
        metrics::AnalyzerOptions out;
        out.engine.shortcut = shortcut;
        out.dissector.parse.verify_crc = false;
        if (seed % 2 == 0) out.engine.link_bits_per_sec = 10'000'000'000;
        return out;
    }
    static std::string text(metrics::Analyzer& analyzer) {
        metrics::Snapshot snapshot = analyzer.snapshot();
        snapshot.memory_octets = 0;  // both ways are free to hold what they need
        return text_of(snapshot);
    }
    bool one_of(std::uint32_t many) { return many != 0 && random_.below(many) == 0; }

    Packet from(std::size_t end) const {
        Packet packet;
        packet.source_host = static_cast<std::uint32_t>(end);
        packet.destination_host = static_cast<std::uint32_t>(1 - end);
        packet.destination_qp = static_cast<std::uint32_t>(0x20 + end);
        packet.source_port = 50'000;
        packet.ecn = 2;
        return packet;
    }
    void pass(const Packet& packet) { pass(packet, identification_++); }
    void pass(const Packet& packet, std::uint16_t identification) {
        constexpr std::size_t identification_at = 18;
        support::KeptFrame kept = emit(packet, Framing::roce2_ipv4, now_ns_, false);
        base::store_be16(kept.octets.data() + identification_at, identification);
        wire::Frame frame = kept.frame(++number_);
        if (known_directions_)
            frame.direction = packet.source_host == 0 ? wire::Direction::outbound : wire::Direction::inbound;
        quick_.feed({&frame, 1}, false);
        ruled_.feed({&frame, 1}, false);
    }

    void ask(std::size_t end) {
        End& own = ends_[end];
        if (one_of(wanted_.again) && own.next != own.acknowledged) {
            // All since the last acknowledgement, or the last packet alone.
            if (own.left == 0 && random_.below(2) == 0) own.next = own.acknowledged;
            return pass(own.last);
        }
        if (one_of(wanted_.losses)) own.next += 1 + static_cast<std::uint32_t>(random_.below(3));
        if (one_of(wanted_.unseen)) {
            own.next += 1 + static_cast<std::uint32_t>(random_.below(3));
            answer(end, own.next - 1, wire::no_credit_limit);
            own.acknowledged = own.next;
        }
        Packet packet = from(end);
        const bool starts = own.left == 0;
        std::uint64_t kind = 0;
        if (starts) {
            kind = random_.below(wanted_.kinds);
            own.sends = kind == 1;
            own.left = random_.below(3) == 0 ? 2 + static_cast<std::uint32_t>(random_.below(3)) : 1;
        }
        packet.wire_psn = own.next & 0xffffff;
        packet.ecn = one_of(wanted_.marks) ? 3 : 2;
        packet.ack_request = random_.below(4) == 0;
        if (kind == 2) {
            own.left = 0;
            return read(end, packet);
        }
        constexpr std::uint8_t first = 0;
        constexpr std::uint8_t middle = 1;
        constexpr std::uint8_t last = 2;
        constexpr std::uint8_t only = 4;
        const std::uint8_t part = own.left == 1 ? (starts ? only : last) : (starts ? first : middle);
        packet.opcode = static_cast<std::uint8_t>((own.sends ? 0 : 6) + part);
        packet.payload = own.left == 1 ? 1 + static_cast<std::uint32_t>(random_.below(1024)) : 1024;
        packet.dma_length = own.left * 1024;
        packet.virtual_address = 0x1000 * random_.below(16);
        --own.left;
        ++own.next;
        own.last = packet;
        if (own.overtaken) {
            pass(packet);
            now_ns_ += 100;
            pass(own.held, own.held_identification);
            own.overtaken = false;
        } else if (one_of(wanted_.late)) {
            own.overtaken = true;
            own.held = packet;
            own.held_identification = identification_++;
        } else {
            pass(packet);
        }
    }
    void read(std::size_t end, Packet request) {
        constexpr std::uint8_t read_request = 0x0c;
        const auto packets = 1 + static_cast<std::uint32_t>(random_.below(3));
        request.opcode = read_request;
        request.dma_length = packets * 1024;
        End& own = ends_[end];
        pass(request);
        for (std::uint32_t i = 0; i < packets; ++i) {
            if (one_of(wanted_.losses)) continue;
            Packet response = from(1 - end);
            response.wire_psn = (own.next + i) & 0xffffff;
            response.opcode = response_opcode(i, packets);
            response.payload = 1024;
            response.syndrome = credits();
            now_ns_ += static_cast<std::int64_t>(random_.below(900));
            pass(response);
        }
        own.next += packets;
        own.acknowledged = own.next;
        own.last = request;
    }
    std::uint8_t credits() {
        return one_of(wanted_.credits) ? static_cast<std::uint8_t>(random_.below(6)) : wire::no_credit_limit;
    }
    /// What `end` has asked for is acknowledged by the other one.
    void acknowledge(std::size_t end) {
        constexpr std::uint8_t rnr_nak = 1 << 5;
        constexpr std::uint8_t nak = 3 << 5;
        End& own = ends_[end];
        if (one_of(wanted_.stray)) {
            const std::uint32_t behind =
                1 + static_cast<std::uint32_t>(random_.below(random_.below(9) == 0 ? 1u << 24 : 4));
            return answer(end, own.acknowledged - behind, credits());
        }
        if (own.next == own.acknowledged) return;
        const std::uint32_t open = own.next - own.acknowledged;
        const std::uint32_t psn = own.acknowledged + static_cast<std::uint32_t>(random_.below(open));
        std::uint8_t syndrome = credits();
        if (one_of(wanted_.rnr)) syndrome = static_cast<std::uint8_t>(rnr_nak | random_.below(4));
        if (one_of(wanted_.naks)) syndrome = nak;
        if (syndrome < rnr_nak)
            own.acknowledged = psn + 1;
        else if (own.left == 0)
            own.next = psn;
        answer(end, psn, syndrome);
    }
    void answer(std::size_t end, std::uint32_t psn, std::uint8_t syndrome) {
        Packet packet = from(1 - end);
        packet.wire_psn = psn & 0xffffff;
        packet.opcode = opcode_acknowledge;
        packet.syndrome = syndrome;
        pass(packet);
    }
    /// A CNP, or the sender's traffic with somebody else.
    void beside() {
        if (one_of(wanted_.cnps)) {
            Packet packet = from(1);
            packet.opcode = opcode_cnp;
            return pass(packet);
        }
        if (one_of(wanted_.pauses)) {
            Packet packet = from(0);
            packet.pause = true;
            packet.pause_quanta = static_cast<std::uint16_t>(random_.below(2) * 100);
            return pass(packet);
        }
        Packet packet = from(0);
        packet.destination_host = 2;
        packet.destination_qp = 0x30;
        packet.opcode = 10;  // RDMA WRITE Only
        packet.wire_psn = ++others_;
        packet.payload = packet.dma_length = 1024;
        for (std::uint64_t i = random_.below(12); i != 0; --i) {
            now_ns_ += 100;
            packet.wire_psn = ++others_;
            pass(packet);
        }
    }

    Conversation wanted_;
    Random random_;
    bool known_directions_;
    metrics::Analyzer quick_;
    metrics::Analyzer ruled_;
    std::array<End, 2> ends_{End{.next = 0xfff000, .acknowledged = 0xfff000}, End{.next = 77, .acknowledged = 77}};
    std::int64_t now_ns_ = 1'700'000'000'000'000'000;
    std::uint64_t number_ = 0;
    std::uint32_t others_ = 0;
    std::uint16_t identification_ = 65'000;
};

class CommonPathTest : public testing::TestWithParam<Conversation> {};

TEST_P(CommonPathTest, GivesTheFiguresOfTheGeneralOne) {
    constexpr unsigned steps = 3000;
    constexpr unsigned every = 10;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        Twins twins(GetParam(), seed);
        for (unsigned step = 1; step <= steps; ++step) {
            twins.step();
            if (step % every != 0) continue;
            ASSERT_EQ(twins.quick(), twins.ruled()) << "seed " << seed << ", step " << step;
        }
    }
}

constexpr Conversation writes{.name = "Writes", .kinds = 1};
constexpr Conversation all_kinds{.name = "AllKinds", .kinds = 3, .both = true};

Conversation with(Conversation conversation, const char* name, std::uint32_t Conversation::*what,
                  std::uint32_t once_in) {
    conversation.name = name;
    conversation.*what = once_in;
    return conversation;
}

Conversation everything() {
    Conversation out = all_kinds;
    out.name = "Everything";
    for (const auto what : {&Conversation::credits, &Conversation::late, &Conversation::stray, &Conversation::pauses})
        out.*what = 10;
    for (const auto what : {&Conversation::rnr, &Conversation::naks, &Conversation::cnps, &Conversation::marks,
                            &Conversation::losses, &Conversation::unseen, &Conversation::again, &Conversation::drops})
        out.*what = 120;
    return out;
}

INSTANTIATE_TEST_SUITE_P(
    Conversations, CommonPathTest,
    testing::Values(
        writes, Conversation{.name = "Sends", .kinds = 2}, all_kinds,
        with(Conversation{.kinds = 2}, "Credits", &Conversation::credits, 2),
        with(with(all_kinds, "", &Conversation::credits, 3), "CreditsOfBoth", &Conversation::stray, 4),
        with(all_kinds, "Marks", &Conversation::marks, 20), with(all_kinds, "Cnps", &Conversation::cnps, 40),
        with(writes, "NotReady", &Conversation::rnr, 25), with(all_kinds, "Naks", &Conversation::naks, 40),
        with(all_kinds, "Losses", &Conversation::losses, 40), with(all_kinds, "Unseen", &Conversation::unseen, 20),
        with(all_kinds, "Again", &Conversation::again, 40), with(writes, "Late", &Conversation::late, 20),
        with(all_kinds, "Stray", &Conversation::stray, 4), with(all_kinds, "Pauses", &Conversation::pauses, 3),
        with(all_kinds, "Drops", &Conversation::drops, 30), everything()),
    [](const auto& each) { return std::string(each.param.name); });

}  // namespace
