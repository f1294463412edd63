/// Survival: every truncation of every captured frame, and many mutated frames and streams.
///
///     mutate truncations SHARD/SHARDS
///     mutate mutations SHARD/SHARDS [COUNT]     COUNT frames in all, RDMASCOPE_MUTATIONS or 400000 by default
///     mutate replay FILE...                     captures, as a failure has left them
///
/// The same on every run and machine. What was being dissected when something failed is left in crash.pcap.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>

#include "tests/fuzz/driver.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/mutator.h"
#include "tests/support/captures.h"
#include "tests/support/sanitized.h"

namespace {

using fuzz::Shard;
using fuzz::shard_of;

/// The frames that the dissector at work has seen.
std::span<const support::KeptFrame> at_work;

void leave_crash() {
    const int file = open("crash.pcap", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0) return;
    const auto put = [file](const void* octets, std::size_t size) {
        return write(file, octets, size) == static_cast<ssize_t>(size);
    };
    const std::uint16_t link = at_work.empty() ? 1 : static_cast<std::uint16_t>(at_work.front().link_type);
    const std::uint32_t header[] = {0xa1b2c3d4, 4u << 16 | 2, 0, 0, 262144, link};
    bool good = put(header, sizeof header);
    for (const auto& kept : at_work) {
        const auto size = static_cast<std::uint32_t>(kept.octets.size());
        const std::uint32_t record[] = {0, 0, size, std::max(size, kept.wire_length)};
        good = good && put(record, sizeof record) && put(kept.octets.data(), size);
    }
    close(file);
    std::fputs(good ? "what was dissected is in crash.pcap\n" : "crash.pcap could not be written\n", stderr);
}

class Progress {
public:
    explicit Progress(const char* what) : what_(what) {}
    void add(std::uint64_t count) {
        total_ += count;
        if (total_ >= due_) {
            std::fprintf(stderr, "%llu %s\n", static_cast<unsigned long long>(total_), what_);
            due_ += 1'000'000;
        }
    }
    ~Progress() { std::printf("%llu %s survived\n", static_cast<unsigned long long>(total_), what_); }

private:
    const char* what_;
    std::uint64_t total_ = 0;
    std::uint64_t due_ = 1'000'000;
};

/// Each frame cut after each of its octets, by the capture and on the wire. The octets stand at the end of an
/// allocation of their own, where AddressSanitizer notices one read too many; with it, cuts far after every header are
/// sampled, at other places in each frame, and so are the frames of long captures, which repeat themselves.
void truncate_all(Shard shard) {
    Progress progress("truncated frames");
    dissect::Dissection dissection;
    fuzz::Examiner examiner;
    std::size_t number = 0;
    for (const support::KeptCapture& capture : support::load_captures(SIZE_MAX)) {
        std::size_t of_capture = 0;
        for (const support::KeptFrame& whole : capture.frames) {
            if (number++ % shard.count != shard.index) continue;
            if (support::sanitized && of_capture++ > 64 && of_capture % 7 != 0) continue;
            const std::size_t size = whole.octets.size();
            const auto block = std::make_unique_for_overwrite<std::byte[]>(size);
            wire::Frame frame = whole.frame(1);
            at_work = {&whole, 1};
            std::uint64_t cuts = 0;
            for (std::size_t length = 0; length < size; ++length) {
                if (support::sanitized && length > 256 && length < size - 8 && (length + number) % 13 != 0) continue;
                ++cuts;
                std::byte* first = block.get() + size - length;
                if (length != 0) std::memcpy(first, whole.octets.data(), length);
                frame.bytes = {first, length};
                for (const std::size_t wire_length : {std::size_t{whole.wire_length}, length}) {
                    frame.wire_length = static_cast<std::uint32_t>(wire_length);
                    dissect::dissect_frame(frame, {}, dissection);
                    fuzz::check(dissection, length);
                }
                // Headers are described whole and in part; describing payload again and again would tell nothing new.
                if (length < 400 || length % 64 == 0) {
                    examiner.begin(length);
                    dissect::describe(dissection, frame.bytes, examiner);
                    examiner.end();
                }
            }
            progress.add(2 * cuts);
        }
    }
}

/// A whole capture cut at one length: what a stream is where every segment is short.
void snap_streams(Shard shard) {
    Progress progress("snapped frames in streams");
    std::size_t number = 0;
    std::vector<std::byte> block;
    for (const support::KeptCapture& capture : support::load_captures(300)) {
        for (const std::size_t snap : {54u, 58u, 66u, 70u, 72u, 74u, 80u, 86u, 88u, 90u, 94u, 96u, 100u, 128u, 200u}) {
            if (number++ % shard.count != shard.index) continue;
            dissect::Dissector dissector(fuzz::small_bounds());
            fuzz::CheckingSink sink(true);
            at_work = capture.frames;
            for (std::size_t i = 0; i < capture.frames.size(); ++i) {
                wire::Frame frame = capture.frames[i].frame(i + 1);
                block.assign(frame.bytes.begin(),
                             frame.bytes.begin() + static_cast<std::ptrdiff_t>(std::min(frame.bytes.size(), snap)));
                block.shrink_to_fit();
                frame.bytes = block;
                dissector.dissect(frame, sink);
            }
            dissector.finish(sink);
            progress.add(capture.frames.size());
        }
    }
}

const support::KeptFrame& any_frame(const std::vector<support::KeptCapture>& captures, fuzz::Random& random) {
    const auto& frames = captures[random.below(captures.size())].frames;
    return frames[random.below(frames.size())];
}

void mutate_frames(const std::vector<support::KeptCapture>& captures, std::uint64_t count, fuzz::Random random) {
    Progress progress("mutated frames");
    dissect::Dissector dissector(fuzz::small_bounds());
    fuzz::CheckingSink sink(false);
    for (std::uint64_t i = 1; i <= count; ++i) {
        // An exact allocation, made again, so that one octet too many is noticed.
        support::KeptFrame frame = any_frame(captures, random);
        mutate_frame(frame, any_frame(captures, random), random);
        frame.octets.shrink_to_fit();
        at_work = {&frame, 1};
        sink.describe(i % 4 == 0);
        dissector.dissect(frame.frame(i), sink);
        progress.add(1);
    }
}

void mutate_streams(const std::vector<support::KeptCapture>& captures, std::uint64_t count, fuzz::Random random) {
    Progress progress("frames of mutated streams");
    std::vector<const support::KeptCapture*> iwarp;
    for (const auto& capture : captures)
        if (capture.name.find("siw") != std::string::npos || capture.name.find("iwarp") != std::string::npos)
            iwarp.push_back(&capture);
    std::vector<support::KeptFrame> frames;
    fuzz::CheckingSink sink(false);
    for (std::uint64_t done = 0; done < count;) {
        const auto& capture =
            random.one_in(4) ? captures[random.below(captures.size())] : *iwarp[random.below(iwarp.size())];
        const std::size_t first = random.one_in(2) ? 0 : random.below(capture.frames.size());
        const std::size_t length = std::min<std::size_t>(capture.frames.size() - first, 10 + random.below(300));
        const auto from = capture.frames.begin() + static_cast<std::ptrdiff_t>(first);
        frames.assign(from, from + static_cast<std::ptrdiff_t>(length));
        mutate_stream(frames, random);
        for (auto& frame : frames) frame.octets.shrink_to_fit();
        at_work = frames;
        sink.describe(random.one_in(8));
        dissect::Dissector dissector(fuzz::small_bounds());
        for (std::size_t i = 0; i < frames.size(); ++i) dissector.dissect(frames[i].frame(i + 1), sink);
        dissector.finish(sink);
        done += frames.size();
        progress.add(frames.size());
    }
}

void replay(const std::string& path) {
    std::vector<support::KeptFrame> frames;
    support::load_capture(path, SIZE_MAX, frames);
    std::fprintf(stderr, "%s\n", path.c_str());
    dissect::Dissector dissector(fuzz::small_bounds());
    fuzz::CheckingSink sink(true);
    for (std::size_t i = 0; i < frames.size(); ++i) dissector.dissect(frames[i].frame(i + 1), sink);
    dissector.finish(sink);
}

}  // namespace

int main(int count, char** arguments) {
    const std::string_view what = count > 2 ? arguments[1] : "";
    fuzz::on_death(leave_crash);
    if (what == "truncations") {
        truncate_all(shard_of(arguments[2]));
        snap_streams(shard_of(arguments[2]));
    } else if (what == "mutations") {
        const Shard shard = shard_of(arguments[2]);
        const std::uint64_t all = count > 3 ? fuzz::number_of(arguments[3]) : fuzz::wished_mutations();
        const std::uint64_t share = all / shard.count;
        const auto captures = support::load_captures(400);
        mutate_frames(captures, share / 2, fuzz::Random(2 * shard.index));
        mutate_streams(captures, share - share / 2, fuzz::Random(2 * shard.index + 1));
    } else if (what == "replay") {
        for (int i = 2; i < count; ++i) replay(arguments[i]);
    } else {
        return std::fputs("usage: mutate truncations|mutations SHARD/SHARDS [COUNT], or mutate replay FILE...\n",
                          stderr),
               2;
    }
    return 0;
}
