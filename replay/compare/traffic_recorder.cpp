#include "replay/compare/traffic_recorder.h"

#include <array>
#include <chrono>
#include <fmt/core.h>
#include <utility>

namespace replay::inline compare {

metrics::AnalyzerOptions comparison_analyzer_options() {
    metrics::AnalyzerOptions options;
    options.engine.reuse = false;
    options.dissector.parse.verify_crc = false;  // the endpoints do
    return options;
}

base::Result<std::unique_ptr<capture::Writer>> open_recording(const std::string& path) {
    if (path.empty()) return std::unique_ptr<capture::Writer>();
    capture::WriterOptions options;
    options.format = capture::format_of_name(path);
    return capture::open_writer(path, options);
}

base::Result<std::unique_ptr<Recorder>> Recorder::open(const std::string& interface, std::uint16_t port,
                                                       const std::string& path) {
    capture::LiveOptions how;
    how.interface = interface;
    how.promiscuous = false;
    how.buffer_kib = 64U << 10;
    how.timeout_ms = 20;
    how.filter = fmt::format("tcp port {}", port);
    auto source = capture::LiveSource::open(how);
    if (!source) return base::Failure{source.error()};
    auto writer = open_recording(path);
    if (!writer) return base::Failure{writer.error()};
    return std::unique_ptr<Recorder>(new Recorder(std::move(source).value(), std::move(writer).value(),
                                                  fmt::format("a capture of the interface {}", interface)));
}

Recorder::Recorder(std::unique_ptr<capture::LiveSource> source, std::unique_ptr<capture::Writer> writer,
                   std::string what)
    : source_(std::move(source)), writer_(std::move(writer)), analyzer_(comparison_analyzer_options()) {
    recording_.source = std::move(what);
    thread_ = std::thread([this] { run(); });
}

Recorder::~Recorder() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
}

void Recorder::run() {
    std::array<wire::Frame, 256> frames;
    for (;;) {
        const bool last = stop_;
        const capture::Batch batch = source_->next_batch(frames);
        if (batch.status == capture::ReadStatus::timeout && last) return;
        if (batch.status == capture::ReadStatus::end) return;
        if (batch.status == capture::ReadStatus::error) {
            recording_.error = source_->error().text();
            return;
        }
        analyzer_.feed({frames.data(), batch.count});
        for (std::size_t i = 0; writer_ && i < batch.count; ++i) {
            if (writer_->write(frames[i], source_->interfaces().front()) != capture::WriteStatus::error) continue;
            recording_.error = writer_->error().text();
            writer_.reset();
        }
    }
}

Recording Recorder::finish() {
    // What the kernel holds back comes within the time-out.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop_ = true;
    thread_.join();
    analyzer_.finish();
    recording_.snapshot = analyzer_.snapshot();
    recording_.lost = source_->statistics(0).kernel_dropped.value_or(0);
    recording_.snapshot.capture.kernel_dropped = recording_.lost;
    if (writer_)
        if (const auto closed = writer_->close(); !closed) recording_.error = closed.error().text();
    return std::move(recording_);
}

}  // namespace replay::compare
