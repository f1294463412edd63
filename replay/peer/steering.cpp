#include "replay/peer/steering.h"

#include <algorithm>

#include "wire/crc32c.h"
#include "wire/ddp.h"
#include "wire/rdmap.h"

namespace replay::inline peer {
namespace {

using Opcode = wire::RdmapOpcode;

constexpr std::size_t longest_searched = 4096;  ///< bytes of a message: messages that name places in memory are short
constexpr std::size_t base_distance = 32;       ///< bytes between an STag and its address
constexpr std::size_t stag_at = 2;              ///< in a ULPDU: of a tagged segment, and of a Send with Invalidate
constexpr std::size_t offset_at = 6;
constexpr std::size_t source_stag_at = wire::ddp_untagged_size + 16;  ///< of a Read Request, RFC 5040 section 4.4
constexpr std::size_t source_offset_at = source_stag_at + 4;
constexpr std::size_t atomic_stag_at = wire::ddp_untagged_size + 8;  ///< of an Atomic Request, RFC 7306 section 5.2.1
constexpr std::size_t atomic_offset_at = atomic_stag_at + 4;
constexpr std::size_t response_id_at = wire::ddp_untagged_size;  ///< of an Atomic Response, section 5.2.2
constexpr std::size_t atomic_id_in_body = 4;

std::uint32_t load32(const std::byte* p, bool little) {
    const std::uint32_t big = base::load_be32(p);
    return little ? __builtin_bswap32(big) : big;
}
std::uint64_t load64(const std::byte* p, bool little) {
    const std::uint64_t big = base::load_be64(p);
    return little ? __builtin_bswap64(big) : big;
}

Opcode opcode_of(const std::vector<std::byte>& ulpdu) {
    return static_cast<Opcode>(std::to_integer<unsigned>(ulpdu[1]) & 15);
}
bool is_tagged(const std::vector<std::byte>& ulpdu) { return (ulpdu[0] & std::byte{0x80}) != std::byte{}; }
bool invalidates(Opcode opcode) { return wire::rdmap_invalidates(static_cast<std::uint8_t>(opcode)); }

bool is_atomic(const Message& message) {
    return message.channel == Channel::request && message.opcode == static_cast<std::uint8_t>(Opcode::atomic_request);
}

}  // namespace

Steering::Steering(const ConversationSide& played, const ConversationSide& peer) {
    for (const ConversationSide::Item& item : played.items)
        if (item.kind == PieceKind::fpdu)
            note_item(ulpdu_of(base::Bytes{played.octets}.subspan(item.begin, item.end - item.begin), played.markers,
                               item.phase));
    for (std::size_t i = 0; i < peer.messages.size(); ++i) search(i, peer.messages[i]);
}

void Steering::note(std::uint32_t stag, std::optional<std::uint64_t> offset) {
    Region& region = regions_[stag];
    if (!offset) return;
    region.lowest = std::min(region.lowest, *offset);
    region.highest = std::max(region.highest, *offset);
}

void Steering::note_item(const std::vector<std::byte>& ulpdu) {
    if (ulpdu.size() < wire::ddp_tagged_size) return;
    const Opcode opcode = opcode_of(ulpdu);
    if (is_tagged(ulpdu)) {
        if (opcode != Opcode::read_response) note(base::load_be32(&ulpdu[stag_at]), base::load_be64(&ulpdu[offset_at]));
        return;
    }
    if (invalidates(opcode)) note(base::load_be32(&ulpdu[stag_at]), std::nullopt);
    if (opcode == Opcode::read_request && ulpdu.size() >= source_offset_at + 8)
        note(base::load_be32(&ulpdu[source_stag_at]), base::load_be64(&ulpdu[source_offset_at]));
    if (opcode == Opcode::atomic_request && ulpdu.size() >= atomic_offset_at + 8)
        note(base::load_be32(&ulpdu[atomic_stag_at]), base::load_be64(&ulpdu[atomic_offset_at]));
}

void Steering::search(std::size_t index, const Message& message) {
    if (message.channel == Channel::request) {
        if (is_atomic(message) && message.body.size() >= 8) {
            captured_ids_[index] = base::load_be32(&message.body[atomic_id_in_body]);
            places_[index].push_back({atomic_id_in_body, 4});
        } else if (const auto request = wire::parse<wire::RdmapReadRequest>(message.body)) {
            requests_[index] = {request->sink_stag, request->sink_offset, request->size};
            places_[index].push_back({0, 12});
        }
        return;
    }
    if (message.channel == Channel::terminate || message.body.size() > longest_searched) return;
    for (std::size_t at = 0; at + 4 <= message.body.size(); ++at) {
        for (const bool little : {false, true}) {
            const std::uint32_t stag = load32(&message.body[at], little);
            const auto region = regions_.find(stag);
            if (stag == 0 || region == regions_.end()) continue;
            region->second.reported = true;
            const auto base_at = find_base(message, at, little, region->second);
            reported_[index].push_back({stag, at, little, base_at});
            places_[index].push_back({at, 4});
            if (base_at) places_[index].push_back({*base_at, 8});
            break;
        }
    }
}

/// The address nearest below what the played side names, near the STag in the message.
std::optional<std::size_t> Steering::find_base(const Message& message, std::size_t stag_place, bool little,
                                               Region& region) const {
    std::optional<std::size_t> best;
    if (region.lowest == UINT64_MAX) return best;
    std::uint64_t nearest = 0;
    const std::size_t from = stag_place > base_distance ? stag_place - base_distance : 0;
    for (std::size_t at = from; at + 8 <= message.body.size() && at <= stag_place + base_distance; ++at) {
        if (at + 8 > stag_place && at < stag_place + 4) continue;
        const std::uint64_t value = load64(&message.body[at], little);
        // A region does not have more bytes than a message can have.
        if (value <= nearest || value > region.lowest || region.highest - value > UINT32_MAX) continue;
        nearest = value;
        best = at;
    }
    if (best) region.captured_base = nearest;
    return best;
}

const std::vector<SteeringPlace>& Steering::places(std::size_t message) const {
    static const std::vector<SteeringPlace> none;
    const auto found = places_.find(message);
    return found == places_.end() ? none : found->second;
}

void Steering::learn(std::size_t message, const Message& live) {
    if (const auto request = requests_.find(message); request != requests_.end()) {
        if (const auto now = wire::parse<wire::RdmapReadRequest>(live.body)) {
            Sink sink = request->second;
            sink.live_stag = now->sink_stag;
            sink.live_offset = now->sink_offset;
            sinks_.push_back(sink);
        }
    }
    if (const auto id = captured_ids_.find(message); id != captured_ids_.end() && live.body.size() >= 8)
        ids_[id->second] = base::load_be32(&live.body[atomic_id_in_body]);
    const auto reported = reported_.find(message);
    if (reported == reported_.end()) return;
    for (const Place& place : reported->second) {
        Region& region = regions_[place.stag];
        if (place.at + 4 <= live.body.size()) region.stag = load32(&live.body[place.at], place.little);
        if (place.base_at && *place.base_at + 8 <= live.body.size())
            region.base = load64(&live.body[*place.base_at], place.little);
    }
}

bool Steering::apply_region(std::byte* stag, std::byte* offset) const {
    const auto found = regions_.find(base::load_be32(stag));
    if (found == regions_.end() || !found->second.stag) return false;
    base::store_be32(stag, *found->second.stag);
    if (offset != nullptr && found->second.captured_base && found->second.base)
        base::store_be64(offset, base::load_be64(offset) - *found->second.captured_base + *found->second.base);
    return true;
}

bool Steering::apply_tagged(std::vector<std::byte>& ulpdu) const {
    if (opcode_of(ulpdu) != Opcode::read_response) return apply_region(&ulpdu[stag_at], &ulpdu[offset_at]);
    const std::uint32_t stag = base::load_be32(&ulpdu[stag_at]);
    const std::uint64_t offset = base::load_be64(&ulpdu[offset_at]);
    const auto sink = std::find_if(sinks_.rbegin(), sinks_.rend(), [&](const Sink& each) {
        return each.stag == stag && offset >= each.offset && offset - each.offset <= each.size;
    });
    if (sink == sinks_.rend()) return false;
    base::store_be32(&ulpdu[stag_at], sink->live_stag);
    base::store_be64(&ulpdu[offset_at], offset - sink->offset + sink->live_offset);
    return true;
}

void Steering::apply(base::MutableBytes fpdu, const ConversationSide::Item& item, bool markers, bool crc) {
    std::vector<std::byte> ulpdu = ulpdu_of(fpdu, markers, item.phase);
    if (ulpdu.size() < wire::ddp_tagged_size) return;
    const Opcode opcode = opcode_of(ulpdu);
    bool changed = false;
    if (is_tagged(ulpdu)) {
        changed = apply_tagged(ulpdu);
    } else if (invalidates(opcode)) {
        changed = apply_region(&ulpdu[stag_at], nullptr);
    } else if (opcode == Opcode::read_request && ulpdu.size() >= source_offset_at + 8) {
        changed = apply_region(&ulpdu[source_stag_at], &ulpdu[source_offset_at]);
    } else if (opcode == Opcode::atomic_request && ulpdu.size() >= atomic_offset_at + 8) {
        changed = apply_region(&ulpdu[atomic_stag_at], &ulpdu[atomic_offset_at]);
    } else if (opcode == Opcode::atomic_response && ulpdu.size() >= response_id_at + 4) {
        const auto id = ids_.find(base::load_be32(&ulpdu[response_id_at]));
        changed = id != ids_.end();
        if (changed) base::store_be32(&ulpdu[response_id_at], id->second);
    }
    if (!changed) return;
    const std::size_t covered = fpdu.size() - 4;
    const std::uint32_t before = wire::crc32c(fpdu.first(covered));
    const std::size_t headers = std::min(ulpdu.size(), source_offset_at + 8);
    put_into_ulpdu(fpdu, markers, item.phase, 0, base::Bytes{ulpdu}.first(headers));
    if (!crc) return;
    const std::uint32_t stored = wire::load_crc32c(fpdu.data() + covered);
    const auto now = wire::crc32c_octets(stored ^ before ^ wire::crc32c(fpdu.first(covered)));
    std::copy(now.begin(), now.end(), fpdu.begin() + static_cast<std::ptrdiff_t>(covered));
}

}  // namespace replay::peer
