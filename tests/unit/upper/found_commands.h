#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/support/captures.h"
#include "upper/command_listener.h"
#include "upper/reader.h"
#include "upper/upper_connection.h"

/// Captures, changed in ways that must not change their commands, and the commands that a reader finds in them.
namespace upper_test {

/// A frame with the number that it had in its capture.
struct NumberedFrame {
    support::KeptFrame kept;
    std::uint64_t number = 0;
};
using Frames = std::vector<NumberedFrame>;

Frames load(const std::string& name);
/// Cut to this number of bytes, as by tcpdump -s.
Frames snapped(Frames frames, std::size_t bytes);
/// The same packets in frames of InfiniBand.
Frames as_infiniband(const Frames& frames);
/// The same messages on TCP connections, as iWARP: each packet a segment with one FPDU, at the same time.
Frames as_iwarp(const Frames& frames);

/// What is known of a command when it is over.
struct Found {
    std::string id;
    std::string kind;
    std::string end;
    std::uint64_t advertised = 0;
    std::uint64_t inline_bytes = 0;
    std::uint64_t moved = 0;
    std::uint64_t request_first = 0;
    std::uint64_t request_last = 0;
    std::uint64_t operations = 0;
    std::uint64_t data_first = 0;
    std::uint64_t data_last = 0;
    std::uint64_t response = 0;
    std::int64_t begin_ns = 0;
    std::array<std::uint64_t, 5> parts_ns{};
    std::uint64_t repair_own_ns = 0;
    std::uint64_t repair_behind_ns = 0;
    std::uint64_t request_ack_ns = 0;
    std::string status;

    bool operator==(const Found&) const = default;
};

struct Finder final : upper::Listener {
    std::vector<Found> answered;
    std::map<std::string, unsigned> ends;
    std::map<std::string, unsigned> evidence;  ///< connections by what they were recognized by
    std::map<std::string, unsigned> protocols;
    std::uint64_t unbound = 0;
    std::uint64_t late = 0;
    std::uint64_t probes = 0;
    std::uint64_t operations = 0;
    std::vector<std::string> target_names;
    std::vector<std::uint32_t> limits;
    std::vector<std::uint32_t> limits_asked;
    std::uint32_t congested_ports = 0;
    std::uint64_t state_sum_ns = 0;
    std::uint64_t limit_ns = 0;     ///< in the state `limit`
    std::uint64_t at_limit_ns = 0;  ///< with as many open commands as permitted
    std::uint64_t wall_ns = 0;
    std::vector<std::uint64_t> host_next_ns;

    void recognized(const upper::Connection& connection) override;
    void command(const upper::Connection& connection, const upper::FinishedCommand& finished) override;
    void asked_next(const upper::Connection& connection, std::uint64_t host_ns) override;
    void ended(const upper::Connection& connection) override;
};

void read_to(upper::Listener& listener, const Frames& frames, const upper::ReaderOptions& options = {});
/// Reads all frames; answered commands in the order of their responses.
Finder read(const Frames& frames, const upper::ReaderOptions& options = {});

/// The figures in a file next to this one, in the same order.
std::vector<Found> expected(const std::string& name);
std::vector<Found> expected_nvme();
/// A command in words, for messages.
std::string text_of(const Found& found);
/// All alike, except what the other reader does not have.
void expect_equal(const std::vector<Found>& found, const std::vector<Found>& expected);
/// The same of commands that were open alone. What a cut request does not show, memory that it advertises and data
/// inside, is not compared. Returns the number of these commands.
std::size_t expect_single_equal(const std::vector<Found>& found, const std::vector<Found>& expected);

}  // namespace upper_test
