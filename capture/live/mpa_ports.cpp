#include "capture/live/mpa_ports.h"

#include <algorithm>
#include <span>

#include "wire/mpa.h"

namespace capture::inline live {

MpaPorts::MpaPorts(std::size_t capacity, std::int64_t idle_ns)
    : capacity_(std::min<std::size_t>(capacity, configured - 1)), idle_ns_(idle_ns), place_(std::size_t{1} << 16) {
    found_.reserve(capacity_);
}

void MpaPorts::configure(std::span<const std::uint16_t> ports) {
    std::replace(place_.begin(), place_.end(), configured, unknown);
    configured_ = 0;
    for (const std::uint16_t port : ports) {
        std::erase_if(found_, [&](const Found& each) { return each.port == port; });
        configured_ += place_[port] != configured ? 1 : 0;
        place_[port] = configured;
    }
    for (std::size_t i = 0; i < found_.size(); ++i) place_[found_[i].port] = static_cast<std::uint8_t>(i + 1);
}

bool MpaPorts::known(std::uint16_t port, std::int64_t now_ns) {
    const std::uint8_t place = place_[port];
    if (place == unknown) return false;
    if (place != configured) found_[place - 1U].seen_ns = now_ns;
    return true;
}

bool MpaPorts::add(std::uint16_t port, std::int64_t now_ns) {
    if (known(port, now_ns)) return true;
    if (configured_ + found_.size() < capacity_) {
        found_.push_back({.port = port, .seen_ns = now_ns, .added_ns = now_ns});
        place_[port] = static_cast<std::uint8_t>(found_.size());
        return true;
    }
    const auto gives_way = [&](const Found& a, const Found& b) {
        const bool a_idle = now_ns - a.seen_ns >= idle_ns_;
        const bool b_idle = now_ns - b.seen_ns >= idle_ns_;
        if (a_idle || b_idle) return a_idle && (!b_idle || a.seen_ns < b.seen_ns);
        if (a.confirmed != b.confirmed) return !a.confirmed;
        return a.added_ns < b.added_ns;
    };
    const auto least = std::min_element(found_.begin(), found_.end(), gives_way);
    if (least == found_.end() || (least->confirmed && now_ns - least->seen_ns < idle_ns_)) return false;
    place_[port] = place_[least->port];
    place_[least->port] = unknown;
    *least = {.port = port, .seen_ns = now_ns, .added_ns = now_ns};
    return true;
}

/// A Reply or FPDUs confirm a port that a start frame has shown. Only a server or an established connection sends them.
void MpaPorts::confirm(const SegmentView& segment, bool streams) {
    for (const std::uint16_t port : {segment.source, segment.destination}) {
        const std::uint8_t place = place_[port];
        if (place == unknown || place == configured) continue;
        Found& found = found_[place - 1U];
        if (found.confirmed) continue;
        const bool replied =
            port == segment.source && wire::mpa_start_kind(segment.payload) == wire::MpaStartKind::reply;
        if (replied || (streams && speaks_mpa(segment))) found.confirmed = true;
    }
}

std::vector<std::uint16_t> MpaPorts::all() const {
    std::vector<std::uint16_t> ports;
    for (std::size_t port = 0; port < place_.size(); ++port)
        if (place_[port] != unknown) ports.push_back(static_cast<std::uint16_t>(port));
    return ports;
}

std::optional<std::uint16_t> MpaPorts::look(const wire::Frame& frame, std::int64_t now_ns, bool streams) {
    const auto segment = parse_segment(frame);
    if (!segment) return std::nullopt;
    const bool source = known(segment->source, now_ns);
    const bool destination = known(segment->destination, now_ns);
    if (segment->payload.empty()) return std::nullopt;
    if (source || destination) {
        confirm(*segment, streams);
        return std::nullopt;
    }
    switch (wire::mpa_start_kind(segment->payload)) {
        case wire::MpaStartKind::request: return segment->destination;
        case wire::MpaStartKind::reply: return segment->source;
        case wire::MpaStartKind::none: break;
    }
    if (streams && speaks_mpa(*segment)) return std::min(segment->source, segment->destination);
    return std::nullopt;
}

bool MpaPorts::recognises(const wire::Frame& frame, std::int64_t now_ns) {
    if (!is_tcp(frame)) return true;
    const auto segment = parse_segment(frame);
    if (!segment) return false;
    if (place_[segment->source] == configured || place_[segment->destination] == configured) return true;
    return connections_.recognises(*segment, now_ns);
}

/// FPDUs of a connection that is older than the capture.
bool MpaPorts::speaks_mpa(const SegmentView& segment) {
    constexpr int least_fpdus_of_port = 1;
    return chains_.follow(segment, least_fpdus_of_port).has_value();
}

}  // namespace capture::live
