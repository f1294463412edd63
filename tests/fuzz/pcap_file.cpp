/// Fuzz target `pcap_file`: a whole file, plain or compressed, read to its end or to the first fault, frame by frame
/// and in batches; both must see the same.
#include <array>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/files/file_source.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"

namespace {

struct Seen {
    std::uint64_t frames = 0;
    std::uint64_t octets = 0;
    bool failed = false;
    bool operator==(const Seen&) const = default;
};

void look(const wire::Frame& frame, Seen& seen) {
    ++seen.frames;
    if (frame.number != seen.frames) fuzz::violated("frames are numbered without gaps");
    if (frame.bytes.size() > frame.wire_length) fuzz::violated("no more is captured than was on the wire");
    for (const std::byte octet : frame.bytes) seen.octets += std::to_integer<unsigned>(octet);
    seen.octets += frame.comment.size();
}

Seen read_all(const std::string& path, bool batches, capture::Access access) {
    Seen seen;
    auto source = capture::open_file(path, {.access = access, .window_octets = 1 << 16, .buffer_octets = 1 << 12});
    if (!source.ok()) {
        if (source.error().message.empty()) fuzz::violated("a file that cannot be opened has a reason");
        return seen;
    }
    std::array<wire::Frame, 16> frames;
    // A small compressed file can hold gigabytes: they have to be survived, not waited for.
    while (seen.frames < 100'000 && seen.octets < (1u << 28)) {
        const capture::Batch batch = batches ? (*source)->next_batch(frames) : [&] {
            const capture::ReadStatus status = (*source)->next(frames[0]);
            return capture::Batch{status == capture::ReadStatus::frame ? std::size_t{1} : std::size_t{0}, status};
        }();
        for (std::size_t i = 0; i < batch.count; ++i) look(frames[i], seen);
        if (batch.status == capture::ReadStatus::frame) continue;
        seen.failed = batch.status == capture::ReadStatus::error;
        if (seen.failed && (*source)->error().message.empty()) fuzz::violated("an error says what is wrong");
        break;
    }
    return seen;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const int file = memfd_create("fuzz", 0);
    if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size))
        fuzz::violated("a file in memory can be made");
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    const Seen singly = read_all(path, false, capture::Access::mapped);
    const Seen batched = read_all(path, true, capture::Access::read);
    if (singly.frames < 100'000 && batched.frames < 100'000 && singly.octets < (1u << 28) && singly != batched)
        fuzz::violated("a mapped file and one that is read, singly and in batches, hold the same");
    close(file);
    return 0;
}
