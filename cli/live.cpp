#include "cli/live.h"

#include <fmt/core.h>
#include <poll.h>

namespace cli {

namespace {

constexpr int wait_ms = 100;  ///< how late a signal may be answered, and a quiet line printed

}  // namespace

base::Result<std::unique_ptr<LiveSources>> LiveSources::open(const std::vector<std::string>& interfaces,
                                                             capture::LiveOptions how) {
    how.timeout_ms = wait_ms;
    how.wait = false;
    auto all = std::make_unique<LiveSources>();
    for (const std::string& interface : interfaces) {
        how.interface = interface;
        auto source = capture::LiveSource::open(how);
        if (!source) return base::Failure{source.error()};
        all->interfaces_.push_back((*source)->interfaces().front());
        all->interfaces_.back().ordinal = static_cast<std::uint32_t>(all->sources_.size());
        all->sources_.push_back(std::move(source).value());
    }
    return all;
}

std::vector<std::string> LiveSources::warnings() const {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < sources_.size(); ++i)
        if (!sources_[i]->warning().empty())
            lines.push_back(fmt::format("{}: {}", interfaces_[i].name, sources_[i]->warning()));
    return lines;
}

capture::ReadStatus LiveSources::next(wire::Frame& frame) {
    for (int round = 0; round < 2; ++round) {
        // Each interface in turn, so that a busy one cannot starve the others.
        for (std::size_t asked = 0; asked < sources_.size(); ++asked) {
            current_ = current_ + 1 < sources_.size() ? current_ + 1 : 0;
            const capture::ReadStatus status = sources_[current_]->next(frame);
            if (status == capture::ReadStatus::timeout) continue;
            frame.interface = static_cast<std::uint32_t>(current_);
            frame.number = ++frames_;
            return status;
        }
        if (round == 0 && !wait()) break;
    }
    return capture::ReadStatus::timeout;
}

bool LiveSources::wait() const {
    std::vector<pollfd> readable;
    readable.reserve(sources_.size());
    for (const auto& source : sources_) readable.push_back({source->descriptor(), POLLIN, 0});
    return ::poll(readable.data(), readable.size(), wait_ms) > 0;
}

std::string source_choices(const std::string& others) {
    std::string names;
    const auto devices = capture::list_devices();
    if (devices)
        for (const capture::Device& device : *devices)
            if (device.up) names += fmt::format("{}{}", names.empty() ? "" : ", ", device.name);
    std::string text = "no source given: -r FILE reads a capture, -i IFACE captures live";
    if (!names.empty()) text += fmt::format(" ({})", names);
    return text + others;
}

}  // namespace cli
