#include "metrics/measure/engine/frame_pipeline.h"

#include <algorithm>
#include <utility>

namespace metrics::inline measure::inline engine {

void Chunk::add(std::span<const wire::Frame>& more, bool lasting) {
    if (lasting && more.data() == room().data() && more.size() <= room().size()) {
        count += std::exchange(more, {}).size();
        full = count == frames_max;
        return;
    }
    while (!more.empty() && !full) {
        const std::size_t octets = lasting ? 0 : more.front().bytes.size();
        if (kept.capacity() - kept.size() < octets) {
            if (!kept.empty()) {
                full = true;
                return;
            }
            kept.reserve(std::max(octets, octets_max));
        }
        wire::Frame frame = more.front();
        frame.comment = {};
        if (!lasting) {
            const std::size_t at = kept.size();
            kept.insert(kept.end(), frame.bytes.begin(), frame.bytes.end());
            frame.bytes = base::Bytes(kept.data() + at, octets);
        }
        places[count++] = frame;
        more = more.subspan(1);
        full = count == frames_max;
    }
}

void Chunk::clear() {
    count = 0;
    contexts.clear();
    for (auto& share : shares) share.clear();
    kept.clear();
    full = false;
}

FramePipeline::FramePipeline(unsigned threads, Stages stages)
    : stages_(std::move(stages)), worked_(threads), working_(threads) {
    for (std::size_t own = 1; own < threads; ++own) threads_.emplace_back([this, own] { run(own); });
}

FramePipeline::~FramePipeline() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void FramePipeline::run(std::size_t own) {
    std::unique_lock lock(mutex_);
    while (!stopping_) go_on(own, lock);
}

void FramePipeline::go_on(std::size_t own, std::unique_lock<std::mutex>& lock) {
    if (const Task task = take(own); task.kind != Task::Kind::none) return perform(task, lock);
    ++idle_;
    changed_.wait(lock);
    --idle_;
}

std::uint64_t FramePipeline::slowest() const { return *std::min_element(worked_.begin(), worked_.end()); }

/// Something to do, and the stage with it. A thread's own share comes first: its flows are in that processor's cache.
FramePipeline::Task FramePipeline::take(std::size_t own) {
    const auto share_waits = [this](std::size_t share) { return !working_[share] && worked_[share] < observed_; };
    const auto work = [this](std::size_t share) {
        working_[share] = true;
        return Task{Task::Kind::work, share, place_of(worked_[share]).get()};
    };
    const bool may_observe = !observing_ && observed_ < fed_;
    const bool soon_short = observed_ < slowest() + observed_ahead;
    if (share_waits(own) && !(may_observe && soon_short)) return work(own);
    if (may_observe) {
        observing_ = true;
        return {Task::Kind::observe, 0, place_of(observed_).get()};
    }
    for (std::size_t share = 0; share < worked_.size(); ++share)
        if (share_waits(share)) return work(share);
    return {};
}

void FramePipeline::perform(const Task& task, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    std::exception_ptr failure;
    try {
        if (task.kind == Task::Kind::observe)
            stages_.observe(*task.chunk);
        else
            stages_.work(task.share, *task.chunk);
    } catch (...) {
        failure = std::current_exception();
    }
    lock.lock();
    if (failure && !failure_) failure_ = failure;
    if (task.kind == Task::Kind::observe) {
        observing_ = false;
        ++observed_;
    } else {
        working_[task.share] = false;
        ++worked_[task.share];
        retire_chunks();
    }
    if (idle_ != 0) changed_.notify_all();
}

void FramePipeline::retire_chunks() {
    for (const std::uint64_t done = slowest(); first_ < done; ++first_) empty_.push_back(std::move(place_of(first_)));
}

std::unique_ptr<Chunk> FramePipeline::empty_chunk() {
    {
        const std::lock_guard lock(mutex_);
        if (!empty_.empty()) {
            std::unique_ptr<Chunk> chunk = std::move(empty_.back());
            empty_.pop_back();
            chunk->clear();
            return chunk;
        }
    }
    auto chunk = std::make_unique<Chunk>();
    chunk->contexts.reserve(Chunk::frames_max);
    chunk->shares.resize(worked_.size());
    for (auto& share : chunk->shares) share.reserve(Chunk::frames_max);
    return chunk;
}

void FramePipeline::feed(std::span<const wire::Frame> frames, bool lasting) {
    while (!frames.empty()) {
        if (!filling_) filling_ = empty_chunk();
        filling_->add(frames, lasting);
        if (filling_->full) hand_over();
    }
}

std::span<wire::Frame> FramePipeline::room() {
    if (!filling_) filling_ = empty_chunk();
    return filling_->room();
}

void FramePipeline::hand_over() {
    std::unique_lock lock(mutex_);
    place_of(fed_++) = std::move(filling_);
    if (idle_ != 0) changed_.notify_all();
    while (fed_ - slowest() >= chunks_waiting_max) go_on(0, lock);
}

void FramePipeline::settle() {
    if (filling_) hand_over();
    std::unique_lock lock(mutex_);
    while (slowest() != fed_) go_on(0, lock);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace metrics::measure::engine
