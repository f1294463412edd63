#include "metrics/engine/worker.h"

#include <cstring>
#include <utility>

namespace metrics {

bool Block::add(const wire::Frame& frame, const FrameContext& context, bool lasting) {
    if (frames.capacity() == 0) frames.reserve(frames_max);
    if (frames.size() == frames_max) return false;
    wire::Frame here = frame;
    here.comment = {};
    if (!lasting) {
        const std::size_t octets = frame.bytes.size();
        if (kept.capacity() - kept.size() < octets) {
            if (!kept.empty()) return false;
            kept.reserve(std::max(octets, octets_max));
        }
        const std::size_t at = kept.size();
        kept.insert(kept.end(), frame.bytes.begin(), frame.bytes.end());
        here.bytes = wire::Bytes(kept.data() + at, octets);
    }
    frames.push_back({here, context});
    return true;
}

void Block::clear() {
    frames.clear();
    kept.clear();
}

Worker::Worker(const dissect::DissectorOptions& dissector, const EngineOptions& engine)
    : engine_(engine), dissector_(dissector), shortcut_(engine.shortcut), verify_crc_(dissector.parse.verify_crc) {}

Worker::~Worker() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void Worker::start() {
    thread_ = std::thread([this] { run(); });
}

void Worker::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        std::unique_ptr<Block> block = std::move(waiting_.front());
        waiting_.pop_front();
        busy_ = true;
        lock.unlock();
        changed_.notify_all();
        std::exception_ptr failure;
        try {
            for (const FrameInContext& item : block->frames) work(item.frame, item.context);
            engine_.flush();
        } catch (...) {
            failure = std::current_exception();
        }
        block->clear();
        lock.lock();
        if (failure && !failure_) failure_ = failure;
        empty_.push_back(std::move(block));
        busy_ = false;
        changed_.notify_all();
    }
}

void Worker::hand_over(std::unique_ptr<Block> block) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < blocks_waiting_max; });
    waiting_.push_back(std::move(block));
    lock.unlock();
    changed_.notify_all();
}

std::unique_ptr<Block> Worker::empty_block() {
    {
        const std::lock_guard lock(mutex_);
        if (!empty_.empty()) {
            std::unique_ptr<Block> block = std::move(empty_.back());
            empty_.pop_back();
            return block;
        }
    }
    return std::make_unique<Block>();
}

void Worker::wait_until_idle() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

}  // namespace metrics
