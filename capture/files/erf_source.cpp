#include "capture/files/erf_source.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "base/bytes.h"
#include "wire/erf.h"

namespace capture::inline files {
namespace {

using wire::Erf;

constexpr std::size_t head_octets = wire::size_of<Erf>;

std::uint8_t type_of(const std::byte* record) { return base::load_u8(record + 8) & 0x7f; }
bool has_extension(const std::byte* octet) { return (base::load_u8(octet) & 0x80) != 0; }
std::uint32_t length_of(const std::byte* record) { return base::load_be16(record + 10); }

/// The types of "ERF Types Reference Guide"; 26 and those from 30 to 47 are not assigned.
bool is_known_type(std::uint8_t type) {
    constexpr std::uint8_t last_assigned = 29;
    constexpr std::uint8_t unassigned = 26;
    return type == wire::erf_type::pad || (type >= 1 && type <= last_assigned && type != unassigned);
}

/// Bytes before the packet, as far as the record goes: header, extension headers, Ethernet's padding.
std::uint32_t front_of(const std::byte* record) {
    const std::uint32_t length = length_of(record);
    std::uint32_t front = head_octets;
    for (bool more = has_extension(record + 8); more && front + wire::erf_extension_size <= length;
         front += wire::erf_extension_size)
        more = has_extension(record + front);
    constexpr std::uint32_t ethernet_pad = 2;
    return std::min(length, front + (wire::is_erf_ethernet(type_of(record)) ? ethernet_pad : 0));
}

/// Nanoseconds since 1970, rounded as Wireshark rounds.
std::int64_t time_of(const std::byte* record) {
    const std::uint64_t stamp = wire::erf_timestamp(record);
    const std::uint64_t fraction = (stamp & 0xffffffff) * 1'000'000'000 + 0x80000000;
    return static_cast<std::int64_t>((stamp >> 32) * 1'000'000'000 + (fraction >> 32));
}

class ErfSource final : public FileSource {
public:
    ErfSource(std::unique_ptr<Input> input, const std::string& path) : FileSource(std::move(input), path) {}

    ReadStatus next(wire::Frame& frame) override {
        if (failed_) return ReadStatus::error;
        for (;;) {
            if (available() < head_octets && !refill(head_octets)) return at_end();
            const std::uint32_t length = length_of(at_);
            if (length < head_octets)
                return fail(input_->offset_of(at_),
                            fmt::format("the record header claims a record of {} bytes, fewer than the header has; the "
                                        "file is damaged here",
                                        length));
            if (available() < length && !refill(length)) return cut_short("a record", length);
            if (type_of(at_) != wire::erf_type::pad) break;
            at_ += length;
        }
        take(frame);
        return ReadStatus::frame;
    }

    FileFormat format() const override { return FileFormat::erf; }
    Statistics statistics(std::size_t) const override { return {}; }

private:
    /// Hands out the record at the front. What the record's own alignment adds after the packet is left out.
    void take(wire::Frame& frame) {
        const std::uint32_t length = length_of(at_);
        const std::uint32_t on_wire = front_of(at_) + base::load_be16(at_ + 14);
        frame.bytes = {at_, std::min(length, on_wire)};
        frame.wire_length = on_wire;
        frame.link_type = wire::LinkType::erf;
        frame.direction = wire::Direction::unknown;
        frame.interface = interface_of(base::load_u8(at_ + 9) & 3);
        frame.time_ns = time_of(at_);
        frame.number = ++frames_;
        frame.comment = {};
        at_ += length;
    }

    /// A card has up to four ports, which become interfaces as they appear.
    std::uint32_t interface_of(unsigned port) {
        if (!numbers_[port]) {
            numbers_[port] = static_cast<std::uint32_t>(interfaces_.size());
            InterfaceInfo info;
            info.ordinal = *numbers_[port];
            info.name = fmt::format("Port {}", static_cast<char>('A' + port));
            info.link_type = wire::LinkType::erf;
            info.ticks_per_sec = 1'000'000'000;
            interfaces_.push_back(std::move(info));
        }
        return *numbers_[port];
    }

    ReadStatus at_end() {
        if (available() == 0 && input_->fault().empty()) return ReadStatus::end;
        return cut_short("a record header", head_octets);
    }

    std::array<std::optional<std::uint32_t>, 4> numbers_{};
};

/// Whether a record can begin with these bytes.
bool is_plausible(const std::byte* record) {
    constexpr unsigned reserved_flags = 0xc0;
    const std::uint32_t length = length_of(record);
    return is_known_type(type_of(record)) && length >= head_octets &&
           (base::load_u8(record + 9) & reserved_flags) == 0 && wire::erf_timestamp(record) >> 32 != 0;
}

}  // namespace

bool looks_like_erf(Input& input) {
    constexpr unsigned enough_records = 4;
    constexpr std::uint64_t second = std::uint64_t{1} << 32;
    std::uint64_t last = 0;
    std::size_t offset = 0;
    for (unsigned records = 0; records < enough_records; ++records) {
        Input::Window window = input.more(input.begin(), offset + head_octets);
        const auto have = static_cast<std::size_t>(window.end - window.at);
        // A file may end in the middle of a record, but not of the first one.
        if (have < offset + head_octets) return records > 0;
        const std::byte* record = window.at + offset;
        // Records of several ports are not strictly in order.
        if (!is_plausible(record) || wire::erf_timestamp(record) + second < last) return false;
        last = wire::erf_timestamp(record);
        offset += length_of(record);
        window = input.more(input.begin(), offset);
        if (static_cast<std::size_t>(window.end - window.at) < offset) return records > 0;
    }
    return true;
}

std::unique_ptr<FileSource> open_erf(std::unique_ptr<Input> input, const std::string& path) {
    return std::make_unique<ErfSource>(std::move(input), path);
}

}  // namespace capture::files
