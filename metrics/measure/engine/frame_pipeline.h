#pragma once
#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "metrics/measure/account/frame_context.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline engine {

/// A group of frames that passes through the pipeline.
struct Chunk {
    static constexpr std::size_t frames_max = 1024;
    static constexpr std::size_t octets_max = 1u << 20;

    /// Takes frames from the front, as many as fit. If `lasting`, their bytes need not be copied.
    void add(std::span<const wire::Frame>& more, bool lasting);
    void clear();
    std::span<const wire::Frame> frames() const { return {places.data(), count}; }
    /// Where the next frames go.
    std::span<wire::Frame> room() { return std::span(places).subspan(count); }

    static constexpr std::size_t cache_line = 64;  ///< one a frame: they go from processor to processor
    alignas(cache_line) std::array<wire::Frame, frames_max> places;  ///< comments are not used, and need not last
    std::size_t count = 0;                                           ///< of the frames
    std::vector<FrameContext> contexts;
    std::vector<std::vector<std::uint16_t>> shares;  ///< which frames are whose
    std::vector<std::byte> kept;                     ///< copied bytes; never moved once frames point here
    bool full = false;
};

/// Threads that work on frames in stages; no thread is bound to a stage. Each chunk is read as a whole, in the order of
/// the capture (observe: a single stage, on any thread), then each of its shares is worked off, again in that order
/// (work: one stage a share). A thread takes any stage that has something to do and no thread in it, so that no thread
/// waits while there is work. What a stage keeps passes from thread to thread under the pipeline's lock.
///
/// The thread that feeds belongs to the pipeline: if enough is waiting, it works instead of waiting itself.
class FramePipeline {
public:
    struct Stages {
        std::function<void(Chunk&)> observe;                  ///< fills in contexts and shares
        std::function<void(std::size_t share, Chunk&)> work;  ///< frames of that share
    };
    /// `threads` is at least 1, including the caller's; the number of shares is the same.
    FramePipeline(unsigned threads, Stages stages);
    ~FramePipeline();
    FramePipeline(const FramePipeline&) = delete;
    FramePipeline& operator=(const FramePipeline&) = delete;

    /// If `lasting`, the frames' bytes stay valid until settle() has returned; else they are copied.
    void feed(std::span<const wire::Frame> frames, bool lasting);
    /// Where frames that last may be put before they are fed, from its beginning, all of them at once: they need not be
    /// copied then. Never empty.
    std::span<wire::Frame> room();
    /// Works until all frames are done. Rethrows an exception of a stage.
    void settle();

private:
    static constexpr std::uint64_t chunks_waiting_max = 8;  ///< few: what is worked on stays in the caches
    static constexpr std::uint64_t observed_ahead = 2;      ///< chunks: with fewer, to observe comes first
    struct Task {
        enum class Kind : std::uint8_t { none, observe, work } kind = Kind::none;
        std::size_t share = 0;
        Chunk* chunk = nullptr;
    };

    void run(std::size_t own);
    Task take(std::size_t own);
    /// Does one step of work, or waits for one.
    void go_on(std::size_t own, std::unique_lock<std::mutex>& lock);
    void hand_over();
    void perform(const Task& task, std::unique_lock<std::mutex>& lock);
    void retire_chunks();
    std::uint64_t slowest() const;
    std::unique_ptr<Chunk> empty_chunk();
    std::unique_ptr<Chunk>& place_of(std::uint64_t serial) { return waiting_[serial % chunks_waiting_max]; }

    Stages stages_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::unique_ptr<Chunk> filling_;
    // Chunks have serial numbers; all of these are the next to come.
    std::array<std::unique_ptr<Chunk>, chunks_waiting_max> waiting_;  ///< by serial number, modulo its size
    std::vector<std::unique_ptr<Chunk>> empty_;
    std::uint64_t first_ = 0;  ///< of those waiting
    std::uint64_t fed_ = 0;
    std::uint64_t observed_ = 0;
    std::vector<std::uint64_t> worked_;  ///< by share
    bool observing_ = false;
    std::vector<bool> working_;
    unsigned idle_ = 0;  ///< threads that wait
    std::exception_ptr failure_;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace metrics::measure::engine
