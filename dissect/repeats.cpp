#include "dissect/repeats.h"

#include <bit>

#include "base/hash.h"

namespace dissect {

namespace {

enum class Role { request, response, other };

/// Which PSN space a packet of a reliable service counts in. The low five bits of an opcode name the operation, the
/// high three the service: RC 0, RD 2, XRC 5. IBTA vol. 1, table 38.
Role role_of(std::uint8_t opcode) {
    const unsigned service = opcode >> 5;
    if (service != 0 && service != 2 && service != 5) return Role::other;
    const unsigned operation = opcode & 0x1f;
    constexpr unsigned acknowledge = 0x11;
    constexpr unsigned atomic_acknowledge = 0x12;
    if (operation == acknowledge) return Role::other;
    if ((operation >= 0x0d && operation <= 0x10) || operation == atomic_acknowledge) return Role::response;
    return Role::request;
}

std::uint64_t mix(std::uint64_t hash, base::Bytes octets) {
    for (; octets.size() >= 4; octets = octets.subspan(4)) hash = base::mix(hash, base::load_be32(octets.data()));
    for (const std::byte octet : octets) hash = base::mix(hash, std::to_integer<std::uint64_t>(octet));
    return hash;
}

}  // namespace

RepeatTable::RepeatTable(std::size_t packets) : size_(std::bit_ceil(packets < 2 ? std::size_t{2} : packets)) {}

std::uint64_t RepeatTable::note(const Dissection& dissection, base::Bytes bytes, std::uint64_t frame_number) {
    const Role role = role_of(dissection.bth.opcode);
    if (role == Role::other) return 0;
    const Network& network = dissection.network;
    const std::uint32_t size = network.address_length();
    std::uint64_t key = base::mix(std::uint64_t{dissection.bth.destination_qp} << 32 | dissection.bth.psn,
                                  role == Role::request ? 1u : 2u);
    if (network.source_offset + size <= bytes.size() && network.destination_offset + size <= bytes.size()) {
        key = mix(key, bytes.subspan(network.source_offset, size));
        key = mix(key, bytes.subspan(network.destination_offset, size));
    }

    if (entries_.empty()) [[unlikely]]
        entries_ = base::ZeroedArray<Entry>(size_);
    Entry* const pair = &entries_[key & (size_ - 1) & ~std::uint64_t{1}];
    for (Entry* entry = pair; entry != pair + 2; ++entry) {
        if (entry->frame == 0 || entry->key != key) continue;
        const std::uint64_t earlier = entry->frame;
        entry->frame = frame_number;
        return earlier;
    }
    Entry& oldest = pair[0].frame <= pair[1].frame ? pair[0] : pair[1];
    oldest = {key, frame_number};
    return 0;
}

}  // namespace dissect
