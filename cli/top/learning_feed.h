#pragma once
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "metrics/answers/answer.h"
#include "tui/model/feed.h"

namespace cli::top {

/// Passes everything on from another source, and has `names` learn from the readings before they are shown.
class LearningFeed final : public tui::Feed {
public:
    LearningFeed(std::unique_ptr<tui::Feed> source, metrics::HostNames& names)
        : source_(std::move(source)), names_(names) {}

    tui::FeedStatus status() override { return source_->status(); }
    int descriptor() const override { return source_->descriptor(); }
    tui::ReadingPtr latest() override { return source_->latest(); }
    std::vector<tui::ReadingPtr> since(std::uint64_t serial) override {
        std::vector<tui::ReadingPtr> readings = source_->since(serial);
        if (!readings.empty()) names_.learn(readings.back()->total.names);
        return readings;
    }
    void set_interval(std::uint64_t interval_ns) override { source_->set_interval(interval_ns); }
    void play(bool playing) override { source_->play(playing); }
    void set_speed(double speed) override { source_->set_speed(speed); }
    void step(int intervals) override { source_->step(intervals); }
    void seek(std::int64_t time_ns) override { source_->seek(time_ns); }
    std::size_t packets(std::uint64_t from, std::size_t most,
                        const std::function<bool(const wire::Frame&)>& sink) override {
        return source_->packets(from, most, sink);
    }

private:
    std::unique_ptr<tui::Feed> source_;
    metrics::HostNames& names_;
};

}  // namespace cli::top
