#include "tests/script/runner/framing.h"

#include <algorithm>

namespace script {
namespace {

constexpr std::uint64_t interval = 512;

std::size_t pad_of(std::size_t ulpdu_length) { return (4 - (ulpdu_length + 2) % 4) % 4; }

/// Reads through a stream, taking markers out and judging them.
class Walk {
public:
    Walk(View stream, const Framing& framing) : stream_(stream), framing_(framing) {}

    /// `false` where the stream ends before a marker that is due here is complete.
    bool pass_marker() {
        if (!framing_.markers || (framing_.position + at_) % interval != 0) return true;
        if (stream_.size() - at_ < 4) return false;
        View marker = stream_.subspan(at_, 4);
        if (take(marker, 2) != 0) throw Failure("a marker's reserved octets are not zero");
        const std::uint64_t pointer = take(marker, 2);
        const std::uint64_t right = begun_ ? at_ - first_ : 0;
        if (pointer != right)
            throw Failure("a marker points back " + std::to_string(pointer) + " octets, not " + std::to_string(right));
        at_ += 4;
        return true;
    }
    bool read(std::size_t count, Octets& out) {
        while (count-- > 0) {
            if (!pass_marker() || at_ == stream_.size()) return false;
            if (!begun_) {
                begun_ = true;
                first_ = at_;
            }
            out.push_back(stream_[at_++]);
        }
        return true;
    }
    std::size_t at() const { return at_; }

private:
    View stream_;
    Framing framing_;
    std::size_t at_ = 0;
    std::size_t first_ = 0;
    bool begun_ = false;
};

}  // namespace

Octets encode_fpdu(View ulpdu, Framing& framing, const FpduFaults& faults) {
    Octets body;
    put(body, faults.length.value_or(static_cast<std::uint32_t>(ulpdu.size())), 2);
    put(body, ulpdu);
    put(body, faults.pad.value_or(Octets(pad_of(ulpdu.size()))));
    Octets out;
    std::size_t first = 0;
    const auto marker_if_due = [&](bool begun) {
        if (!framing.markers || (framing.position + out.size()) % interval != 0) return;
        put(out, 0, 2);
        put(out, faults.marker.value_or(static_cast<std::uint32_t>(begun ? out.size() - 2 - first : 0)), 2);
    };
    for (std::size_t i = 0; i < body.size(); ++i) {
        marker_if_due(i != 0);
        if (i == 0) first = out.size();
        out.push_back(body[i]);
    }
    marker_if_due(true);
    const std::uint32_t crc = crc32c(out) ^ faults.crc.value_or(0);
    // The CRC stands in the order of its polynomial's coefficients: the least significant octet first.
    for (unsigned i = 0; i < 4; ++i) put(out, framing.crc || faults.crc ? crc >> 8 * i & 0xff : 0, 1);
    framing.position += out.size();
    return out;
}

std::optional<Octets> take_fpdu(Octets& stream, Framing& framing) {
    Walk walk(stream, framing);
    Octets length;
    if (!walk.read(2, length)) return std::nullopt;
    View head(length);
    const std::size_t size = take(head, 2);
    Octets ulpdu;
    Octets pad;
    Octets crc;
    if (!walk.read(size, ulpdu) || !walk.read(pad_of(size), pad) || !walk.pass_marker()) return std::nullopt;
    const std::size_t covered = walk.at();
    if (!walk.read(4, crc)) return std::nullopt;
    if (std::any_of(pad.begin(), pad.end(), [](std::byte octet) { return octet != std::byte{}; }))
        throw Failure("the pad " + hex(pad) + " is not zero");
    if (framing.crc) {
        std::reverse(crc.begin(), crc.end());
        View octets(crc);
        const auto sent = take(octets, 4);
        const auto right = crc32c(View(stream).first(covered));
        if (sent != right) throw Failure("the CRC is " + hex_number(sent) + ", not " + hex_number(right));
    }
    framing.position += walk.at();
    stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(walk.at()));
    return ulpdu;
}

}  // namespace script
