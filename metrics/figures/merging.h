#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/saturating.h"
#include "metrics/figures/snapshot.h"

/// How two values of figures become one. Values that are not counters are joined by least or greatest, never by order:
/// the result is the same whichever is merged into the other.
namespace metrics::inline figures {

/// An event summary has the first frames of its kind.
inline constexpr std::size_t frames_per_event_summary = 4;

template <class T>
void keep_least(std::optional<T>& into, const std::optional<T>& other) {
    if (other) into = into ? std::min(*into, *other) : *other;
}
template <class T>
void keep_greatest(std::optional<T>& into, const std::optional<T>& other) {
    if (other) into = into ? std::max(*into, *other) : *other;
}
inline void add_optional(std::optional<std::uint64_t>& into, const std::optional<std::uint64_t>& other) {
    if (other) into = base::saturating::add(into.value_or(0), *other);
}
/// Numbers of frames, 0 = none.
inline void keep_first_frame(std::uint64_t& into, std::uint64_t other) {
    if (into == 0 || (other != 0 && other < into)) into = other;
}
/// Ascending, without repetition, at most `most`.
inline void merge_frames(std::vector<std::uint64_t>& into, const std::vector<std::uint64_t>& other, std::size_t most) {
    into.insert(into.end(), other.begin(), other.end());
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
    if (into.size() > most) into.resize(most);
}

inline Address one_sender(const IcmpFigures::Errors& one, const IcmpFigures::Errors& other) {
    if (one.count == 0) return other.sender;
    return other.count == 0 ? one.sender : std::min(one.sender, other.sender);
}

}  // namespace metrics::figures
