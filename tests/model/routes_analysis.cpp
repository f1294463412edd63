#include "tests/model/routes_analysis.h"

#include <algorithm>
#include <atomic>
#include <thread>

namespace model {
namespace {

struct Nameless final : metrics::HostNames {
    std::string name(const metrics::Address&) const override { return {}; }
};

/// Feeds an analyzer in batches.
class Feeder {
public:
    explicit Feeder(metrics::Analyzer& analyzer) : analyzer_(analyzer) { kept_.reserve(batch); }
    void add(support::KeptFrame&& frame) {
        kept_.push_back(std::move(frame));
        if (kept_.size() == batch) flush();
    }
    void flush() {
        frames_.clear();
        for (const support::KeptFrame& kept : kept_) frames_.push_back(kept.frame(++number_));
        analyzer_.feed(frames_);
        kept_.clear();
    }

private:
    static constexpr std::size_t batch = 256;
    metrics::Analyzer& analyzer_;
    std::vector<support::KeptFrame> kept_;
    std::vector<wire::Frame> frames_;
    std::uint64_t number_ = 0;
};

}  // namespace

const metrics::Answer* RoutedOutcome::alarm(std::initializer_list<std::string_view> verdicts) const {
    for (const metrics::Answer& each : answers)
        if (each.alarm && std::ranges::find(verdicts, name_of(each.verdict)) != verdicts.end()) return &each;
    return nullptr;
}

const metrics::Answer* RoutedOutcome::answer(std::string_view verdict) const {
    for (const metrics::Answer& each : answers)
        if (name_of(each.verdict) == verdict) return &each;
    return nullptr;
}

const metrics::PathPair* RoutedOutcome::pair(bool from_b) const {
    for (const metrics::PathPair& each : pairs) {
        const std::uint8_t last = each.source.octets[each.source.family == wire::AddressFamily::ipv6 ? 15 : 3];
        if (last == (from_b ? 2 : 1)) return &each;
    }
    return nullptr;
}

std::vector<Entropy> RoutedOutcome::sick() const {
    std::vector<std::pair<double, Entropy>> found;
    for (const bool from_b : {false, true}) {
        const metrics::PathPair* each = pair(from_b);
        if (each == nullptr) continue;
        for (const metrics::PathRow& row : each->rows)
            if (row.problem == metrics::PathProblem::sick)
                found.emplace_back(row.p_loss.value_or(1), entropy_of(row.figures.entropy, from_b));
    }
    std::ranges::sort(found);
    std::vector<Entropy> out;
    for (const auto& [p, entropy] : found) out.push_back(entropy);
    return out;
}

std::vector<Entropy> RoutedOutcome::with(metrics::PathProblem problem) const {
    std::vector<Entropy> out;
    for (const bool from_b : {false, true})
        if (const metrics::PathPair* const each = pair(from_b); each != nullptr)
            for (const metrics::PathRow& row : each->rows)
                if (row.problem == problem) out.push_back(entropy_of(row.figures.entropy, from_b));
    return out;
}

std::string RoutedOutcome::alarms() const {
    std::string out;
    for (const metrics::Answer& each : answers)
        if (each.alarm) out += std::string(name_of(each.verdict)) + ": " + each.summary + "\n";
    return out;
}

Entropy entropy_of(metrics::Entropy entropy, bool from_b) {
    return {from_b, entropy.udp_port(), entropy.flow_label(), entropy.outer_port()};
}

RoutedOutcome analyse(const RoutePlan& plan, metrics::AnalyzerOptions options) {
    options.dissector.parse.verify_crc = false;
    metrics::Analyzer analyzer(options);
    Feeder feeder(analyzer);
    RoutedOutcome out;
    out.truth = RoutedTraffic(plan, [&](support::KeptFrame&& frame) { feeder.add(std::move(frame)); }).run();
    feeder.flush();
    analyzer.finish();
    out.snapshot = analyzer.take_snapshot();
    out.pairs = metrics::path_pairs(out.snapshot);
    out.answers = metrics::answer(out.snapshot, Nameless{});
    return out;
}

void for_each_seed(std::uint64_t count, const std::function<void(std::uint64_t)>& each) {
    std::atomic<std::uint64_t> next{0};
    const auto work = [&] {
        while (true) {
            const std::uint64_t seed = ++next;
            if (seed > count) return;
            each(seed);
        }
    };
    std::thread other(work);
    work();
    other.join();
}

std::uint64_t count_seeds(std::uint64_t count, const std::function<bool(std::uint64_t)>& each) {
    std::atomic<std::uint64_t> found{0};
    for_each_seed(count, [&](std::uint64_t seed) { found += each(seed) ? 1u : 0u; });
    return found;
}

}  // namespace model
