/// Repeats captures into one large pcap file whose time stamps ascend: make_file OUT OCTETS CAPTURE...
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/captures.h"

namespace {

void put(std::string& out, std::uint32_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }

/// One round of all captures with empty time stamps; where these stand.
std::string round_of(const std::vector<support::KeptFrame>& frames, std::vector<std::size_t>& stamps) {
    std::string out;
    for (const auto& frame : frames) {
        stamps.push_back(out.size());
        put(out, 0);
        put(out, 0);
        put(out, static_cast<std::uint32_t>(frame.octets.size()));
        put(out, frame.wire_length);
        out.append(reinterpret_cast<const char*>(frame.octets.data()), frame.octets.size());
    }
    return out;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 4) return std::fputs("usage: make_file OUT OCTETS CAPTURE...\n", stderr), 2;
    std::uint64_t wanted = 0;
    const std::string_view size = arguments[2];
    std::from_chars(size.data(), size.data() + size.size(), wanted);
    std::vector<support::KeptFrame> frames;
    for (int i = 3; i < count; ++i) support::load_capture(arguments[i], SIZE_MAX, frames);

    std::vector<std::size_t> stamps;
    std::string round = round_of(frames, stamps);
    std::FILE* file = std::fopen(arguments[1], "wb");
    if (file == nullptr) return std::perror(arguments[1]), 1;
    std::string header;
    for (const std::uint32_t word : {0xa1b2c3d4u, 4u << 16 | 2u, 0u, 0u, 262144u, 1u}) put(header, word);
    bool good = std::fwrite(header.data(), header.size(), 1, file) == 1;
    std::uint64_t written = header.size();
    for (std::uint64_t microseconds = 1'700'000'000'000'000; good && written < wanted; written += round.size()) {
        for (const std::size_t at : stamps) {
            const std::uint32_t stamp[] = {static_cast<std::uint32_t>(microseconds / 1'000'000),
                                           static_cast<std::uint32_t>(microseconds % 1'000'000)};
            std::memcpy(&round[at], stamp, sizeof stamp);
            microseconds += 2;
        }
        good = std::fwrite(round.data(), round.size(), 1, file) == 1;
    }
    good = std::fclose(file) == 0 && good;
    if (!good) return std::perror(arguments[1]), 1;
    return 0;
}
