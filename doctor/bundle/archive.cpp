#include "doctor/bundle/archive.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/core.h>
#include <zlib.h>

namespace doctor::inline bundle {

namespace {

constexpr std::size_t block = 512;

// POSIX.1-2017, pax, "ustar Interchange Format".
struct Header {
    std::array<char, 100> name{};
    std::array<char, 8> mode{};
    std::array<char, 8> user{};
    std::array<char, 8> group{};
    std::array<char, 12> size{};
    std::array<char, 12> modified{};
    std::array<char, 8> checksum{};
    char type = '0';
    std::array<char, 100> link{};
    std::array<char, 6> magic{'u', 's', 't', 'a', 'r', '\0'};
    std::array<char, 2> version{'0', '0'};
    std::array<char, 247> rest{};
};
static_assert(sizeof(Header) == block);

template <std::size_t Size>
void put(std::array<char, Size>& field, std::string_view text) {
    std::copy_n(text.begin(), std::min(text.size(), Size - 1), field.begin());
}

std::string header_of(std::string_view name, std::size_t octets, std::int64_t modified_s) {
    Header header;
    put(header.name, name);
    put(header.mode, "0000644");
    put(header.user, "0000000");
    put(header.group, "0000000");
    put(header.size, fmt::format("{:011o}", octets));
    put(header.modified, fmt::format("{:011o}", std::max<std::int64_t>(modified_s, 0)));
    header.checksum.fill(' ');
    std::string text(block, '\0');
    std::memcpy(text.data(), &header, block);
    unsigned sum = 0;
    for (const char octet : text) sum += static_cast<unsigned char>(octet);
    const std::string checksum = fmt::format("{:06o}", sum);
    // Six digits, a zero byte, a blank.
    std::memcpy(text.data() + offsetof(Header, checksum), checksum.c_str(), checksum.size() + 1);
    return text;
}

base::Result<std::string> gzip(std::string& plain) {
    z_stream stream{};
    constexpr int gzip_window = 15 + 16, memory = 8;
    if (::deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) != Z_OK)
        return base::Failure{base::Error{"there is no memory to pack the bundle"}};
    std::string packed(::deflateBound(&stream, static_cast<uLong>(plain.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    const int state = ::deflate(&stream, Z_FINISH);
    packed.erase(packed.size() - stream.avail_out);  // resize() could also grow, and GCC warns of how far
    ::deflateEnd(&stream);
    if (state != Z_STREAM_END) return base::Failure{base::Error{"zlib could not pack the bundle"}};
    return packed;
}

}  // namespace

base::Result<std::string> make_archive(const std::vector<std::pair<std::string, std::string>>& files,
                                       std::int64_t modified_s) {
    std::string tar;
    for (const auto& [name, text] : files) {
        tar += header_of(name, text.size(), modified_s);
        tar += text;
        tar.append((block - text.size() % block) % block, '\0');
    }
    tar.append(2 * block, '\0');
    return gzip(tar);
}

}  // namespace doctor::bundle
