#include "observe/trace_summary.h"

#include <algorithm>
#include <fmt/core.h>
#include <vector>

#include "base/quantities.h"

namespace observe {

namespace {

using metrics::VerbsFigures;
using trace::Flag;
using trace::Record;
using trace::RecordKind;

constexpr std::size_t most_lines = 32;
constexpr std::size_t most_queue_pairs = 65'536;

std::string depth_of(const metrics::LevelFigures& level) {
    if (level.observed_ns == 0) return {};
    std::string text = fmt::format(", depth {} on average, {} at most", base::format_decimal(level.mean), level.max);
    if (level.capacity) text += fmt::format(", of {}", *level.capacity);
    return text;
}

std::string errors_of(const VerbsFigures& figures) {
    return figures.completion_errors == 0 ? "" : fmt::format(", {} of them with an error", figures.completion_errors);
}

}  // namespace

metrics::posts::QueuePairTableOptions TraceSummary::options() {
    metrics::posts::QueuePairTableOptions options;
    options.max_queue_pairs = most_queue_pairs;
    options.max_waiting = 0;  // for packets, which are absent here
    return options;
}

TraceSummary::Key TraceSummary::key(std::uint32_t process, std::uint8_t device, std::uint32_t number) {
    return std::uint64_t{process} << 32 | std::uint64_t{device} << 24 | (number & 0xffffff);
}

void TraceSummary::add(std::span<const Record> records, const std::deque<trace::Process>& processes) {
    for (const trace::Process& process : processes) {
        if (!processes_.contains(process.pid)) book_.know({process.pid, process.command, process.container});
        processes_[process.pid] = process;
    }
    for (const Record& record : records) {
        book_.add(record);
        if (record.kind != RecordKind::lost) ++records_;
        const bool is_post = record.kind == RecordKind::post_send && record.work.status == 0;
        const bool is_received = record.kind == RecordKind::completion && (record.work.flags & Flag::receive) != 0;
        if (!is_post && !is_received) continue;
        const Key of = key(record.process, record.device, record.number);
        if (octets_.size() >= most_queue_pairs && !octets_.contains(of)) continue;
        (is_post ? octets_[of].posted : octets_[of].received) += record.work.bytes;
    }
}

std::string TraceSummary::text(std::uint64_t lost) const {
    std::vector<VerbsFigures> all;
    book_.for_each([&](auto, const metrics::posts::QueuePair& one) { all.push_back(book_.figures(one)); });
    std::erase_if(all, [](const VerbsFigures& one) { return one.posts + one.receives + one.completions == 0; });
    std::ranges::sort(all, [](const VerbsFigures& one, const VerbsFigures& other) {
        return std::tuple(one.process.pid, one.device, one.queue_pair) <
               std::tuple(other.process.pid, other.device, other.queue_pair);
    });
    std::string text = fmt::format("rdmascope run: {} records of {} process{}, {} lost\n", records_, processes_.size(),
                                   processes_.size() == 1 ? "" : "es", lost);
    std::uint32_t last = 0;
    for (std::size_t i = 0; i < std::min(all.size(), most_lines); ++i) {
        const VerbsFigures& one = all[i];
        const auto process = processes_.find(one.process.pid);
        if (i == 0 || last != one.process.pid)
            text += fmt::format("process {}: {}\n", one.process.pid, one.process.command);
        last = one.process.pid;
        std::string device = fmt::format("device {}", one.device);
        if (process != processes_.end() && one.device < process->second.devices.size())
            device = process->second.devices[one.device];
        const auto octets = octets_.find(key(one.process.pid, static_cast<std::uint8_t>(one.device), one.queue_pair));
        const Octets sum = octets != octets_.end() ? octets->second : Octets{};
        text +=
            fmt::format("  {} QP {:#x}: {} posts of {} bytes{}, {} completions{}", device, one.queue_pair, one.posts,
                        sum.posted, depth_of(one.send_queue), one.completions + one.receives_used, errors_of(one));
        if (one.posts_refused > 0) text += fmt::format("; {} posts refused", one.posts_refused);
        if (one.receives + one.receives_used > 0)
            text += fmt::format("; {} receives, {} used, of {} bytes", one.receives, one.receives_used, sum.received);
        if (one.records_lost > 0) text += fmt::format("; {} records lost while it was used", one.records_lost);
        text += '\n';
    }
    if (all.size() > most_lines) text += fmt::format("  and {} queue pairs more\n", all.size() - most_lines);
    return text;
}

}  // namespace observe
