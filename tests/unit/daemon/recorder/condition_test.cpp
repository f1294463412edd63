#include "daemon/recorder/condition.h"

#include <gmock/gmock.h>
#include <tuple>

#include "tests/unit/exporters/flow_samples.h"

namespace service::test {
namespace {

using exporters::test::bare_tcp_flow;
using exporters::test::write_flow;
using testing::HasSubstr;

/// Whether the flow does as the text says; the text must be right.
bool holds(const std::string& text, const metrics::FlowSnapshot& flow) {
    const auto condition = Condition::parse(text);
    if (!condition) {
        ADD_FAILURE() << text << ": " << condition.error().text();
        return false;
    }
    const exporters::Context context;
    for (const Term& term : condition->terms)
        if (!term.holds(term.field->value({flow, context}))) return false;
    return true;
}

std::string mistake(const std::string& text) {
    const auto condition = Condition::parse(text);
    return condition ? "(none)" : condition.error().text();
}

TEST(Condition, compares_with_every_operator) {
    const metrics::FlowSnapshot flow = write_flow();  // 3 packets sent again
    for (const auto& [operation, less, same, more] :
         {std::tuple{">", true, false, false}, std::tuple{">=", true, true, false}, std::tuple{"<", false, false, true},
          std::tuple{"<=", false, true, true}, std::tuple{"==", false, true, false},
          std::tuple{"!=", true, false, true}}) {
        const std::string term = std::string("retransmitted_packets ") + operation;
        EXPECT_EQ(holds(term + " 2", flow), less) << operation;
        EXPECT_EQ(holds(term + " 3", flow), same) << operation;
        EXPECT_EQ(holds(term + " 4", flow), more) << operation;
    }
}

TEST(Condition, all_terms_must_hold) {
    const metrics::FlowSnapshot flow = write_flow();
    EXPECT_TRUE(holds("retransmitted_packets > 2 and rnr_naks >= 1 and transport == roce2", flow));
    EXPECT_FALSE(holds("retransmitted_packets > 2 and rnr_naks > 1", flow));
    EXPECT_FALSE(holds("retransmitted_packets > 3 and rnr_naks >= 1", flow));
}

TEST(Condition, blanks_may_be_many_or_none) {
    const metrics::FlowSnapshot flow = write_flow();
    EXPECT_TRUE(holds("  retransmitted_packets>2   and\tnaks.psn_sequence_error==2 ", flow));
    EXPECT_TRUE(holds("transport==\"roce2\"", flow));
}

TEST(Condition, values_have_the_unit_of_their_figure) {
    metrics::FlowSnapshot flow = write_flow();
    flow.link_bits_per_sec = 100'000'000'000;
    flow.confidence = 0.5;
    for (const char* const yes :
         {"latency_ns.write.max == 100us", "latency_ns.write.max > 0.0999ms", "state_ns.ack_window == 750ms",
          "state_ns.ack_window > 0.7s", "state_ns.nic_stall == 0", "wire_bytes == 106600", "wire_bytes > 104KiB",
          "wire_bytes < 105K", "wire_bytes < 1MiB", "link_bits_per_sec == 100G", "link_bits_per_sec == 100Gbit/s",
          "confidence == 50%", "confidence == 0.5", "confidence < 50.1%", "outstanding.messages_mean == 2.5",
          "outstanding.messages_mean > 2", "destination.qpn == 0x11", "destination.qpn == 17", "id == 7",
          // 100000 octets in one second
          "goodput_bytes_per_sec == 100000", "goodput_bytes_per_sec == 800kbit/s", "goodput_bytes_per_sec > 97KiB/s",
          "goodput_bytes_per_sec < 98KiB/s", "goodput_bytes_per_sec < 1GB/s", "exhibits.nak.count == 2"})
        EXPECT_TRUE(holds(yes, flow)) << yes;
}

TEST(Condition, text_is_compared_as_a_whole) {
    const metrics::FlowSnapshot flow = write_flow();
    EXPECT_TRUE(holds("transport == roce2", flow));
    EXPECT_FALSE(holds("transport == roce", flow));
    EXPECT_TRUE(holds("transport != iwarp and service == RC", flow));
    EXPECT_TRUE(holds("source.address == 192.0.2.1", flow));
    EXPECT_TRUE(holds("finished == no", flow));
    EXPECT_TRUE(holds("finished == false", flow));
    EXPECT_FALSE(holds("finished == yes", flow));
}

TEST(Condition, what_is_not_known_fulfils_nothing) {
    const metrics::FlowSnapshot flow = bare_tcp_flow();  // no figure for retransmissions, no QPN
    for (const char* const operation : {" == ", " != ", " < ", " <= ", " > ", " >= "}) {
        EXPECT_FALSE(holds(std::string("retransmitted_packets") + operation + "0", flow)) << operation;
        EXPECT_FALSE(holds(std::string("latency_ns.write.p99") + operation + "0", flow)) << operation;
    }
    EXPECT_FALSE(holds("vantage != sender", flow));
    EXPECT_FALSE(holds("exhibits.nak.count == 0", flow)) << "what did not happen has no figure";
    EXPECT_TRUE(holds("packets == 1", flow));
}

TEST(Condition, large_numbers_are_exact) {
    metrics::FlowSnapshot flow = write_flow();
    flow.packets = 9'007'199'254'740'993;  // 2^53 + 1, which a double cannot tell from 2^53
    EXPECT_TRUE(holds("packets > 9007199254740992", flow));
    EXPECT_FALSE(holds("packets > 9007199254740993", flow));
    EXPECT_TRUE(holds("packets < 18446744073709551615", flow));
}

TEST(Condition, mistakes_say_what_to_write) {
    EXPECT_EQ(mistake("retransmited_packets > 1"),
              "'retransmited_packets' is no figure of a flow, did you mean 'retransmitted_packets'?; "
              "`rdmascope flows --columns help` lists them");
    EXPECT_THAT(mistake("latency_ns.write > 1ms"), HasSubstr("'latency_ns.write' is a group of figures"));
    EXPECT_THAT(mistake("latency_ns.write > 1ms"), HasSubstr("latency_ns.write.count"));
    EXPECT_THAT(mistake("exhibits.nak.frames > 1"), HasSubstr("exhibits.nak.count can"));
    EXPECT_THAT(mistake(""), HasSubstr("a figure's name is expected before 'the end'"));
    EXPECT_THAT(mistake("> 100"), HasSubstr("a figure's name is expected before '> 100'"));
    EXPECT_THAT(mistake("packets"), HasSubstr("one of > >= < <= == != is expected after 'packets'"));
    EXPECT_THAT(mistake("packets = 100"), HasSubstr("is expected after 'packets'"));
    EXPECT_THAT(mistake("packets >"), HasSubstr("a number is expected for 'packets', not ''"));
    EXPECT_THAT(mistake("packets > many"), HasSubstr("a number is expected for 'packets', not 'many'"));
    EXPECT_THAT(mistake("packets > 1 or packets < 2"), HasSubstr("'and' is expected before the next figure, not 'or'"));
    EXPECT_THAT(mistake("packets > 1 and"), HasSubstr("a figure's name is expected before 'the end'"));
    EXPECT_THAT(mistake("transport > roce2"), HasSubstr("is compared by == and !=, not by >"));
    EXPECT_THAT(mistake("transport == \"roce2"), HasSubstr("no closing quotation mark"));
    EXPECT_THAT(mistake("latency_ns.write.p99 > 2000"), HasSubstr("a time with its unit"));
    EXPECT_THAT(mistake("latency_ns.write.p99 > 2e3"), HasSubstr("a time with its unit"));
    EXPECT_THAT(mistake("latency_ns.write.p99 > 2 ms"), HasSubstr("a time with its unit"));
    EXPECT_THAT(mistake("wire_bytes > 1.5GiB/s"), HasSubstr("a size such as"));
    EXPECT_THAT(mistake("goodput_bytes_per_sec > 10G"), HasSubstr("1GiB/s or 10Gbit/s"));
    EXPECT_THAT(mistake("confidence > half"), HasSubstr("a share such as"));
    for (const char* const not_finite : {"packets > nan", "packets > inf", "confidence > nan%", "packets > 1e999"})
        EXPECT_THAT(mistake(not_finite), HasSubstr("is expected")) << not_finite;
}

TEST(Condition, any_text_is_survived) {
    const std::string text = "retransmitted_packets >= 100 and transport == \"iwarp\" and confidence < 1%";
    for (std::size_t length = 0; length < text.size(); ++length)
        static_cast<void>(Condition::parse(text.substr(0, length)));
    for (std::size_t at = 0; at < text.size(); ++at)
        for (const char c : {'\0', '"', ' ', '>', '=', '\xff', '%'}) {
            std::string changed = text;
            changed[at] = c;
            static_cast<void>(Condition::parse(changed));
        }
}

}  // namespace
}  // namespace service::test
