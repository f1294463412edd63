#include "fabric/discovery/query_pool.h"

#include <algorithm>
#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "fabric/discovery/discover.h"
#include "fabric/discovery/trace_route.h"

namespace {

using fabric::discovery::Answer;
using fabric::discovery::Outcome;
using fabric::discovery::Query;
using fabric::discovery::QueryPool;
using fabric::umad::Destination;
using fabric::umad::MadBytes;
using fabric::umad::Received;

/// Keeps what is sent, and answers as the test says.
class ScriptedTransport final : public fabric::umad::MadTransport {
public:
    struct Sent {
        Destination to;
        MadBytes mad;
    };

    base::Result<void> send(const Destination& to, const MadBytes& mad) override {
        sent.push_back({to, mad});
        open.push_back(mad);
        most_open = std::max(most_open, open.size());
        return {};
    }
    base::Result<std::optional<Received>> receive(std::chrono::milliseconds /*wait*/) override {
        if (!extra.empty()) {
            const Received first = extra.front();
            extra.pop_front();
            return std::optional(first);
        }
        if (open.empty() || is_silent) return std::optional<Received>{};
        // The last question is answered first.
        Received answer{open.back(), length, times_out};
        open.pop_back();
        answer.mad[3] |= std::byte{0x80};
        answer.mad[4] = std::byte(status >> 8);
        answer.mad[5] = std::byte(status & 0xff);
        // The kernel's own part of the transaction's identifier.
        answer.mad[8] = std::byte{0x77};
        std::fill_n(answer.mad.begin() + 64, 64, attribute);
        return std::optional(answer);
    }
    const fabric::umad::Patience& patience() const override { return patience_; }

    std::vector<Sent> sent;
    std::vector<MadBytes> open;
    std::deque<Received> extra;
    std::size_t most_open = 0;
    std::size_t length = fabric::umad::mad_bytes;
    unsigned status = 0;
    std::byte attribute{0};  ///< every byte of it
    bool times_out = false;
    bool is_silent = false;

private:
    fabric::umad::Patience patience_{std::chrono::milliseconds(1), 0};
};

Query node_info(fabric::discovery::Route route) {
    Query query;
    query.attribute = 0x11;
    query.route = std::move(route);
    return query;
}

struct Kept {
    Outcome outcome;
    std::string reason;
};

Kept ask_one(ScriptedTransport& transport) {
    Kept kept{};
    QueryPool pool(transport, 4);
    pool.ask(node_info({1, 4}), [&](const Answer& answer) { kept = {answer.outcome, answer.reason}; });
    EXPECT_TRUE(pool.run().ok());
    return kept;
}

TEST(QueryPool, LimitsOpenQuestionsAndMatchesAnswersInAnyOrder) {
    ScriptedTransport transport;
    QueryPool pool(transport, 3);
    std::vector<unsigned> answered;
    for (std::uint8_t port = 1; port <= 20; ++port)
        pool.ask(node_info({port}), [&answered, port](const Answer& answer) {
            EXPECT_EQ(answer.outcome, Outcome::answered);
            EXPECT_EQ(answer.attribute.size(), 64);
            answered.push_back(port);
        });
    ASSERT_TRUE(pool.run().ok());
    EXPECT_EQ(transport.most_open, 3);
    EXPECT_EQ(pool.asked(), 20);
    EXPECT_NE(answered.front(), 1);
    std::ranges::sort(answered);
    for (unsigned port = 1; port <= 20; ++port) EXPECT_EQ(answered[port - 1], port);
}

TEST(QueryPool, WritesADatagramOnADirectedRouteAsTheSpecificationHasIt) {
    ScriptedTransport transport;
    ask_one(transport);
    ASSERT_EQ(transport.sent.size(), 1);
    const MadBytes& mad = transport.sent[0].mad;
    // IBTA vol. 1, 14.2.1.2: class 0x81, version 1, Get; hop pointer 0, hop count 2; NodeInfo.
    constexpr std::array<unsigned, 8> head{1, 0x81, 1, 1, 0, 0, 0, 2};
    for (std::size_t i = 0; i < head.size(); ++i) EXPECT_EQ(std::to_integer<unsigned>(mad[i]), head[i]) << i;
    EXPECT_EQ(mad[16], std::byte{0});
    EXPECT_EQ(mad[17], std::byte{0x11});
    // Both ends of the part that LIDs would route are the permissive LID.
    for (std::size_t i = 32; i < 36; ++i) EXPECT_EQ(mad[i], std::byte{0xff});
    // The first entry of the path is not used.
    EXPECT_EQ(mad[128], std::byte{0});
    EXPECT_EQ(mad[129], std::byte{1});
    EXPECT_EQ(mad[130], std::byte{4});
    EXPECT_EQ(mad[131], std::byte{0});
}

TEST(QueryPool, WritesAQuestionToAPerformanceAgent) {
    ScriptedTransport transport;
    QueryPool pool(transport, 4);
    Query query;
    query.agent = fabric::umad::Agent::performance;
    query.attribute = 0x12;
    query.lid = 7;
    query.port_select = 3;
    EXPECT_EQ(text_of(query), "PortCounters of port 3 at LID 7");
    pool.ask(query, [](const Answer& answer) { EXPECT_EQ(answer.attribute.size(), 192); });
    ASSERT_TRUE(pool.run().ok());
    EXPECT_EQ(transport.sent[0].to.lid, 7);
    EXPECT_EQ(transport.sent[0].mad[1], std::byte{0x04});
    EXPECT_EQ(transport.sent[0].mad[65], std::byte{3});
}

TEST(QueryPool, ARefusalHasItsReason) {
    ScriptedTransport transport;
    transport.status = 0x8000 | 3 << 2;  // the direction bit; the attribute is not supported with this method
    const Kept kept = ask_one(transport);
    EXPECT_EQ(kept.outcome, Outcome::refused);
    EXPECT_EQ(kept.reason, "attribute not supported with this method");
}

TEST(QueryPool, TheDirectionBitAloneIsNoRefusal) {
    ScriptedTransport transport;
    transport.status = 0x8000;
    EXPECT_EQ(ask_one(transport).outcome, Outcome::answered);
}

TEST(QueryPool, AQuestionThatComesBackOrNeverComesIsSilent) {
    ScriptedTransport returned;
    returned.times_out = true;
    EXPECT_EQ(ask_one(returned).reason, "no answer");
    ScriptedTransport lost;
    lost.is_silent = true;
    EXPECT_EQ(ask_one(lost).outcome, Outcome::silent);
}

TEST(QueryPool, ACutAnswerIsNotRead) {
    ScriptedTransport transport;
    transport.length = 100;
    EXPECT_EQ(ask_one(transport).reason, "an answer of 100 bytes instead of 256");
}

TEST(QueryPool, AForeignDatagramIsIgnored) {
    ScriptedTransport transport;
    Received foreign;
    foreign.length = fabric::umad::mad_bytes;
    foreign.mad[15] = std::byte{0x99};
    transport.extra = {foreign, Received{{}, 3, false}};
    EXPECT_EQ(ask_one(transport).outcome, Outcome::answered);
}

TEST(QueryPool, RoutesAreWrittenAsSmpqueryReadsThem) {
    EXPECT_EQ(fabric::discovery::text_of(fabric::discovery::Route{}), "0");
    EXPECT_EQ(fabric::discovery::text_of(fabric::discovery::Route{1, 36, 4}), "0,1,36,4");
}

TEST(Discover, ALocalAdapterWithoutAnswerIsAFailure) {
    ScriptedTransport transport;
    transport.times_out = true;
    QueryPool pool(transport, 4);
    const auto found = fabric::discovery::discover(pool, {"mlx5_0", 1});
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().text(), "mlx5_0: the local adapter does not answer (no answer): is its port up?");
}

TEST(Discover, AnAnswerWithoutANodeTypeIsRefused) {
    ScriptedTransport transport;  // answers with zeros: no node type is 0
    QueryPool pool(transport, 4);
    const auto found = fabric::discovery::discover(pool, {"mlx5_0", 1});
    ASSERT_FALSE(found.ok());
    EXPECT_THAT(found.error().text(), testing::HasSubstr("the answer has no valid node type"));
}

fabric::Node switch_with_ports(fabric::Guid guid, fabric::Guid peer) {
    fabric::Node made;
    made.guid = guid;
    made.type = fabric::NodeType::switch_node;
    made.port_count = 1;
    made.ports.resize(2);
    made.ports[0].lid = static_cast<fabric::Lid>(guid);
    made.ports[1].number = 1;
    made.ports[1].peer = fabric::PortId{peer, 1};
    return made;
}

/// Why packets from the first switch to LID 3 do not arrive, if both switches forward them by `port`. The switch with
/// LID 3 has no link.
std::string broken_route(std::uint8_t port) {
    fabric::discovery::Discovery found;
    found.subnet.add(switch_with_ports(1, 2));
    found.subnet.add(switch_with_ports(2, 1));
    found.subnet.add(switch_with_ports(3, 3));
    found.routes = {{1, {}}, {2, {1}}, {3, {}}};
    ScriptedTransport transport;
    transport.attribute = std::byte{port};
    QueryPool pool(transport, 4);
    const auto route = trace_route(pool, found, {1, 0}, {3, 0}, {});
    EXPECT_EQ(route.lid, 3);
    EXPECT_LE(route.leaves_by.size(), 4);
    return route.broken;
}

TEST(TraceRoute, ForwardingTablesThatLeadNowhere) {
    EXPECT_EQ(broken_route(1), "the forwarding tables lead in a circle");
    EXPECT_EQ(broken_route(255), "switch 0x0000000000000001 has no port for LID 3");
    EXPECT_EQ(broken_route(200), "port 200 of 0x0000000000000001 has no link");
    EXPECT_EQ(broken_route(0), "port 0 of 0x0000000000000001 has no link");
}

}  // namespace
