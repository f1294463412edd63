// The promised keys are those of the interface's description, written out here by hand.
#include "exporters/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "flow_samples.h"

namespace exporters::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;

json flow_json(const metrics::FlowSnapshot& flow, const Context& context = {},
               const FlowColumns& columns = all_columns(false)) {
    std::string out;
    append_json(out, in_json_order(columns), {flow, context});
    return json::parse(out);
}

std::vector<std::string> keys(const json& object) {
    std::vector<std::string> all;
    for (const auto& [key, member] : object.items()) all.push_back(key);
    return all;
}

const std::vector<std::string> operations{"send", "send_immediate", "send_invalidate", "write", "write_immediate",
                                          "read", "fetch_add",      "compare_swap"};
const std::vector<std::string> statistics{"count", "min", "mean", "p50", "p90", "p99", "p999", "max"};

TEST(FlowJson, has_neither_goodput_nor_depth_where_too_little_could_be_read) {
    metrics::FlowSnapshot flow = write_flow();
    flow.transport = wire::Transport::iwarp;
    flow.reverse = 2;
    flow.tcp.emplace().connection_bytes = 5'000;
    for (const std::uint64_t unread : {100u, 101u}) {
        flow.tcp->unread_bytes = unread;
        const bool known = unread * 50 <= 5'000;
        const json shown = flow_json(flow);
        EXPECT_EQ(shown["tcp"]["unread_bytes"], unread);
        EXPECT_EQ(shown["tcp"]["connection_bytes"], 5'000);
        EXPECT_EQ(shown["goodput_bytes_per_sec"].is_null(), !known);
        EXPECT_EQ(shown["outstanding"]["messages_mean"].is_null(), !known);
        EXPECT_EQ(shown["outstanding"]["messages_max"].is_null(), !known);
    }
}

TEST(FlowJson, has_every_promised_key_whatever_is_known) {
    for (const auto& sample : {write_flow(), bare_tcp_flow(), metrics::FlowSnapshot{}}) {
        const json flow = flow_json(sample);
        for (const char* key : {"id",
                                "transport",
                                "service",
                                "source",
                                "destination",
                                "reverse",
                                "pairing",
                                "vantage",
                                "packets",
                                "wire_bytes",
                                "payload_bytes",
                                "retransmitted_packets",
                                "duplicate_packets",
                                "missing_packets",
                                "messages",
                                "goodput_bytes_per_sec",
                                "latency_ns",
                                "message_bytes",
                                "outstanding",
                                "naks",
                                "rnr_naks",
                                "ecn_ce_packets",
                                "cnp_packets",
                                "icrc_bad",
                                "crc_bad",
                                "terminates",
                                "state_ns",
                                "confidence"})
            EXPECT_TRUE(flow.contains(key)) << key;
        for (const char* end : {"source", "destination"})
            for (const char* key : {"address", "name", "port", "qpn"}) EXPECT_TRUE(flow[end].contains(key)) << key;
        for (const char* key : {"method", "confidence"}) EXPECT_TRUE(flow["pairing"].contains(key));
        for (const char* key : {"messages_mean", "messages_max", "bytes_max"})
            EXPECT_TRUE(flow["outstanding"].contains(key)) << key;
        for (const std::string& operation : operations) {
            for (const char* key : {"count", "bytes"}) EXPECT_TRUE(flow["messages"][operation].contains(key));
            for (const std::string& key : statistics) EXPECT_TRUE(flow["latency_ns"][operation].contains(key));
        }
        EXPECT_EQ(flow["messages"].size(), operations.size());
        for (const std::string& key : statistics) EXPECT_TRUE(flow["message_bytes"].contains(key));
        EXPECT_EQ(flow["state_ns"].size(), 15U);
        for (const char* key :
             {"unobserved", "transmit_new", "transmit_again", "rnr_wait", "recover_nak", "recover_timeout",
              "read_window", "credit", "ack_window", "link_shared", "congestion_paced", "nic_stall",
              "application_in_flight", "peer_wait", "application_idle"})
            EXPECT_TRUE(flow["state_ns"].contains(key)) << key;
    }
}

TEST(FlowJson, says_what_the_snapshot_says) {
    const OneName names;
    const json flow = flow_json(write_flow(), {&names, true, {}});
    EXPECT_EQ(flow["id"], 7);
    EXPECT_EQ(flow["transport"], "roce2");
    EXPECT_EQ(flow["service"], "RC");
    EXPECT_EQ(flow["source"]["address"], "192.0.2.1");
    EXPECT_EQ(flow["source"]["name"], "a \"b\", c");
    EXPECT_EQ(flow["destination"]["qpn"], 17);
    EXPECT_EQ(flow["messages"]["write"]["count"], 100);
    EXPECT_EQ(flow["messages"]["write"]["bytes"], 100'000);
    EXPECT_EQ(flow["goodput_bytes_per_sec"], 100'000.0);  // 100 * 1000 octets in 1 s
    EXPECT_EQ(flow["latency_ns"]["write"]["count"], 100);
    EXPECT_EQ(flow["latency_ns"]["write"]["min"], 1000);
    EXPECT_EQ(flow["latency_ns"]["write"]["max"], 100'000);
    EXPECT_EQ(flow["latency_ns"]["write"]["mean"], 50'500.0);  // (1 + 100) / 2 us
    EXPECT_NEAR(flow["latency_ns"]["write"]["p50"].get<double>(), 50'000, 500);
    EXPECT_NEAR(flow["latency_ns"]["write"]["p99"].get<double>(), 99'000, 990);
    EXPECT_EQ(flow["message_bytes"]["p50"], 1000);
    EXPECT_EQ(flow["outstanding"]["messages_mean"], 2.5);
    EXPECT_EQ(flow["outstanding"]["messages_max"], 16);
    EXPECT_EQ(flow["naks"]["psn_sequence_error"], 2);
    EXPECT_EQ(flow["retransmitted_packets"], 3);
    EXPECT_EQ(flow["state_ns"]["ack_window"], 750'000'000);
}

TEST(FlowJson, unknown_is_null_and_none_is_0) {
    const json flow = flow_json(write_flow());
    for (const char* key : {"reverse", "duplicate_packets", "missing_packets", "vantage", "crc_bad"})
        EXPECT_TRUE(flow[key].is_null()) << key;
    EXPECT_TRUE(flow["source"]["qpn"].is_null());
    EXPECT_TRUE(flow["source"]["name"].is_null());
    EXPECT_TRUE(flow["destination"]["port"].is_null());
    EXPECT_EQ(flow["pairing"]["method"], "none");
    EXPECT_TRUE(flow["pairing"]["confidence"].is_null());
    EXPECT_EQ(flow["latency_ns"]["read"]["count"], 0);
    EXPECT_TRUE(flow["latency_ns"]["read"]["p50"].is_null());
    EXPECT_EQ(flow["cnp_packets"], 0);
    EXPECT_EQ(flow["icrc_bad"], 0);
    EXPECT_TRUE(flow["tcp"].is_null());
    EXPECT_TRUE(flow["connection"].is_null());

    const json tcp = flow_json(bare_tcp_flow());
    EXPECT_TRUE(tcp["goodput_bytes_per_sec"].is_null());  // no time has passed
    EXPECT_EQ(tcp["source"]["port"], 7174);
    EXPECT_TRUE(tcp["icrc_bad"].is_null());
    EXPECT_EQ(tcp["crc_bad"], 0);
    EXPECT_EQ(tcp["tcp"]["segments"], 1);
    EXPECT_TRUE(tcp["tcp"]["mss"].is_null());
}

TEST(FlowJson, nobody_counted_what_was_not_verified) {
    EXPECT_TRUE(flow_json(write_flow(), {nullptr, false, {}})["icrc_bad"].is_null());
    EXPECT_TRUE(flow_json(bare_tcp_flow(), {nullptr, false, {}})["crc_bad"].is_null());
}

TEST(FlowJson, exhibits_are_the_events_that_happened) {
    const json flow = flow_json(write_flow());
    EXPECT_THAT(keys(flow["exhibits"]), ElementsAre("nak"));
    EXPECT_EQ(flow["exhibits"]["nak"]["count"], 2);
    EXPECT_EQ(flow["exhibits"]["nak"]["frames"], json::array({12, 40}));
    EXPECT_EQ(flow_json(bare_tcp_flow())["exhibits"], json::object());
}

TEST(FlowJson, a_connection_of_which_one_thing_is_known_is_no_null) {
    metrics::FlowSnapshot flow = write_flow();
    flow.connection->rnr_retry_count = 0;
    EXPECT_EQ(flow_json(flow)["connection"]["rnr_retry_count"], 0);
    EXPECT_TRUE(flow_json(flow)["connection"]["path_mtu"].is_null());
}

TEST(FlowJson, chosen_columns_nest_in_the_order_of_the_table_each_once) {
    FlowColumns columns;
    for (const char* name : {"latency_ns.write.p99", "packets", "latency_ns.write.p50", "latency_ns.write"})
        for (const FlowField* field : find_fields(name)) columns.push_back(field);
    std::string out;
    append_json(out, in_json_order(columns), {write_flow(), {}});
    // A member twice would be two.
    EXPECT_EQ(out.find("\"write\""), out.rfind("\"write\""));
    EXPECT_EQ(out.find("\"p99\""), out.rfind("\"p99\""));
    EXPECT_THAT(keys(json::parse(out)), testing::UnorderedElementsAre("packets", "latency_ns"));
}

TEST(FlowJson, an_interval_gives_rates_by_its_length) {
    const Context context{nullptr, true, Interval{1'500'000'000, 100'000'000}};
    const json flow = flow_json(write_flow(), context, all_columns(true));
    EXPECT_EQ(flow["interval"]["start_ns"], 1'500'000'000);
    EXPECT_EQ(flow["interval"]["length_ns"], 100'000'000);
    EXPECT_EQ(flow["goodput_bytes_per_sec"], 1e6);  // 100 kB in 0.1 s
}

TEST(FlowsDocument, is_one_object_however_many_flows) {
    metrics::Snapshot snapshot;
    snapshot.capture.packets = 3;
    snapshot.capture.first_ns = 5;
    snapshot.capture.last_ns = 6;
    snapshot.flows = {write_flow(), bare_tcp_flow()};
    snapshot.hosts.resize(2);
    snapshot.pauses.resize(1);
    snapshot.attempts.resize(1);
    const Context context;
    for (std::size_t flows = 0; flows <= 2; ++flows)
        for (const bool capture_first : {true, false}) {
            FlowsDocument document(all_columns(false));
            std::string out;
            capture_first ? document.begin(out, snapshot.capture, context) : document.begin(out);
            for (std::size_t i = 0; i < flows; ++i) document.flow(out, {snapshot.flows[i], context});
            document.end(out, snapshot, context);
            const json whole = json::parse(out);
            EXPECT_EQ(whole["flows"].size(), flows);
            EXPECT_EQ(whole["hosts"].size(), 2U);
            EXPECT_EQ(whole["pauses"].size(), 1U);
            EXPECT_EQ(whole["attempts"].size(), 1U);
            for (const char* key :
                 {"packets", "bytes", "rdma_units", "kernel_dropped", "truncated", "malformed", "first_ns", "last_ns"})
                EXPECT_TRUE(whole["capture"].contains(key)) << key;
            EXPECT_TRUE(whole["capture"]["kernel_dropped"].is_null());
            EXPECT_EQ(whole["capture"]["truncated"], 0);
            EXPECT_EQ(whole["capture"]["first_ns"], 5);
        }
}

TEST(FlowsDocument, pauses_are_counted_by_frame_and_by_priority) {
    metrics::PauseSnapshot pauses;
    pauses.interface = 2;
    pauses.pause_frames = 1;
    pauses.pfc_frames = 3;
    pauses.resume_frames = 4;
    pauses.priority_frames = {0, 0, 0, 3, 2, 0, 0, 0};
    std::string out;
    append_json(out, pauses);
    const json whole = json::parse(out);
    EXPECT_EQ(whole["interface"], 2);
    EXPECT_EQ(whole["pause_frames"], 1);
    EXPECT_EQ(whole["pfc_frames"], 3);
    EXPECT_EQ(whole["resume_frames"], 4);
    EXPECT_EQ(whole["priority_frames"], json({0, 0, 0, 3, 2, 0, 0, 0}));
    EXPECT_TRUE(whole["pause_ns"].is_null()) << "the link's rate is not known";
    EXPECT_TRUE(whole["priority_ns"].is_null());
    pauses.stopped_ns = {5, {0, 0, 0, 700, 0, 0, 0, 0}};
    out.clear();
    append_json(out, pauses);
    EXPECT_EQ(json::parse(out)["pause_ns"], 5);
    EXPECT_EQ(json::parse(out)["priority_ns"], json({0, 0, 0, 700, 0, 0, 0, 0}));
}

TEST(FlowsDocument, a_capture_without_packets_has_no_times) {
    std::string out;
    append_json(out, metrics::CaptureFigures{}, {});
    EXPECT_TRUE(json::parse(out)["first_ns"].is_null());
}

TEST(FlowsDocument, carriers_that_were_not_looked_into_are_a_list) {
    metrics::CaptureFigures capture;
    std::string out;
    append_json(out, capture, {});
    EXPECT_EQ(json::parse(out)["not_looked_into"], json::array());
    capture.unread.add({wire::CarrierKind::ether_type, 0x8999}, 12);
    capture.unread.add_others(3);
    out.clear();
    append_json(out, capture, {});
    EXPECT_EQ(json::parse(out)["not_looked_into"],
              json::parse(R"([{"kind":"EtherType 0x8999","frames":12},{"kind":"other carriers","frames":3}])"));
}

TEST(JsonValue, every_kind) {
    const auto text = [](const Value& value) {
        std::string out;
        append_json(out, value);
        return out;
    };
    EXPECT_EQ(text({}), "null");
    EXPECT_EQ(text(true), "true");
    EXPECT_EQ(text(std::uint64_t{18'446'744'073'709'551'615U}), "18446744073709551615");
    EXPECT_EQ(text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
    EXPECT_EQ(text(0.1), "0.1");
    EXPECT_EQ(text(std::numeric_limits<double>::infinity()), "null");
    EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN()), "null");
    EXPECT_EQ(text(Frames{1, 2}), "[1,2]");
    EXPECT_EQ(json::parse(text(std::string("a\"\\\n\x01 \xc3\xa9"))), "a\"\\\n\x01 \xc3\xa9");
    EXPECT_TRUE(json::accept(text(std::string("\xff no UTF-8"))));
}

}  // namespace
}  // namespace exporters::test
