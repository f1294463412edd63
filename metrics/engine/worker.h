#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "dissect/dissector.h"
#include "metrics/engine/engine.h"
#include "metrics/frame_context.h"
#include "wire/frame.h"

namespace metrics {

struct FrameInContext {
    wire::Frame frame;
    FrameContext context;
};

/// Frames on their way to a worker; those that do not last have their octets in `kept`.
struct Block {
    static constexpr std::size_t frames_max = 2048;
    static constexpr std::size_t octets_max = 1u << 20;

    std::vector<FrameInContext> frames;
    std::vector<std::byte> kept;  ///< reserved once and never moved: frames point into it

    /// False where it has no room: hand it over and take an empty one.
    bool add(const wire::Frame& frame, const FrameContext& context, bool lasting);
    void clear();
};

/// A dissector with its engine, and, where there are several, the thread that drives them.
class Worker {
public:
    Worker(const dissect::DissectorOptions& dissector, const EngineOptions& engine);
    ~Worker();

    /// In the caller's thread.
    void work(const wire::Frame& frame, const FrameContext& context) {
        if (context.plain_bth != 0 && shortcut_) {
            engine_.on_plain(frame, context, verify_crc_);
            return;
        }
        engine_.begin_frame(context);
        if (context.plain_segment && shortcut_)
            dissector_.dissect_plain(frame, engine_);
        else
            dissector_.dissect(frame, engine_);
    }

    void start();
    /// Waits where too much waits already.
    void hand_over(std::unique_ptr<Block> block);
    std::unique_ptr<Block> empty_block();
    /// Returns when everything handed over is done. Throws what the thread threw.
    void wait_until_idle();
    void finish() { dissector_.finish(engine_); }

    Engine& engine() { return engine_; }
    dissect::Dissector& dissector() { return dissector_; }

private:
    static constexpr std::size_t blocks_waiting_max = 8;
    void run();

    Engine engine_;
    dissect::Dissector dissector_;
    bool shortcut_;
    bool verify_crc_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::unique_ptr<Block>> waiting_;
    std::vector<std::unique_ptr<Block>> empty_;
    std::exception_ptr failure_;
    bool busy_ = false;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace metrics
