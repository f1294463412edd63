#include "daemon/frame_requests.h"

#include <fmt/core.h>

namespace service {
namespace {

class RequestedFrames final : public FrameStream {
public:
    RequestedFrames(std::shared_ptr<FrameRequests::Exchange> exchange, std::function<void()> wake)
        : exchange_(std::move(exchange)), wake_(std::move(wake)) {
        wake_();
    }

    Step read(std::string& out) override {
        Step step{};
        {
            const std::lock_guard lock(exchange_->mutex);
            if (exchange_->asked && !exchange_->ended) return exchange_->more ? Step::soon : Step::later;
            out += exchange_->piece;
            exchange_->piece.clear();
            if (exchange_->ended) return Step::ended;
            step = exchange_->more ? Step::soon : Step::later;
            exchange_->asked = true;
        }
        wake_();
        return step;
    }

private:
    std::shared_ptr<FrameRequests::Exchange> exchange_;
    std::function<void()> wake_;
};

}  // namespace

base::Result<void> FrameRequests::open(control::FramesOf which, const capture::FlightRecorder* recorder,
                                       const std::vector<capture::InterfaceInfo>& interfaces,
                                       const std::shared_ptr<Exchange>& exchange, const std::vector<bool>& gone) {
    tidy();
    if (which == control::FramesOf::recorder && recorder == nullptr)
        return base::failure("the flight recorder is off; `recorder.directory` (--record DIR) switches it on");
    if (open_.size() >= max_streams)
        return base::failure(
            fmt::format("{} clients are sent frames already; come again when one has gone", max_streams));
    if (recorder == nullptr && !own_)
        own_ = std::make_unique<capture::FlightRecorder>(
            capture::FlightRecorderOptions{.memory_octets = own_memory_octets, .frame_octets = frame_octets_});
    exchange->pieces = std::make_unique<FramePieces>(
        recorder != nullptr ? *recorder : *own_,
        which == control::FramesOf::recorder ? FramePieces::From::oldest : FramePieces::From::now, interfaces, gone);
    open_.push_back(exchange);
    return {};
}

void FrameRequests::serve(const capture::FlightRecorder* recorder,
                          const std::vector<capture::InterfaceInfo>& interfaces) {
    for (const std::shared_ptr<Exchange>& each : open_) {
        const std::lock_guard lock(each->mutex);
        if (!each->asked || each->ended) continue;
        const FramePieces::Step step =
            each->pieces->append(recorder != nullptr ? *recorder : *own_, interfaces, each->piece);
        each->asked = false;
        each->more = step == FramePieces::Step::piece;
        each->ended = step == FramePieces::Step::ended;
    }
    tidy();
}

void FrameRequests::tidy() {
    std::erase_if(open_, [](const auto& each) { return each.use_count() == 1; });
    if (open_.empty()) own_.reset();
}

void FrameRequests::close() {
    for (const std::shared_ptr<Exchange>& each : open_) {
        const std::lock_guard lock(each->mutex);
        each->ended = true;
    }
    open_.clear();
}

std::unique_ptr<FrameStream> stream_of(std::shared_ptr<FrameRequests::Exchange> exchange, std::function<void()> wake) {
    return std::make_unique<RequestedFrames>(std::move(exchange), std::move(wake));
}

}  // namespace service
