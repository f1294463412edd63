#include "support.h"

#include <algorithm>
#include <fmt/core.h>

#include "wire/mpa.h"

namespace iwarp {
void PrintTo(const Fault& fault, std::ostream* out) {
    *out << fmt::format("{}/{}/{:02x}", static_cast<int>(fault.layer), fault.type, fault.code);
}
}  // namespace iwarp

namespace mpa_test {

Octets octets(std::string_view hex) {
    Octets out;
    std::string digits;
    for (const char c : hex)
        if (c != ' ' && c != '\n') digits += c;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
        out.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    return out;
}

std::string hex(base::Bytes bytes) {
    std::string out;
    for (const std::byte octet : bytes) out += fmt::format("{:02x}", std::to_integer<unsigned>(octet));
    return out;
}

Octets pattern(std::mt19937& random, std::size_t length) {
    Octets out(length);
    for (std::byte& octet : out) octet = static_cast<std::byte>(random() & 0xff);
    return out;
}

Octets slow_crc(base::Bytes bytes) {
    std::uint32_t state = 0xffffffff;
    for (const std::byte octet : bytes) {
        state ^= std::to_integer<std::uint32_t>(octet);
        for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ ((state & 1) != 0 ? 0x82f63b78u : 0u);
    }
    state = ~state;
    Octets out;
    for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<std::byte>(state >> 8 * i & 0xff));
    return out;
}

Octets header(bool tagged) {
    return tagged ? octets("c140 00000b07 0000000000001000") : octets("4143 00000000 00000000 00000001 00000000");
}

Octets joined(std::initializer_list<base::Bytes> parts) {
    Octets out;
    for (const base::Bytes part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
}

void Stream::fpdu(const Octets& ulpdu) {
    const std::size_t begin = octets.size();
    std::size_t length_at = begin;
    const auto put = [&](std::byte octet) {
        if (markers && octets.size() % 512 == 0) {
            if (octets.size() == begin) length_at += 4;
            const std::size_t back = octets.size() == begin ? 0 : octets.size() - length_at;
            for (const std::size_t value : {std::size_t{0}, std::size_t{0}, back >> 8, back & 0xff})
                octets.push_back(static_cast<std::byte>(value));
        }
        octets.push_back(octet);
    };
    put(static_cast<std::byte>(ulpdu.size() >> 8));
    put(static_cast<std::byte>(ulpdu.size() & 0xff));
    for (const std::byte octet : ulpdu) put(octet);
    for (std::size_t i = ulpdu.size() + 2; i % 4 != 0; ++i) put(std::byte{0});
    // The CRC's first octet may have a marker before it, which the CRC covers.
    put(std::byte{0});
    octets.pop_back();
    const Octets check = crc ? slow_crc(base::Bytes{octets}.subspan(begin)) : Octets(4);
    octets.insert(octets.end(), check.begin(), check.end());
    ulpdus.push_back(ulpdu);
    ends.push_back(octets.size());
}

base::Result<iwarp::mpa::Target, Fault> Sink::begin_segment(base::Bytes header, std::uint32_t payload_length) {
    if (refuse_once && (refused_ = !refused_)) return base::Failure{iwarp::fault::not_yet};
    if (begun++ == refuse_at) return base::Failure{fault};
    open = true;
    header_.assign(header.begin(), header.end());
    std::size_t total = 0;
    for (const base::MutableBytes piece : pieces_) total += piece.size();
    if (keep_pieces && total == payload_length) return iwarp::mpa::Target{pieces_};
    memory_.clear();
    pieces_.clear();
    for (std::size_t left = payload_length, i = 0; left != 0; ++i) {
        const std::size_t size = piece_sizes.empty() ? left : std::min(left, piece_sizes[i % piece_sizes.size()]);
        memory_.emplace_back(size, std::byte{0xee});
        pieces_.emplace_back(memory_.back());
        left -= size;
    }
    return iwarp::mpa::Target{pieces_};
}

std::optional<Fault> Sink::end_segment() {
    open = false;
    if (begun - 1 == fault_at) return fault;
    if (keep_pieces) return std::nullopt;
    Octets ulpdu = header_;
    for (const Octets& piece : memory_) ulpdu.insert(ulpdu.end(), piece.begin(), piece.end());
    ulpdus.push_back(std::move(ulpdu));
    return std::nullopt;
}

std::vector<FpduReader::Settings> all_settings() {
    std::vector<FpduReader::Settings> all;
    for (const bool crc : {true, false})
        for (const bool markers : {false, true})
            for (const bool strict : {true, false}) all.push_back({crc, markers, strict});
    return all;
}

std::string name(const FpduReader::Settings& settings) {
    return fmt::format("{}{}{}", settings.crc ? "crc " : "", settings.markers ? "markers " : "",
                       settings.strict ? "strict" : "direct");
}

std::optional<Fault> give(FpduReader& reader, base::Bytes octets) {
    const Octets copy(octets.begin(), octets.end());
    return reader.receive(copy);
}

Octets content(std::span<const base::Bytes> pieces) {
    Octets out;
    for (const base::Bytes piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
    return out;
}

}  // namespace mpa_test
