#include <gtest/gtest.h>

#include "tests/unit/upper/found_commands.h"
#include "upper/command_text.h"

namespace upper_test {

void Finder::recognized(const upper::Connection& connection) {
    ++evidence[std::string(name_of(connection.evidence()))];
    ++protocols[std::string(connection.protocol()->name)];
}

void Finder::command(const upper::Connection& connection, const upper::FinishedCommand& finished) {
    ++ends[std::string(name_of(finished.end))];
    if (finished.end != upper::CommandEnd::answered || finished.command.waits_for_event) return;
    const upper::Command& command = finished.command;
    const upper::Progress& progress = finished.progress;
    Found found;
    found.id = upper::id_text(*connection.protocol(), command.id);
    found.kind = command.kind();
    found.end = name_of(finished.end);
    found.advertised = command.advertised_bytes;
    found.inline_bytes = command.inline_bytes;
    found.moved = progress.moved_in_bytes + progress.moved_out_bytes;
    found.request_first = command.request_first_frame;
    found.request_last = command.request_last_frame;
    found.operations = progress.operations;
    found.data_first = progress.data_first_frame;
    found.data_last = progress.data_last_frame;
    found.response = progress.response_frame;
    found.begin_ns = command.request_begin_ns;
    found.parts_ns = finished.parts.ns;
    found.repair_own_ns = finished.repair_own_ns;
    found.repair_behind_ns = finished.repair_behind_ns;
    found.request_ack_ns = finished.request_ack_ns.value_or(0);
    found.status = upper::status_text(finished.meaning, progress.status);
    answered.push_back(std::move(found));
}

void Finder::asked_next(const upper::Connection&, std::uint64_t host_ns) { host_next_ns.push_back(host_ns); }

void Finder::ended(const upper::Connection& connection) {
    const upper::ConnectionCounts& counts = connection.counts();
    unbound += counts.unbound_operations;
    late += counts.late_operations;
    probes += counts.probes;
    operations += counts.operations;
    target_names.push_back(connection.facts().target_name);
    limits.push_back(connection.facts().limit.value_or(0));
    limits_asked.push_back(connection.facts().limit_asked.value_or(0));
    congested_ports = std::max(congested_ports, connection.facts().congested_ports);
    const upper::ConnectionTime& time = connection.time();
    for (const std::uint64_t ns : time.state_ns()) state_sum_ns += ns;
    limit_ns += time.state_ns()[static_cast<std::size_t>(upper::IoState::limit)];
    at_limit_ns += time.at_limit_ns();
    if (time.first_ns()) wall_ns += static_cast<std::uint64_t>(time.last_ns() - *time.first_ns());
}

std::string text_of(const Found& found) {
    std::string text = found.id + " " + found.kind + " advertised " + std::to_string(found.advertised) + " inline " +
                       std::to_string(found.inline_bytes) + " moved " + std::to_string(found.moved) + " frames " +
                       std::to_string(found.request_first) + "-" + std::to_string(found.request_last) + " " +
                       std::to_string(found.operations) + " " + std::to_string(found.data_first) + "-" +
                       std::to_string(found.data_last) + " > " + std::to_string(found.response) + " begin " +
                       std::to_string(found.begin_ns) + " parts";
    for (const std::uint64_t part : found.parts_ns) text += " " + std::to_string(part);
    return text;
}

namespace {

/// What the expectation does not have is not compared.
Found without_network(Found found) {
    found.request_ack_ns = 0;
    return found;
}

}  // namespace

void expect_equal(const std::vector<Found>& found, const std::vector<Found>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_TRUE(without_network(found[i]) == expected[i]) << text_of(found[i]) << "\n" << text_of(expected[i]);
}

std::size_t expect_single_equal(const std::vector<Found>& found, const std::vector<Found>& expected) {
    EXPECT_EQ(found.size(), expected.size());
    std::size_t count = 0;
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
        const auto meets = [&](const Found& other) {
            return other.id != expected[i].id && other.request_first <= expected[i].response &&
                   other.response >= expected[i].request_first;
        };
        if (std::ranges::any_of(expected, meets)) continue;
        ++count;
        Found one = without_network(found[i]);
        one.advertised = expected[i].advertised;
        one.inline_bytes = expected[i].inline_bytes;
        EXPECT_TRUE(one == expected[i]) << text_of(one) << "\n" << text_of(expected[i]);
    }
    return count;
}

}  // namespace upper_test
