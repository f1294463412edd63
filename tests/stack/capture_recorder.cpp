#include "capture_recorder.h"

#include <array>
#include <chrono>
#include <stdexcept>

#include "capture/files/writer.h"
#include "metrics/measure/engine/analyzer.h"

namespace stack {

namespace {

capture::LiveOptions options_of(std::uint16_t port) {
    capture::LiveOptions options;
    options.interface = "lo";
    options.promiscuous = false;
    // FPDUs are aligned: their headers begin segments.
    options.snaplen = 256;
    options.buffer_kib = 64 * 1024;
    options.timeout_ms = 20;
    options.filter = "tcp port " + std::to_string(port);
    return options;
}

}  // namespace

std::optional<std::string> Recorder::refusal() {
    const auto opened = capture::LiveSource::open(options_of(1));
    return opened ? std::nullopt : std::optional(opened.error().text());
}

Recorder::Recorder(std::uint16_t port) {
    auto opened = capture::LiveSource::open(options_of(port));
    if (!opened) throw std::runtime_error(opened.error().text());
    source_ = std::move(opened).value();
    thread_ = std::thread([this] { run(); });
}

Recorder::~Recorder() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
}

void Recorder::run() {
    std::array<wire::Frame, 256> frames;
    while (true) {
        const bool last = stop_;
        const capture::Batch batch = source_->next_batch(frames);
        for (std::size_t i = 0; i < batch.count; ++i)
            frames_.push_back({frames[i], {frames[i].bytes.begin(), frames[i].bytes.end()}});
        if (batch.status == capture::ReadStatus::end || batch.status == capture::ReadStatus::error) return;
        if (batch.status == capture::ReadStatus::timeout && last) return;
    }
}

void Recorder::keep(const std::string& path) {
    auto writer = capture::open_writer(path);
    if (!writer) throw std::runtime_error(writer.error().text());
    for (const Kept& kept : frames_)
        if ((*writer)->write(kept.frame, source_->interfaces().front()) != capture::WriteStatus::ok) break;
    if (!(*writer)->close()) throw std::runtime_error((*writer)->error().text());
}

metrics::Snapshot Recorder::finish(const std::string& path) {
    // What the kernel holds back comes within the time-out.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop_ = true;
    thread_.join();
    lost_ = source_->statistics(0).kernel_dropped.value_or(0);
    metrics::AnalyzerOptions options;
    options.dissector.parse.verify_crc = false;
    metrics::Analyzer analyzer(options);
    for (Kept& kept : frames_) {
        kept.frame.bytes = kept.octets;
        kept.frame.comment = {};
        analyzer.feed({&kept.frame, 1});
    }
    if (!path.empty()) keep(path);
    analyzer.finish();
    return analyzer.snapshot();
}

}  // namespace stack
