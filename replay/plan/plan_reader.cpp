#include "replay/plan/plan_reader.h"

#include <exception>
#include <fmt/core.h>
#include <optional>

#include "capture/files/file_source.h"
#include "metrics/measure/engine/analyzer.h"
#include "replay/plan/extractor.h"

namespace replay::inline plan {

namespace {

constexpr std::size_t batch_frames = 256;

/// Reads the capture once. False if no queue accepts operations any more.
Result<bool> read_once(const Survey& survey, Extractor& extractor, const std::vector<OperationQueue*>& into,
                       PayloadWindow* window) {
    auto source = capture::open_file(survey.path);
    if (!source) return failure(source.error().text());
    metrics::AnalyzerOptions options;
    options.engine.reuse = false;
    options.engine.observer = &extractor;
    options.listener = &extractor;
    metrics::Analyzer analyzer(options);
    const auto hand_over = [&] {
        if (extractor.found().empty()) return true;
        bool taken = true;
        for (OperationQueue* const queue : into) taken = queue->push(extractor.found()) && taken;
        extractor.found().clear();
        // Whatever is handed over is posted without anything after it: there will be room.
        return taken && (window == nullptr || window->wait_for_room());
    };
    std::vector<wire::Frame> frames(batch_frames);
    std::uint64_t read = 0;
    // A file that breaks off ends there: the survey has said so. One that grows ends where the survey found its end.
    while (read < survey.snapshot.capture.packets) {
        const capture::Batch batch = (*source)->next_batch(frames);
        if (batch.status != capture::ReadStatus::frame) break;
        const std::size_t count = std::min<std::uint64_t>(batch.count, survey.snapshot.capture.packets - read);
        if (read == 0) analyzer.learn_copies({frames.data(), count});
        read += count;
        analyzer.expect_interfaces((*source)->interfaces().size());
        analyzer.feed({frames.data(), count}, (*source)->frames_last());
        if (!hand_over()) return false;
    }
    if (read != survey.snapshot.capture.packets)
        return failure(fmt::format("{}: has changed since it was first read", survey.path));
    analyzer.finish();
    return hand_over();
}

}  // namespace

PlanReader::PlanReader(const Survey& survey, std::uint64_t loops, bool payload, std::vector<OperationQueue*> into)
    : survey_(survey),
      into_(std::move(into)),
      window_(payload ? std::make_shared<PayloadWindow>() : nullptr),
      thread_([this, loops] { run(loops); }) {}

PlanReader::~PlanReader() {
    for (OperationQueue* const queue : into_) queue->close();
    if (window_) window_->close();
    thread_.join();
}

void PlanReader::run(std::uint64_t loops) {
    std::string why;
    try {
        if (const auto read = read_all(loops); !read) why = read.error().message;
    } catch (const std::exception& error) {
        why = error.what();  // memory, or a queue's lock: the thread must not end with it
    }
    for (OperationQueue* const queue : into_) queue->end(why);
}

Status PlanReader::read_all(std::uint64_t loops) {
    std::optional<PayloadCollector> payload;
    if (window_) payload.emplace(window_);
    Extractor extractor(survey_, payload ? &*payload : nullptr);
    for (std::uint64_t run = 0; run < loops; ++run) {
        // A run begins when the last operation of the one before did.
        if (run != 0) extractor.begin_run(extractor.last_ns());
        const auto accepted = read_once(survey_, extractor, into_, window_.get());
        if (!accepted) return base::Failure{accepted.error()};
        if (!*accepted) break;
    }
    return Done{};
}

}  // namespace replay::plan
