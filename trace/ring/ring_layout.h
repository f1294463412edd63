#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/record.h"

/// How a traced process lays out its ring: one file, which it maps and readers read.
///
/// | bytes                       | what                                                                      |
/// | ---------------------------- | ------------------------------------------------------------------------- |
/// | 0 .. 4095                    | Header                                                                    |
/// | 4096 .. 4096 + lanes * 128   | a LaneHeader for each lane                                                |
/// | after, from a page's begin   | `capacity` records for each lane, one lane after the other                |
///
/// A lane belongs to one thread at a time, so that recording needs no atomic read-modify-write. The oldest records are
/// overwritten: the writer never looks at readers, and there may be none or many, and each finds out by `written`
/// what it was too slow for.
namespace trace::inline ring::layout {

constexpr std::array<char, 8> magic{'r', 's', 'c', 'o', 'p', 'e', 'r', 'g'};
constexpr std::uint32_t version = 1;
constexpr std::uint32_t page = 4096;
/// The limits of what a reader accepts, whatever a header says.
constexpr std::uint32_t most_lanes = 256;
constexpr std::uint32_t least_capacity = 256;
constexpr std::uint32_t most_capacity = 1U << 22;
constexpr std::size_t most_devices = 32;
constexpr std::uint8_t unknown_device = 255;

using Name = std::array<char, 64>;  ///< ends at the first NUL, or with the array

/// Complete before the file gets the name that readers look for, except members marked otherwise.
struct Header {
    std::array<char, 8> magic{};
    std::uint32_t version = 0;
    std::uint32_t record_octets = 0;
    std::uint32_t lanes = 0;
    std::uint32_t capacity = 0;  ///< records a lane; a power of two
    std::uint32_t pid = 0;       ///< as the process sees itself
    std::uint32_t user = 0;
    std::uint64_t pid_namespace = 0;        ///< inode of /proc/self/ns/pid; 0: unknown
    std::uint64_t start_ticks = 0;          ///< field 22 of /proc/self/stat; 0: unknown
    std::int64_t started_ns = 0;            ///< CLOCK_REALTIME of the ring's making
    std::uint64_t session = 0;              ///< of the `run` that asked for it; 0: none
    std::uint64_t unplaced = 0;             ///< records lost because more threads recorded than there are lanes; grows
    std::uint32_t devices = 0;              ///< names below; grows, each name before its number
    std::uint32_t ended = 0;                ///< 1: the program is gone, though its process lives
    std::array<char, 1024> command{};       ///< /proc/self/cmdline, words apart by a blank
    std::array<char, 256> control_group{};  ///< the last line of /proc/self/cgroup
    std::array<Name, most_devices> device_names{};
    std::array<char, 688> reserved{};
};
static_assert(sizeof(Header) == page);

/// Two cache lines: what one thread writes all the time shares no line with other threads, and adjacent lines are not
/// fetched with it.
struct LaneHeader {
    std::uint64_t written = 0;  ///< records so far, by all the lane's owners; the next goes to `written % capacity`
    std::int64_t busy_since_ns = 0;  ///< the owner is about to add records with this time or later; 0: it is not
    std::uint32_t owner = 0;         ///< its thread id; 0: no thread's
    std::array<char, 108> reserved{};
};
static_assert(sizeof(LaneHeader) == 128);

constexpr std::uint64_t lane_headers_at = page;
constexpr std::uint64_t records_at(std::uint32_t lanes) {
    return (lane_headers_at + std::uint64_t{lanes} * sizeof(LaneHeader) + page - 1) / page * page;
}
constexpr std::uint64_t lane_octets(std::uint32_t capacity) { return std::uint64_t{capacity} * sizeof(Record); }
constexpr std::uint64_t file_octets(std::uint32_t lanes, std::uint32_t capacity) {
    return records_at(lanes) + lanes * lane_octets(capacity);
}

/// A ring's name ends with this; a file with another name is not a ring, or not yet.
constexpr char suffix[] = ".ring";

/// Environment of a traced process.
namespace variable {
constexpr char directory[] = "RDMASCOPE_TRACE_DIR";    ///< where its ring goes
constexpr char records[] = "RDMASCOPE_TRACE_RECORDS";  ///< a lane's capacity
constexpr char session[] = "RDMASCOPE_TRACE_SESSION";  ///< a number, for the header
}  // namespace variable

}  // namespace trace::ring::layout
