// What `replay --compare` prints of a flow and its re-enactment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/replay/comparison_page.h"

namespace cli::replay {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Four Sends of 100 octets in two seconds, up to three outstanding.
metrics::FlowSnapshot four_sends() {
    metrics::FlowSnapshot flow;
    flow.id = 7;
    flow.service = metrics::Service::rc;
    flow.last_ns = 2'000'000'000;
    flow.operations[metrics::index_of(metrics::Operation::send)].count = 4;
    flow.operations[metrics::index_of(metrics::Operation::send)].bytes = 400;
    flow.messages_mean = 1.5;
    flow.messages_max = 3;
    flow.state_ns[metrics::index_of(metrics::State::application_idle)] = 2'000'000'000;
    return flow;
}

TEST(Comparison, what_is_outstanding_is_told_where_it_is_known) {
    metrics::FlowSnapshot original = four_sends();
    metrics::FlowSnapshot replayed = four_sends();
    replayed.reverse = 8;
    ::replay::ComparedFlow flow;
    flow.original = &original;  // whose answers were not captured
    flow.replayed = &replayed;
    const ::replay::Recording recording{{}, 0, "lo", ""};
    const auto json = comparison_json({&flow, 1}, recording);
    EXPECT_TRUE(json["flows"][0]["original"]["outstanding"]["messages_max"].is_null());
    EXPECT_TRUE(json["flows"][0]["original"]["outstanding"]["messages_mean"].is_null());
    EXPECT_EQ(json["flows"][0]["replay"]["outstanding"]["messages_max"], 3);
    EXPECT_EQ(json["flows"][0]["replay"]["outstanding"]["messages_mean"], 1.5);
    EXPECT_EQ(json["flows"][0]["original"]["goodput_bytes_per_sec"], 200.0);
    const std::string text = comparison_text({&flow, 1}, recording);
    const std::size_t second = text.find("replayed");
    EXPECT_THAT(text.substr(0, second), Not(HasSubstr("1.5/3")));
    EXPECT_THAT(text.substr(second), HasSubstr("1.5/3"));
}

}  // namespace
}  // namespace cli::replay
