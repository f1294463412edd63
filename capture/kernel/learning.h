#pragma once
#include <cstdint>
#include <string>

namespace capture::inline kernel {

/// The iWARP connections that the kernel learnt since the capture began.
struct LearningFigures {
    std::uint64_t learnt = 0;
    std::uint64_t by_start_frame = 0;  ///< of `learnt`: a Request and its Reply were seen
    std::uint64_t withdrawn = 0;       ///< connections that did not continue as MPA does
    std::uint64_t evicted = 0;         ///< open connections that made room for others: more than `capacity` at once
    std::uint64_t open = 0;            ///< known now
    std::uint64_t capacity = 0;

    bool operator==(const LearningFigures&) const = default;
};

/// Where iWARP connections are found.
struct Learning {
    enum class Place : std::uint8_t {
        off,      ///< no RDMA filter: the user's filter expression decides
        kernel,   ///< in the kernel, from the first byte on
        process,  ///< in this process: frames that pass before the filter has changed are missed
    } place = Place::off;
    std::string reason = {};  ///< for `process`: why the kernel does not find them, and what to do
    LearningFigures figures = {};

    bool operator==(const Learning&) const = default;
};

}  // namespace capture::kernel
