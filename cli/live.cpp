#include "cli/live.h"

#include <algorithm>
#include <fmt/core.h>
#include <poll.h>

#include "capture/live/link_watch.h"

namespace cli {

namespace {

constexpr int wait_ms = 100;  ///< how late a signal may be answered, and a quiet line printed
constexpr std::uint64_t octets_per_kib = 1024;

/// Only libpcap has these.
bool needs_libpcap(const capture::LiveOptions& how) {
    return !how.filter.empty() || how.link_type || !how.timestamp_type.empty() || how.direction || how.immediate;
}

capture::TapOptions tap_options(const std::vector<std::string>& interfaces, const capture::LiveOptions& how,
                                unsigned threads) {
    capture::TapOptions options;
    options.interfaces.clear();
    for (const std::string& name : interfaces) {
        options.interfaces.push_back(name);
        if (name == "any") options.interfaces.emplace_back("lo");
    }
    options.ring.snaplen = how.snaplen == capture::max_snaplen ? 0 : how.snaplen;
    options.ring.iwarp_snaplen = options.ring.snaplen;
    options.ring.management_octets = 0;  // -s is for all that is captured
    options.ring.promiscuous = how.promiscuous;
    if (how.buffer_kib != 0) options.ring.buffer_octets = how.buffer_kib * octets_per_kib;
    options.threads = threads;
    options.ring.buffer_octets = capture::share_of_buffer(options.ring.buffer_octets, threads);
    options.other_carriers = true;
    return options;
}

/// A warning stands after a semicolon.
bool is_warning(const capture::TapEvent& event) {
    return event.kind == capture::TapEvent::Kind::failed ||
           (event.kind == capture::TapEvent::Kind::opened && event.message.find(';') != std::string::npos);
}

bool is_captured(const capture::Tap& tap, const std::string& name) {
    const auto& interfaces = tap.interfaces();
    for (std::size_t i = 0; i < interfaces.size(); ++i)
        if (tap.is_open(i) && (name == "any" || interfaces[i].name == name)) return true;
    return false;
}

/// Absent where libpcap has to do it: it knows more kinds of interfaces, and explains why one cannot be opened.
std::unique_ptr<capture::Tap> open_tap(const std::vector<std::string>& interfaces, const capture::LiveOptions& how,
                                       unsigned threads) {
    if (needs_libpcap(how)) return nullptr;
    auto tap = capture::Tap::open(tap_options(interfaces, how, threads));
    if (!tap || (*tap)->learning().place != capture::Learning::Place::kernel) return nullptr;
    const bool all = std::all_of(interfaces.begin(), interfaces.end(), [&](const std::string& name) {
        return is_captured(**tap, name) && (name == "any" || capture::is_up(name));
    });
    if (!all) return nullptr;
    (*tap)->set_wait_ms(wait_ms);
    return std::move(tap).value();
}

}  // namespace

base::Result<std::unique_ptr<LiveSources>> LiveSources::open(const std::vector<std::string>& interfaces,
                                                             capture::LiveOptions how, LiveScope scope,
                                                             unsigned threads) {
    auto all = std::make_unique<LiveSources>();
    if (scope == LiveScope::rdma) all->tap_ = open_tap(interfaces, how, threads);
    if (all->tap_) {
        all->describe_interfaces();
        for (capture::TapEvent& event : all->tap_->events())
            if (is_warning(event)) all->tap_warnings_.push_back(std::move(event.message));
        return all;
    }
    how.timeout_ms = wait_ms;
    how.wait = false;
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

void LiveSources::describe_interfaces() {
    interfaces_ = tap_->interfaces();
    for (std::size_t i = 0; i < interfaces_.size(); ++i) interfaces_[i].ordinal = static_cast<std::uint32_t>(i);
}

capture::Statistics LiveSources::statistics() const { return tap_ ? tap_->statistics() : Source::statistics(); }

capture::Statistics LiveSources::statistics(std::size_t interface) const {
    return tap_ ? tap_->statistics(interface) : sources_[interface]->statistics(0);
}

const base::Error& LiveSources::error() const { return tap_ ? tap_error_ : sources_[current_]->error(); }

/// Whether no interface is left to capture on: it was removed.
bool LiveSources::is_gone() {
    const auto events = tap_->events();
    for (const capture::TapEvent& event : events)
        if (event.kind == capture::TapEvent::Kind::lost) tap_error_ = {.message = event.message};
    if (is_captured(*tap_, "any")) return false;
    return !tap_error_.message.empty();
}

capture::Batch LiveSources::next_batch(std::span<wire::Frame> frames) {
    if (!tap_) return Source::next_batch(frames);
    const capture::Batch batch = tap_->next_batch(frames);
    if (tap_->interfaces().size() != interfaces_.size()) describe_interfaces();
    if (batch.status == capture::ReadStatus::timeout && is_gone()) return {.status = capture::ReadStatus::error};
    return batch;
}

std::vector<std::string> LiveSources::warnings() const {
    std::vector<std::string> lines = tap_warnings_;
    for (std::size_t i = 0; i < sources_.size(); ++i)
        if (!sources_[i]->warning().empty())
            lines.push_back(fmt::format("{}: {}", interfaces_[i].name, sources_[i]->warning()));
    return lines;
}

capture::ReadStatus LiveSources::next(wire::Frame& frame) {
    if (tap_) return next_batch({&frame, 1}).status;
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
