#include "replay/frames/injector.h"

#include <algorithm>

namespace replay::inline frames {

Injector::Injector(FrameOutput& output, InjectClock& clock, Outgoing& outgoing, const InjectSettings& settings)
    : output_(output),
      clock_(clock),
      outgoing_(outgoing),
      settings_(settings),
      line_(settings.impairment),
      impaired_(settings.impairment.any()),
      batch_(batch_frames) {
    views_.reserve(batch_frames);
}

bool Injector::stop() {
    report_.stopped = report_.stopped || (settings_.stop != nullptr && settings_.stop());
    return report_.stopped;
}

bool Injector::run(capture::Source& source) {
    first_captured_ns_.reset();
    frames_of_loop_ = 0;
    wire::Frame frame;
    for (;;) {
        const capture::ReadStatus status = source.next(frame);
        if (status == capture::ReadStatus::end) break;
        if (status == capture::ReadStatus::error) {
            // What came before the damage is sent.
            flush();
            report_.error = source.error().text();
            return false;
        }
        if (status == capture::ReadStatus::frame && !take(frame, source.interfaces()[frame.interface])) return false;
        if (stop()) return false;
    }
    if (!flush()) return false;
    ++report_.loops;
    // The next loop's first frame follows after the mean distance of frames.
    if (start_ns_ && frames_of_loop_ > 1 && settings_.speed) {
        const auto span = static_cast<double>(last_captured_ns_ - *first_captured_ns_) / *settings_.speed;
        start_ns_ = last_due_ns_ + static_cast<std::int64_t>(span / static_cast<double>(frames_of_loop_ - 1));
    } else {
        start_ns_.reset();
    }
    return true;
}

std::int64_t Injector::due_of(std::int64_t captured_ns) {
    if (!settings_.speed) {
        last_due_ns_ = clock_.now_ns();
        return last_due_ns_;
    }
    if (!first_captured_ns_) {
        first_captured_ns_ = last_captured_ns_ = captured_ns;
        if (!start_ns_) start_ns_ = clock_.now_ns();
        last_due_ns_ = std::max(last_due_ns_, *start_ns_);
    }
    if (captured_ns < last_captured_ns_)
        ++report_.out_of_order;
    else
        last_captured_ns_ = captured_ns;
    const auto after = static_cast<double>(last_captured_ns_ - *first_captured_ns_) / *settings_.speed;
    last_due_ns_ = std::max(last_due_ns_, *start_ns_ + static_cast<std::int64_t>(after));
    return last_due_ns_;
}

bool Injector::take(const wire::Frame& frame, const capture::InterfaceInfo& interface) {
    ++report_.read;
    const Outgoing::Made made = outgoing_.make(frame, interface);
    if (made.unfit != Unfit::none) return true;
    ++frames_of_loop_;
    const std::int64_t due_ns = due_of(frame.time_ns);
    if (!impaired_) return emit(made.octets, due_ns);
    if (!let_leave(due_ns)) return false;
    line_.put(made.octets, made.places, due_ns);
    // A reader of a file can wait: nothing is dropped because the line is slow.
    while (line_.full() && !stop()) {
        if (!let_leave(line_.next_ns().value_or(due_ns))) return false;
    }
    return !report_.stopped;
}

/// What leaves the line by then.
bool Injector::let_leave(std::int64_t until_ns) {
    while (const auto leaving = line_.take(until_ns))
        if (!emit(leaving->octets, leaving->at_ns)) return false;
    return true;
}

bool Injector::emit(base::Bytes octets, std::int64_t due_ns) {
    const bool paced = settings_.speed || impaired_;
    if (paced && due_ns > clock_.now_ns()) {
        if (!flush()) return false;
        clock_.wait(due_ns);
        if (stop()) return false;
    }
    batch_[batched_].octets.assign(octets.begin(), octets.end());
    batch_[batched_++].due_ns = due_ns;
    return batched_ < batch_.size() || flush();
}

bool Injector::flush() {
    for (std::size_t at = 0; at < batched_;) {
        views_.clear();
        for (std::size_t i = at; i < batched_; ++i) views_.emplace_back(batch_[i].octets);
        const std::int64_t now_ns = clock_.now_ns();
        const FrameOutput::Sent sent = output_.send(views_);
        if (sent.frames != 0) {
            if (report_.sent == 0) report_.begun_ns = now_ns;
            report_.ended_ns = clock_.now_ns();
        }
        for (std::size_t i = at; i < at + sent.frames; ++i) {
            ++report_.sent;
            report_.octets += batch_[i].octets.size();
            if (settings_.speed)
                report_.late_ns.record(
                    static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns - batch_[i].due_ns, 0)));
        }
        at += sent.frames;
        if (sent.next == FrameOutput::Outcome::lost) {
            report_.error = output_.error();
            batched_ = 0;
            return false;
        }
        if (sent.next == FrameOutput::Outcome::too_long && at < batched_) {
            ++report_.too_long;
            ++at;
        }
    }
    batched_ = 0;
    return true;
}

bool Injector::finish() {
    line_.end();
    while (const auto next = line_.next_ns())
        if (stop() || !let_leave(*next)) return false;
    return flush();
}

}  // namespace replay::frames
