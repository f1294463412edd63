/// What a reading of the subnet says about answers. The table of docs/why.md says which findings belong to which
/// verdict.
#include "cli/why/subnet_evidence.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <string>

#include "cli/analysis/session.h"

namespace {

using metrics::Answer;
using metrics::Verdict;

constexpr std::int64_t second_ns = 1'000'000'000;

metrics::Address lid_address(std::uint8_t lid) {
    metrics::Address address;
    address.family = wire::AddressFamily::lid;
    address.octets[1] = lid;
    return address;
}

fabric::Node adapter(fabric::Guid guid, fabric::Guid peer) {
    fabric::Port port;
    port.number = 1;
    port.lid = static_cast<fabric::Lid>(guid);
    port.state = fabric::PortState::initialize;
    port.physical = fabric::PhysicalState::link_up;
    port.peer = fabric::PortId{peer, 1};
    fabric::Node node;
    node.guid = guid;
    node.description = "node" + std::to_string(guid);
    node.port_count = 1;
    node.ports.push_back(port);
    return node;
}

/// The link of the LIDs 1 and 2 is physically up, and no subnet manager has made it active.
fabric::Subnet inactive_link() {
    fabric::Subnet subnet;
    subnet.add(adapter(1, 2));
    subnet.add(adapter(2, 1));
    return subnet;
}

/// A request of a client for a connection to LID 2 that has waited for ten seconds.
metrics::Snapshot unanswered_request(std::uint8_t client) {
    metrics::Snapshot snapshot;
    snapshot.capture.packets = 1;
    snapshot.capture.last_ns = 10 * second_ns;
    metrics::ConnectionAttempt& attempt = snapshot.attempts.emplace_back();
    attempt.transport = wire::Transport::infiniband;
    attempt.client.address = lid_address(client);
    attempt.server.address = lid_address(2);
    attempt.request_frame = 5;
    attempt.outcome = metrics::AttemptOutcome::unanswered;
    return snapshot;
}

std::string evidence_of_silence(const metrics::Snapshot& snapshot, const fabric::Subnet& subnet) {
    std::vector<Answer> answers = metrics::answer(snapshot, cli::analysis::Names(false));
    cli::why::add_subnet_evidence(subnet, snapshot, answers);
    const auto answer = std::ranges::find(answers, Verdict::connection_unanswered, &Answer::verdict);
    if (answer == answers.end()) return "no such answer";
    std::string text;
    for (const metrics::Evidence& one : answer->evidence) text += one.what + "\n";
    return text;
}

TEST(SubnetEvidence, an_inactive_link_explains_a_request_without_an_answer) {
    const std::string text = evidence_of_silence(unanswered_request(1), inactive_link());
    EXPECT_NE(text.find("link node"), std::string::npos) << text;
    EXPECT_NE(text.find("node1"), std::string::npos) << text;
    EXPECT_NE(text.find("node2"), std::string::npos) << text;
}

TEST(SubnetEvidence, a_link_of_other_hosts_is_counted_alone) {
    metrics::Snapshot snapshot = unanswered_request(3);
    snapshot.attempts.front().server.address = lid_address(4);
    fabric::Subnet subnet = inactive_link();
    subnet.add(adapter(3, 4));
    subnet.add(adapter(4, 3));
    for (const fabric::Guid guid : std::to_array<fabric::Guid>({3, 4}))
        subnet.find(guid)->ports.front().state = fabric::PortState::active;
    const std::string text = evidence_of_silence(snapshot, subnet);
    EXPECT_EQ(text.find("link node"), std::string::npos) << text;
    EXPECT_NE(text.find("elsewhere"), std::string::npos) << text;
}

}  // namespace
