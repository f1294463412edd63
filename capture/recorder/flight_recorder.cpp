#include "capture/recorder/flight_recorder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace capture::inline recorder {
namespace {

/// What stands before a frame's bytes. Frames and headers are multiples of eight bytes.
struct Header {
    std::int64_t time_ns;
    std::uint64_t number;
    std::uint64_t clock_ns;
    std::uint32_t interface;
    std::uint32_t wire_length;
    std::uint32_t octets;
    wire::LinkType link_type;
    wire::Direction direction;
};
static_assert(sizeof(Header) == 40);

constexpr std::uint64_t size_of_record(std::uint64_t octets) { return sizeof(Header) + (octets + 7) / 8 * 8; }

/// Anonymous memory, whose pages are allocated when they are written.
class Memory {
public:
    explicit Memory(std::size_t octets) : octets_(octets) {
        void* const at = ::mmap(nullptr, octets, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(),
                                    "no memory for the flight recorder: " + std::to_string(octets) + " bytes");
        at_ = static_cast<std::byte*>(at);
    }
    ~Memory() { ::munmap(at_, octets_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    std::byte* at(std::uint64_t offset) const { return at_ + offset; }
    std::size_t octets() const { return octets_; }

private:
    std::byte* at_ = nullptr;
    std::size_t octets_;
};

/// Frames of one batch come from one interface, and batches of several interfaces overlap in time.
constexpr std::uint64_t late_ns = 1'000'000'000;

/// Time according to the frames, going forward only. It may wrap around: only differences are meaningful, and those are
/// bounded.
class FrameClock {
public:
    explicit FrameClock(std::uint64_t before_ns) : most_ns_(std::min(before_ns, ~std::uint64_t{0} / 4) + late_ns) {}

    /// What the clock says as a frame of `interface` with this time passes.
    std::uint64_t at(std::uint32_t interface, std::int64_t time_ns) {
        Hand& hand = hands_[interface % hands_.size()];
        if (!hand.seen) hand = {time_ns, now_ns_, true};
        // Unsigned, because times of a broken clock may differ by more than a signed number holds.
        const std::uint64_t passed = static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(hand.time_ns);
        if (time_ns > hand.time_ns) {
            hand.clock_ns += std::min(passed, most_ns_);
            hand.time_ns = time_ns;
        } else if (0 - passed > late_ns) {
            hand.time_ns = time_ns;
        }
        if (const std::uint64_t ahead = hand.clock_ns - now_ns_; ahead <= most_ns_) now_ns_ = hand.clock_ns;
        // Another interface's clock was set forward: this one need not catch up with it.
        else if (0 - ahead > late_ns)
            hand.clock_ns = now_ns_;
        return now_ns_;
    }
    std::uint64_t now_ns() const { return now_ns_; }

private:
    struct Hand {
        std::int64_t time_ns = 0;    ///< the newest since the clock was last set
        std::uint64_t clock_ns = 0;  ///< this interface's share in now_ns_
        bool seen = false;
    };
    std::uint64_t most_ns_;            ///< that counts at once: all that was kept is old then
    std::array<Hand, 64> hands_ = {};  ///< interfaces beyond share
    std::uint64_t now_ns_ = 0;
};

}  // namespace

/// Places are counted without a limit: a lap of the memory is `memory.octets()` places, and a record never crosses the
/// end of a lap. At most two laps are held: the one that is being written, and after its tail the end of the lap
/// before.
struct FlightRecorder::Ring {
    explicit Ring(const FlightRecorderOptions& given)
        : options(given),
          memory(whole_pages(std::max<std::uint64_t>(given.memory_octets, size_of_record(given.frame_octets)))) {}

    static std::size_t whole_pages(std::uint64_t octets) {
        const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        return static_cast<std::size_t>((octets + page - 1) / page * page);
    }

    std::byte* at(std::uint64_t place) const {
        return memory.at(place >= lap ? place - lap : place + memory.octets() - lap);
    }
    Header header(std::uint64_t place) const {
        Header read;
        std::memcpy(&read, at(place), sizeof read);
        return read;
    }
    bool is_old(const Header& read) const { return clock.now_ns() - read.clock_ns > options.before_ns; }

    /// Moves to the end of the record of that size; skips the rest of a lap that ended.
    void pass(Position& position, const Header& read) const {
        position.place += size_of_record(read.octets);
        ++position.sequence;
        if (position.place == lap_before_end) position.place = lap;
    }

    void drop_oldest() {
        const Header read = header(first.place);
        if (!is_old(read)) ++overwritten;
        pass(first, read);
    }

    std::byte* make_room(std::uint64_t size) {
        if (tail.place + size > lap + memory.octets()) {
            while (first.sequence < tail.sequence && first.place < lap) drop_oldest();
            // Empty, or all in this lap: either way what follows begins the next.
            lap_before_end = tail.place;
            lap += memory.octets();
            if (first.sequence == tail.sequence) first.place = lap;
            tail.place = lap;
        }
        if (lap > 0) {
            const std::uint64_t free_up_to = tail.place + size - memory.octets();
            while (first.sequence < tail.sequence && first.place < free_up_to) drop_oldest();
        }
        return at(tail.place);
    }

    /// Where the oldest frame lies that is young enough. Remembered, so that each frame is passed once.
    const Position& find_live() {
        if (live.sequence < first.sequence) live = first;
        if (live.place == lap_before_end) live.place = lap;  // the lap ended after everything had become old
        while (live.sequence < tail.sequence) {
            const Header read = header(live.place);
            if (!is_old(read)) break;
            pass(live, read);
        }
        return live;
    }

    FlightRecorderOptions options;
    Memory memory;
    FrameClock clock{options.before_ns};
    std::uint64_t lap = 0;                             ///< place at which the present lap began
    std::uint64_t lap_before_end = ~std::uint64_t{0};  ///< place after the last record of the lap before
    Position first = {};                               ///< the oldest record that can be read
    Position tail = {};
    Position live = {};
    std::int64_t last_ns = 0;
    std::uint64_t overwritten = 0;
};

FlightRecorder::FlightRecorder(const FlightRecorderOptions& options) : ring_(std::make_unique<Ring>(options)) {}
FlightRecorder::~FlightRecorder() = default;

void FlightRecorder::keep(const wire::Frame& frame) {
    Ring& ring = *ring_;
    const std::size_t octets = std::min<std::size_t>(frame.bytes.size(), ring.options.frame_octets);
    const std::uint64_t size = size_of_record(octets);
    const std::uint64_t clock_ns = ring.clock.at(frame.interface, frame.time_ns);
    std::byte* const at = ring.make_room(size);
    const Header header{.time_ns = frame.time_ns,
                        .number = frame.number,
                        .clock_ns = clock_ns,
                        .interface = frame.interface,
                        .wire_length = frame.wire_length,
                        .octets = static_cast<std::uint32_t>(octets),
                        .link_type = frame.link_type,
                        .direction = frame.direction};
    std::memcpy(at, &header, sizeof header);
    if (octets > 0) std::memcpy(at + sizeof header, frame.bytes.data(), octets);
    ring.tail.place += size;
    ++ring.tail.sequence;
    ring.last_ns = frame.time_ns;
}

FlightRecorder::Position FlightRecorder::oldest() const { return ring_->find_live(); }
FlightRecorder::Position FlightRecorder::end() const { return ring_->tail; }
std::uint64_t FlightRecorder::clock_ns() const { return ring_->clock.now_ns(); }
std::size_t FlightRecorder::memory_octets() const { return ring_->memory.octets(); }

bool FlightRecorder::next(Position& at, Kept& kept) const {
    const Ring& ring = *ring_;
    kept.missed = 0;
    if (at.sequence >= ring.tail.sequence) return false;
    if (at.sequence < ring.first.sequence) {
        kept.missed = ring.first.sequence - at.sequence;
        at = ring.first;
    } else if (at.place == ring.lap_before_end) {
        at.place = ring.lap;  // the lap ended after `at` had come there
    }
    const Header header = ring.header(at.place);
    kept.clock_ns = header.clock_ns;
    kept.frame = {.bytes = {ring.at(at.place) + sizeof(Header), header.octets},
                  .wire_length = header.wire_length,
                  .link_type = header.link_type,
                  .direction = header.direction,
                  .interface = header.interface,
                  .time_ns = header.time_ns,
                  .number = header.number};
    ring.pass(at, header);
    return true;
}

void FlightRecorder::replay(std::int64_t from_ns, const std::function<bool(const wire::Frame&)>& sink) const {
    Position at = oldest();
    Kept kept;
    while (next(at, kept))
        if (kept.frame.time_ns >= from_ns && !sink(kept.frame)) return;
}

FlightRecorder::Extent FlightRecorder::extent() const {
    Ring& ring = *ring_;
    Extent extent{.overwritten = ring.overwritten};
    const Position& live = ring.find_live();
    extent.frames = ring.tail.sequence - live.sequence;
    if (extent.frames == 0) return extent;
    extent.octets = ring.tail.place - live.place;
    // What a lap left unused at its end.
    if (live.place < ring.lap) extent.octets -= ring.lap - ring.lap_before_end;
    extent.first_ns = ring.header(live.place).time_ns;
    extent.last_ns = ring.last_ns;
    return extent;
}

}  // namespace capture::recorder
