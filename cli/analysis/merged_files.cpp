#include "cli/analysis/merged_files.h"

#include <algorithm>

namespace cli::analysis {

base::Result<std::unique_ptr<MergedFiles>> MergedFiles::open(const std::vector<std::string>& paths,
                                                             const capture::FileOptions& options) {
    auto merged = std::make_unique<MergedFiles>();
    for (const std::string& path : paths) {
        auto file = capture::open_file(path, options);
        if (!file) return base::Failure{file.error()};
        merged->parts_.push_back({.file = std::move(file).value()});
        // The interfaces are known before the first frame, so that an expression can be compiled for each link type.
        merged->list_interfaces(merged->parts_.back());
    }
    return merged;
}

capture::Batch MergedFiles::next_batch(std::span<wire::Frame> frames) {
    if (frames.empty()) return {};
    std::size_t first = parts_.size();
    std::size_t second = parts_.size();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        refill(parts_[i]);
        if (parts_[i].ended) continue;
        if (first == parts_.size() || parts_[i].head_ns() < parts_[first].head_ns()) {
            second = first;
            first = i;
        } else if (second == parts_.size() || parts_[i].head_ns() < parts_[second].head_ns()) {
            second = i;
        }
    }
    if (first == parts_.size()) return {0, failed_ ? capture::ReadStatus::error : capture::ReadStatus::end};
    // Frames come from this file until another file has an earlier frame. Frames of equal time come in the order of the
    // files.
    Part& part = parts_[first];
    if (!part.begun) begin(part);
    std::size_t count = 0;
    while (count < frames.size() && part.at < part.count) {
        if (count > 0 && second < parts_.size()) {
            const std::int64_t other_ns = parts_[second].head_ns();
            if (part.head_ns() > other_ns || (part.head_ns() == other_ns && second < first)) break;
        }
        wire::Frame& frame = frames[count++];
        frame = part.frames[part.at++];
        frame.interface = interface_of(part, frame.interface);
        frame.number = ++frames_;
    }
    return {count, capture::ReadStatus::frame};
}

void MergedFiles::refill(Part& part) {
    if (part.ended || part.at < part.count) return;
    const capture::Batch batch = part.file->next_batch(part.frames);
    part.at = 0;
    part.count = batch.count;
    part.ended = batch.count == 0;
    if (batch.status != capture::ReadStatus::error || failed_) return;
    error_ = part.file->error();
    failed_ = true;
}

void MergedFiles::begin(Part& part) {
    part.begun = true;
    const auto& own = part.file->interfaces();
    Part* before = nullptr;
    for (Part& other : parts_) {
        if (!other.ended || !other.begun || other.continued) continue;
        const auto& others = other.file->interfaces();
        if (others.size() < own.size() || !std::equal(own.begin(), own.end(), others.begin())) continue;
        // With two rings at a time, nothing shows which of them goes on.
        if (before != nullptr) return;
        before = &other;
    }
    if (before == nullptr) return;
    before->continued = true;
    list_interfaces(part);
    for (std::uint32_t i = 0; i < own.size(); ++i) part.interfaces[i] = interface_of(*before, i);
}

void MergedFiles::list_interfaces(Part& part) {
    const auto& own = part.file->interfaces();
    while (part.interfaces.size() < own.size()) {
        origins_.emplace_back(part.file.get(), part.interfaces.size());
        interfaces_.push_back(own[part.interfaces.size()]);
        part.interfaces.push_back(static_cast<std::uint32_t>(interfaces_.size() - 1));
    }
}

std::uint32_t MergedFiles::interface_of(Part& part, std::uint32_t interface) {
    list_interfaces(part);
    return interface < part.interfaces.size() ? part.interfaces[interface] : interface;
}

bool MergedFiles::frames_last() const {
    return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.file->frames_last(); });
}

capture::Statistics MergedFiles::statistics(std::size_t interface) const {
    const auto& [file, of] = origins_[interface];
    return file->statistics(of);
}

capture::FileSource::Progress MergedFiles::progress() const {
    capture::FileSource::Progress sum{0, 0};
    for (const Part& part : parts_) {
        const auto one = part.file->progress();
        sum.octets += one.octets;
        if (sum.total && one.total)
            *sum.total += *one.total;
        else
            sum.total.reset();
    }
    return sum;
}

}  // namespace cli::analysis
