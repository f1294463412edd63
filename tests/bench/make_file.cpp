/// Repeats captures into one large pcap file: make_file OUT BYTES CAPTURE...
///
/// Each round is between hosts of its own: 192.0.2.N of the captures is 10.R.R.N in round R, with the checksums that
/// follow. So no packet repeats one of the round before, and no round goes on where another has ended. Packets keep
/// the distances in time that they have in their capture.
#include <charconv>
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/dissector.h"
#include "replay/frames/rewrite.h"
#include "tests/support/captures.h"

namespace {

constexpr std::uint64_t pause_ns = 1'000'000;
constexpr std::uint64_t one_capture_ns = 60'000'000'000;  ///< what is farther apart is of another one
constexpr unsigned hosts_most = 30;                       ///< of a capture

void put(std::string& out, std::uint32_t value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); }

replay::Rewriter hosts_of(std::uint64_t round) {
    std::vector<replay::RewriteRule> rules;
    for (unsigned host = 1; host <= hosts_most; ++host) {
        const std::string rule =
            fmt::format("ip:192.0.2.{}=10.{}.{}.{}", host, (round >> 8) & 0xff, round & 0xff, host);
        rules.push_back(replay::parse_rewrite(rule).value());
    }
    return replay::Rewriter(std::move(rules));
}

class Maker {
public:
    /// The records of all frames once more.
    void add_round(std::vector<support::KeptFrame>& frames, std::string& out) {
        replay::Rewriter rewriter = hosts_of(round_++);
        std::int64_t last_ns = frames.empty() ? 0 : frames.front().time_ns;
        for (support::KeptFrame& kept : frames) {
            const std::uint64_t since_ns = static_cast<std::uint64_t>(kept.time_ns - last_ns);
            now_ns_ += since_ns < one_capture_ns ? since_ns : pause_ns;
            last_ns = kept.time_ns;
            std::vector<std::byte> octets = kept.octets;
            dissect::dissect_frame(kept.frame(1), {}, dissection_);
            rewriter.apply(octets, dissection_);
            put(out, static_cast<std::uint32_t>(now_ns_ / 1'000'000'000));
            put(out, static_cast<std::uint32_t>(now_ns_ / 1000 % 1'000'000));
            put(out, static_cast<std::uint32_t>(octets.size()));
            put(out, kept.wire_length);
            out.append(reinterpret_cast<const char*>(octets.data()), octets.size());
        }
        now_ns_ += pause_ns;
    }

private:
    std::uint64_t round_ = 0;
    std::uint64_t now_ns_ = 1'700'000'000'000'000'000;
    dissect::Dissection dissection_;
};

}  // namespace

int main(int count, char** arguments) {
    if (count < 4) return std::fputs("usage: make_file OUT BYTES CAPTURE...\n", stderr), 2;
    std::uint64_t size = 0;
    const std::string_view given = arguments[2];
    std::from_chars(given.data(), given.data() + given.size(), size);
    std::vector<support::KeptFrame> frames;
    for (int i = 3; i < count; ++i) support::load_capture(arguments[i], SIZE_MAX, frames);

    std::FILE* file = std::fopen(arguments[1], "wb");
    if (file == nullptr) return std::perror(arguments[1]), 1;
    std::string records;
    for (const std::uint32_t word : {0xa1b2c3d4u, 4u << 16 | 2u, 0u, 0u, 262144u, 1u}) put(records, word);
    Maker maker;
    bool good = true;
    for (std::uint64_t written = 0; good && written < size; written += records.size(), records.clear()) {
        maker.add_round(frames, records);
        good = std::fwrite(records.data(), records.size(), 1, file) == 1;
    }
    good = std::fclose(file) == 0 && good;
    if (!good) return std::perror(arguments[1]), 1;
    return 0;
}
