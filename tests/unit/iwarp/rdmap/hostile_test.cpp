#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "support.h"

// A peer that sends whatever it likes. Every region ends at a page that kills who touches it, and so does one that is
// not registered; what the peer has no right to write is compared with what it was.

namespace {

using iwarp::Access;
using iwarp::Sge;
using iwarp::Status;
using iwarp::ddp::TaggedBuffer;
using support::GuardedMemory;
using wire::RdmapOpcode;

constexpr std::uint32_t domain = 2;
constexpr std::uint32_t queue_pair = 5;

struct Place {
    explicit Place(std::size_t octets) : memory(octets) {}
    GuardedMemory memory;
    std::uint32_t stag = 0;
    bool writable = false;  ///< by the peer
    bool live = false;
};

class Hostile : public testing::Test {
protected:
    Hostile() {
        for (const std::size_t octets : {1u, 7u, 8u, 64u, 1000u, 4096u, 9001u, 70000u})
            places_.push_back(std::make_unique<Place>(octets));
        for (auto& place : places_) place->memory.forbid(true);
        for (auto& place : places_) enter(*place);
        restart();
    }

    std::uint64_t any(std::uint64_t below) { return random_() % below; }
    bool chance(unsigned in_hundred) { return any(100) < in_hundred; }

    void enter(Place& place) {
        place.memory.forbid(false);
        std::ranges::fill(place.memory.octets(), std::byte{0x5a});
        place.writable = chance(60);
        TaggedBuffer buffer;
        buffer.valid = true;
        buffer.access = Access::remote_read;
        if (place.writable)
            buffer.access =
                buffer.access | Access::local_write | (chance(70) ? Access::remote_write : Access::remote_atomic);
        buffer.domain = chance(90) ? domain : domain + 1;
        buffer.queue_pair = chance(90) ? 0 : queue_pair + 1;
        place.writable = place.writable && buffer.domain == domain && buffer.queue_pair == 0;
        buffer.memory = place.memory.data();
        buffer.length = place.memory.octets().size();
        buffer.first_offset = chance(50) ? 0 : reinterpret_cast<std::uintptr_t>(place.memory.data());
        place.stag = table_.insert(buffer).value();
        place.live = true;
    }
    void leave(Place& place) {
        check(place);
        table_.erase(place.stag);
        place.live = false;
        place.memory.forbid(true);
    }
    void check(const Place& place) {
        if (place.live && !place.writable) {
            ASSERT_TRUE(std::ranges::all_of(place.memory.octets(), [](std::byte b) { return b == std::byte{0x5a}; }));
        }
    }
    Place& some() { return *places_[any(places_.size())]; }
    Sge piece_of(const Place& place) {
        const auto octets = static_cast<std::uint32_t>(place.memory.octets().size());
        const auto from = static_cast<std::uint32_t>(any(octets + 1));
        auto length = static_cast<std::uint32_t>(any(octets - from + 1));
        if (chance(2)) length += 1 + static_cast<std::uint32_t>(any(100));
        return {place.memory.data() + from, length, chance(98) ? place.stag : place.stag ^ 1};
    }

    void restart() {
        owed_.clear();
        outstanding_.clear();
        events_ = {};
        next_msn_ = {1, 1, 1, 1};
        offset_ = 0;
        iwarp::rdmap::Inbound::Settings settings{.domain = domain, .queue_pair = queue_pair};
        settings.owes_ready_message = chance(20);
        inbound_.emplace(settings, table_, receives_, owed_, outstanding_, events_);
    }

    void change_surroundings() {
        if (chance(7)) {
            std::array<Sge, 4> pieces;
            for (auto& piece : pieces) piece = piece_of(some());
            receives_.post({.id = any(1000), .pieces = std::span{pieces}.first(any(5))});
        }
        if (chance(20) && !outstanding_.full()) {
            const auto sink = piece_of(some());
            if (chance(70))
                outstanding_.push({.sink_stag = sink.stag,
                                   .sink_offset = reinterpret_cast<std::uintptr_t>(sink.address),
                                   .length = sink.length,
                                   .sink = sink});
            else
                outstanding_.push({.atomic = true, .request_id = 3, .length = 8, .sink = {sink.address, 8, sink.stag}});
        }
        if (chance(20) && !owed_.empty()) owed_.pop();
        if (chance(3)) {
            auto& place = some();
            if (place.live)
                leave(place);
            else
                enter(place);
        }
        if (chance(1)) table_.invalidate(some().stag, domain, queue_pair);
    }

    // A segment that may well be right, as far as can be seen from here.
    void make_segment() {
        Place& place = some();
        const TaggedBuffer* buffer = table_.find(place.stag);
        const std::uint64_t first = buffer == nullptr ? 0 : buffer->first_offset;
        const std::uint64_t octets = place.memory.octets().size();
        const std::uint64_t at = chance(98) ? any(octets + 1) : ~std::uint64_t{0} - first - any(20);
        payload_.resize(chance(80) && at <= octets ? any(octets - at + 1) : any(65500));
        if (payload_.size() > 65500) payload_.resize(65500);
        const bool last = chance(70);
        switch (any(8)) {
            case 0:
            case 1:
                header_ = support::header_of(support::Tagged{.stag = place.stag, .offset = first + at, .last = last});
                break;
            case 2: {
                support::Tagged answer{RdmapOpcode::read_response, place.stag, first + at, last};
                if (!outstanding_.empty() && !outstanding_.front().atomic) {
                    const auto& request = outstanding_.front();
                    answer = {RdmapOpcode::read_response, request.sink_stag, request.sink_offset + request.arrived};
                    const auto missing = request.length - request.arrived;
                    payload_.resize(std::min<std::size_t>(chance(50) ? missing : any(missing + 1), 65500));
                    answer.last = payload_.size() == missing;
                }
                header_ = support::header_of(answer);
                break;
            }
            case 3:
                payload_.resize(wire::size_of<wire::RdmapReadRequest>);
                wire::emit<wire::RdmapReadRequest>(
                    std::span{payload_}.first<28>(),
                    {.size = static_cast<std::uint32_t>(any(at <= octets ? octets - at + 1 : 100)),
                     .source_stag = place.stag,
                     .source_offset = first + at});
                untagged(RdmapOpcode::read_request, 1, 0, true);
                break;
            case 4:
                payload_.resize(wire::size_of<wire::RdmapAtomicRequest>);
                wire::emit<wire::RdmapAtomicRequest>(std::span{payload_}.first<52>(),
                                                     {.operation = static_cast<std::uint8_t>(any(2) * 2),
                                                      .remote_stag = place.stag,
                                                      .remote_offset = first + (chance(80) ? at / 8 * 8 : at)});
                untagged(RdmapOpcode::atomic_request, 1, 0, true);
                break;
            case 5:
                payload_.assign(12, std::byte{});
                payload_[3] = std::byte{3};
                untagged(RdmapOpcode::atomic_response, 3, 0, true);
                break;
            case 6:
                if (chance(20)) {
                    payload_.resize(any(60));
                    untagged(RdmapOpcode::terminate, 2, 0, true);
                    break;
                }
                payload_.resize(8);
                untagged(chance(50) ? RdmapOpcode::immediate : RdmapOpcode::immediate_solicited, 0, offset_, true);
                break;
            default:
                if (chance(50)) payload_.resize(any(20));
                untagged(static_cast<RdmapOpcode>(3 + any(4)), 0, offset_, last);
                base::store_be32(header_.data() + 2, place.stag);
                break;
        }
        if (payload_.size() > 60) std::ranges::fill(payload_, static_cast<std::byte>(random_()));
    }
    void untagged(RdmapOpcode opcode, std::uint32_t queue, std::uint32_t offset, bool last) {
        header_ = support::header_of(support::Untagged{
            .opcode = opcode, .queue = queue, .msn = next_msn_[queue], .offset = offset, .last = last});
    }
    void damage() {
        for (auto left = 1 + any(3); left > 0; --left) {
            const auto where = any(10);
            auto& octets = where < 7 || payload_.empty() ? header_ : payload_;
            octets[any(octets.size())] ^= static_cast<std::byte>(1u << any(8));
        }
        if (chance(20)) payload_.resize(any(chance(50) ? 100 : 65521));
        if (chance(3)) header_.resize(any(19));
    }

    /// Whether a piece lies where the peer may write, or in the stream's own keeping.
    bool is_allowed(base::MutableBytes piece, bool own) {
        for (const auto& place : places_) {
            const auto octets = place->memory.octets();
            if (piece.data() >= octets.data() && piece.data() < octets.data() + octets.size())
                return place->live && place->writable && table_.find(place->stag)->valid &&
                       piece.data() + piece.size() <= octets.data() + octets.size();
        }
        return own;
    }

    void take_segment() {
        const bool over = over_;
        const auto begun = inbound_->begin_segment(header_, static_cast<std::uint32_t>(payload_.size()));
        std::optional<iwarp::Fault> fault;
        if (!begun) {
            ASSERT_FALSE(over) << "a second fault";
            fault = begun.error();
        } else {
            const bool short_message = (header_[0] & std::byte{0x80}) == std::byte{} && payload_.size() <= 64;
            std::size_t at = 0;
            for (const auto piece : begun->pieces) {
                ASSERT_LE(at + piece.size(), payload_.size());
                ASSERT_TRUE(is_allowed(piece, over || short_message));
                std::memcpy(piece.data(), payload_.data() + at, piece.size());
                at += piece.size();
            }
            ASSERT_EQ(at, payload_.size());
            fault = inbound_->end_segment();
        }
        over_ = over || fault || !events_.terminates.empty();
        if (fault) {
            ++faults_[support::text_of(fault)];
            ASSERT_FALSE(over) << "a second fault";
            const auto body = inbound_->terminate_body(*fault);
            ASSERT_GE(body.size(), 4u);
            ASSERT_LE(body.size(), wire::terminate_longest);
        } else if (!over_) {
            follow();
        }
    }
    void follow() {
        ++right_[static_cast<std::size_t>(header_[1] & std::byte{0xf})];
        if ((header_[0] & std::byte{0x80}) != std::byte{}) return;
        const auto queue = base::load_be32(header_.data() + 6);
        const bool last = (header_[0] & std::byte{0x40}) != std::byte{};
        if (queue == 0) offset_ = last ? 0 : offset_ + static_cast<std::uint32_t>(payload_.size());
        if (last) ++next_msn_[queue];
    }

    std::mt19937_64 random_{20260726};
    std::vector<std::unique_ptr<Place>> places_;
    iwarp::ddp::TaggedBuffers table_{5000, 3};
    iwarp::ddp::ReceiveQueue receives_{32, 4};
    iwarp::rdmap::OwedResponses owed_{8};
    iwarp::rdmap::OutstandingRequests outstanding_{8};
    support::Recorder events_;
    std::optional<iwarp::rdmap::Inbound> inbound_;
    std::array<std::uint32_t, 4> next_msn_{};
    std::uint32_t offset_ = 0;
    bool over_ = false;
    std::vector<std::byte> header_;
    std::vector<std::byte> payload_;
    std::map<std::string, int> faults_;
    std::array<int, 16> right_{};
};

TEST_F(Hostile, PeersReachOnlyWhatIsTheirs) {
    for (int segment = 0; segment < 200000; ++segment) {
        if (over_ && chance(40)) {
            over_ = false;
            restart();
        }
        change_surroundings();
        make_segment();
        if (chance(25)) damage();
        take_segment();
        if (HasFatalFailure()) FAIL() << "segment " << segment << ": " << support::hex(header_);
        if (segment % 64 == 0)
            for (const auto& place : places_) check(*place);
    }
    // The test did its work: every kind got through, and every fault of the tables was met.
    for (std::size_t opcode = 0; opcode < 12; ++opcode)
        EXPECT_GT(right_[opcode], opcode == 7 ? -1 : 20) << "opcode " << opcode;
    for (const char* fault : {"0/0/00", "0/1/00", "0/1/01", "0/1/02", "0/1/03", "0/1/04", "0/1/09", "0/2/05",
                              "0/2/06", "0/2/07", "0/2/ff", "1/1/00", "1/1/01", "1/1/02", "1/1/03", "1/1/04",
                              "1/2/01", "1/2/02", "1/2/03", "1/2/04", "1/2/05", "1/2/06", "2/0/03"})
        EXPECT_GT(faults_[fault], 0) << fault;
}

}  // namespace
