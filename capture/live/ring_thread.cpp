#include "capture/live/ring_thread.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <poll.h>
#include <pthread.h>
#include <span>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signal_block.h"

namespace capture::inline live {
namespace {

constexpr std::size_t parcel_bytes = std::size_t{1} << 20;
constexpr std::size_t parcel_frames = 4096;
constexpr std::size_t batch_of_ring = 64;
constexpr std::size_t parcels_kept = 8;  // to be used again
constexpr int look_again_ms = 100;
constexpr int removed_again_ms = 5;

/// What a parcel costs, short frames among it.
std::uint64_t cost(const Parcel& parcel) { return parcel.bytes.size() + parcel.frames.size() * sizeof(wire::Frame); }

void append_frames(Parcel& parcel, std::span<const wire::Frame> frames) {
    for (const wire::Frame& frame : frames) {
        parcel.bytes.insert(parcel.bytes.end(), frame.bytes.begin(), frame.bytes.end());
        parcel.frames.push_back(frame);
    }
}

/// The bytes have their last place: frames refer to them from now on.
void seal(Parcel& parcel) {
    const std::byte* at = parcel.bytes.data();
    for (wire::Frame& frame : parcel.frames) {
        frame.bytes = {at, frame.bytes.size()};
        at += frame.bytes.size();
    }
    parcel.taken_ns = base::steady_ns();
}

}  // namespace

base::Result<void> Bell::open() {
    if (event_) return {};
    event_ = base::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (event_) return {};
    return base::Failure{base::Error{.message = fmt::format("cannot make an event: {}", std::strerror(errno))}};
}

void Bell::ring() {
    if (rung_.exchange(true, std::memory_order_acq_rel)) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event_.number(), &one, sizeof one);
}

void Bell::silence() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(event_.number(), &count, sizeof count);
    rung_.store(false, std::memory_order_release);
}

RingThread::RingThread(std::unique_ptr<PacketRing> ring, std::uint64_t room_bytes, Bell& bell)
    : ring_(std::move(ring)), room_bytes_(room_bytes), bell_(bell) {}

RingThread::~RingThread() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(queue_mutex_);
        stopping_ = true;
    }
    room_.notify_all();
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_.number(), &one, sizeof one);
    thread_.join();
}

void RingThread::start() {
    stop_ = base::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    batch_.resize(batch_of_ring);
    const base::SignalBlock block;
    thread_ = std::thread([this] {
        ::pthread_setname_np(::pthread_self(), "ring");
        run();
    });
}

void RingThread::run() {
    while (wait_for_room() && !ended_)
        if (!read() && !ended_) wait_for_frames();
}

/// False at the end.
bool RingThread::wait_for_room() {
    std::unique_lock lock(queue_mutex_);
    room_.wait(lock, [this] { return stopping_ || held_bytes_ < room_bytes_; });
    return !stopping_;
}

std::unique_ptr<Parcel> RingThread::empty_parcel() {
    {
        const std::lock_guard lock(queue_mutex_);
        if (!empty_.empty()) {
            std::unique_ptr<Parcel> parcel = std::move(empty_.back());
            empty_.pop_back();
            return parcel;
        }
    }
    return std::make_unique<Parcel>();
}

/// Whether there were frames.
bool RingThread::read() {
    const std::lock_guard ring_lock(ring_mutex_);
    std::unique_ptr<Parcel> parcel = empty_parcel();
    Batch batch;
    do {
        batch = ring_->next_batch(batch_);
        append_frames(*parcel, std::span(batch_).first(batch.count));
    } while (batch.count > 0 && parcel->bytes.size() < parcel_bytes && parcel->frames.size() < parcel_frames);
    seal(*parcel);
    const bool any = !parcel->frames.empty();
    {
        const std::lock_guard lock(queue_mutex_);
        if (any) {
            held_bytes_ += cost(*parcel);
            full_.push_back(std::move(parcel));
        } else {
            empty_.push_back(std::move(parcel));
        }
    }
    if (batch.status == ReadStatus::end) ended_.store(true, std::memory_order_release);
    if (any || ended_) bell_.ring();
    return any;
}

/// A ring that was removed would end each wait at once.
void RingThread::wait_for_frames() {
    const bool ending = with_ring([](const PacketRing& ring) { return ring.ending(); });
    std::array<pollfd, 2> waiting{{{stop_.number(), POLLIN, 0}, {ring_->descriptor(), POLLIN, 0}}};
    ::poll(waiting.data(), ending ? 1 : 2, ending ? removed_again_ms : look_again_ms);
}

bool RingThread::take(std::deque<std::unique_ptr<Parcel>>& out) {
    const std::lock_guard lock(queue_mutex_);
    if (full_.empty()) return false;
    for (std::unique_ptr<Parcel>& parcel : full_) out.push_back(std::move(parcel));
    full_.clear();
    return true;
}

void RingThread::give_back(std::unique_ptr<Parcel> parcel) {
    constexpr std::size_t large = 2 * parcel_bytes;
    {
        const std::lock_guard lock(queue_mutex_);
        held_bytes_ -= std::min(held_bytes_, cost(*parcel));
        if (empty_.size() < parcels_kept && parcel->bytes.capacity() <= large) {
            parcel->frames.clear();
            parcel->bytes.clear();
            parcel->next = 0;
            empty_.push_back(std::move(parcel));
        }
    }
    room_.notify_one();
}

bool RingThread::is_quiet() {
    const std::unique_lock ring_lock(ring_mutex_, std::try_to_lock);
    if (!ring_lock.owns_lock()) return false;
    const std::lock_guard lock(queue_mutex_);
    return full_.empty() && !ring_->ready();
}

std::int64_t RingThread::cpu_ns() {
    clockid_t clock = 0;
    if (!thread_.joinable() || ::pthread_getcpuclockid(thread_.native_handle(), &clock) != 0) return 0;
    return base::now_ns(clock);
}

}  // namespace capture::live
