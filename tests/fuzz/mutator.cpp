#include "tests/fuzz/mutator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/bytes.h"
#include "dissect/dissector.h"
#include "tests/fuzz/link_types.h"

namespace fuzz {

namespace {

constexpr std::size_t max_octets = 70'000;

/// Most of what a parser decides on stands in the first octets of a frame.
std::size_t place(std::size_t size, Random& random) {
    return random.one_in(3) ? random.below(size) : random.below(std::min<std::size_t>(size, 120));
}

void change_number(std::vector<std::byte>& octets, Random& random) {
    static constexpr std::array<std::uint32_t, 14> boundary_values{0,  1,  2,    3,    4,    7,      8,
                                                                   15, 16, 0x7f, 0x80, 0xff, 0x7fff, 0xffff};
    const std::size_t width = random.one_in(2) ? 2 : 4;
    if (octets.size() < width) return;
    const std::size_t at = std::min(place(octets.size(), random), octets.size() - width);
    std::uint32_t value = boundary_values[random.below(boundary_values.size())];
    if (random.one_in(3)) {  // a little more or less than what stands there: off by one is where parsers go wrong
        const std::uint32_t old = width == 2 ? base::load_be16(&octets[at]) : base::load_be32(&octets[at]);
        value = old + static_cast<std::uint32_t>(random.below(9)) - 4;
    }
    if (width == 2)
        base::store_be16(&octets[at], static_cast<std::uint16_t>(value));
    else
        base::store_be32(&octets[at], value);
}

void mutate_once(support::KeptFrame& frame, const support::KeptFrame& other, Random& random) {
    auto& octets = frame.octets;
    if (octets.empty()) return;
    const std::size_t at = place(octets.size(), random);
    const auto begin = octets.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = 1 + random.below(std::min<std::size_t>(octets.size() - at, 64));
    switch (random.below(11)) {
        case 0: octets[at] ^= static_cast<std::byte>(1u << random.below(8)); break;
        case 1: octets[at] = static_cast<std::byte>(random.next()); break;
        case 2:
        case 3: change_number(octets, random); break;
        case 4: octets.erase(begin, begin + static_cast<std::ptrdiff_t>(length)); break;
        case 5: {
            const std::vector<std::byte> block(begin, begin + static_cast<std::ptrdiff_t>(length));
            octets.insert(begin, block.begin(), block.end());
            break;
        }
        case 6: std::fill_n(begin, length, random.one_in(2) ? std::byte{0} : std::byte{0xff}); break;
        case 7: {  // the head of this frame, the tail of another
            const std::size_t from = other.octets.empty() ? 0 : place(other.octets.size(), random);
            // A copy: the other frame may be this one.
            const std::vector<std::byte> tail(other.octets.begin() + static_cast<std::ptrdiff_t>(from),
                                              other.octets.end());
            octets.resize(at);
            octets.insert(octets.end(), tail.begin(), tail.end());
            break;
        }
        case 8: octets.resize(at); break;  // short on the wire too
        case 9:
            octets.resize(at);
            frame.wire_length = static_cast<std::uint32_t>(at + random.below(2000));
            return;  // snapped
        case 10: frame.link_type = link_types[random.below(link_types.size())]; break;
    }
    if (octets.size() > max_octets) octets.resize(max_octets);
    frame.wire_length = std::max(static_cast<std::uint32_t>(octets.size()), random.one_in(8) ? frame.wire_length : 0u);
}

/// Where a frame's TCP header and payload stand; false where it has none of either.
bool find_payload(const support::KeptFrame& frame, std::size_t& tcp, std::size_t& payload) {
    dissect::Dissection dissection;
    dissect::dissect_frame(frame.frame(1), {}, dissection);
    const dissect::LayerRef* layer = dissection.find(dissect::LayerId::tcp);
    if (layer == nullptr || layer->length < 20 || dissection.tcp.payload_captured == 0) return false;
    tcp = layer->offset;
    payload = dissection.tcp.payload_offset;
    return true;
}

void shift_sequence(support::KeptFrame& frame, std::size_t tcp, std::uint32_t by) {
    std::byte* sequence = &frame.octets[tcp + 4];
    base::store_be32(sequence, base::load_be32(sequence) + by);
}

/// Cuts one segment in two, as another sender would have sent it; the length in an IPv4 header is put right.
void split(std::vector<support::KeptFrame>& frames, std::size_t at, Random& random) {
    std::size_t tcp = 0;
    std::size_t payload = 0;
    if (!find_payload(frames[at], tcp, payload) || tcp < 34 || frames[at].octets.size() - payload < 2) return;
    support::KeptFrame second = frames[at];
    support::KeptFrame& first = frames[at];
    const std::size_t head = 1 + random.below(first.octets.size() - payload - 1);
    first.octets.resize(payload + head);
    second.octets.erase(second.octets.begin() + static_cast<std::ptrdiff_t>(payload),
                        second.octets.begin() + static_cast<std::ptrdiff_t>(payload + head));
    shift_sequence(second, tcp, static_cast<std::uint32_t>(head));
    for (support::KeptFrame* part : {&first, &second}) {
        part->wire_length = static_cast<std::uint32_t>(part->octets.size());
        base::store_be16(&part->octets[tcp - 18], static_cast<std::uint16_t>(part->octets.size() - tcp + 20));
    }
    frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(second));
}

}  // namespace

void mutate_frame(support::KeptFrame& frame, const support::KeptFrame& other, Random& random) {
    for (std::size_t times = 1 + random.below(4); times != 0; --times) mutate_once(frame, other, random);
}

void mutate_stream(std::vector<support::KeptFrame>& frames, Random& random) {
    const unsigned rarity = 4 + static_cast<unsigned>(random.below(30));
    for (std::size_t i = 0; i < frames.size(); ++i) {
        if (!random.one_in(rarity)) continue;
        const auto at = frames.begin() + static_cast<std::ptrdiff_t>(i);
        const std::size_t far = i + random.below(std::min<std::size_t>(frames.size() - i, 12));
        std::size_t tcp = 0;
        std::size_t payload = 0;
        switch (random.below(8)) {
            case 0: frames.erase(at); break;
            case 1: {
                const support::KeptFrame copy = *at;
                frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(far), copy);
                break;
            }
            case 2: std::swap(frames[i], frames[far]); break;
            case 3: std::rotate(at, at + 1, frames.begin() + static_cast<std::ptrdiff_t>(far) + 1); break;
            case 4: frames[i].octets.resize(frames[i].octets.size() - random.below(frames[i].octets.size() + 1)); break;
            case 5:
                if (find_payload(frames[i], tcp, payload))
                    shift_sequence(frames[i], tcp, static_cast<std::uint32_t>(random.below(400)) - 200);
                break;
            case 6: split(frames, i, random); break;
            case 7: mutate_frame(frames[i], frames[far], random); break;
        }
    }
}

}  // namespace fuzz
