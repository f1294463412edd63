// The shapes of tshark 4.0.17's `-T json` and `-T ek`, on trees made by hand and on real frames.
#include "dissect/output/json.h"

#include <gtest/gtest.h>

#include "dissect/output/ek.h"
#include "frames.h"

namespace {

using namespace dissect;
using namespace dissect::output;
using wire::FieldInfo;
using wire::Kind;

std::string quoted(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
}

TEST(Json, StringsAreEscapedAndUtf8) {
    EXPECT_EQ(quoted("a\"b\\c\n\r\t\x01\x7f"), R"("a\"b\\c\n\r\t\u0001\u007f")");
    EXPECT_EQ(quoted("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"), "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"");
    const std::string replacement = "\xef\xbf\xbd";
    EXPECT_EQ(quoted("\xff"), '"' + replacement + '"');
    EXPECT_EQ(quoted("\xc0\xaf"), '"' + replacement + replacement + '"');                    // overlong
    EXPECT_EQ(quoted("\xed\xa0\x80"), '"' + replacement + replacement + replacement + '"');  // surrogate
    EXPECT_EQ(quoted("\xe2\x82"), '"' + replacement + replacement + '"');                    // cut
}

TEST(Json, ATreeOfHeadingsWithAndWithoutValues) {
    constexpr FieldInfo group{"a.group", "Group"};
    constexpr FieldInfo headed{"a.headed", "Headed", 0, 0, Kind::uint8};
    constexpr FieldInfo leaf{"a.leaf", "Leaf", 0, 0, Kind::boolean};
    std::string out;
    JsonVisitor visitor{out, 0};
    visitor.open(group, {}, {});
    visitor.open(headed, {7, {}, {}}, {});
    visitor.field(leaf, {1, {}, {}}, {});
    visitor.close();
    visitor.open(headed, {8, {}, {}}, {});
    visitor.close();
    visitor.open(group, {}, {});
    visitor.close();
    visitor.field(leaf, {0, {}, {}}, {});
    visitor.close();
    EXPECT_EQ(out, R"(
"a.group": {
  "a.headed": "7",
  "a.headed_tree": {
    "a.leaf": "1"
  },
  "a.headed": "8",
  "a.group": "",
  "a.leaf": "0"
})");
}

TEST(Json, AFrameAsTsharkPrintsIt) {
    std::string out;
    JsonPrinter printer{out, {}};
    frames::show_both(printer);
    EXPECT_EQ(out.substr(0, 131), R"([
  {
    "_index": "packets-2026-11-21",
    "_type": "doc",
    "_score": null,
    "_source": {
      "layers": {
        "frame)");
    // Of frame 21, except what is ours alone.
    EXPECT_NE(out.find(R"(
          "infiniband.aeth": "1f:00:00:06",
          "infiniband.aeth_tree": {
            "infiniband.aeth.syndrome": "31",
            "infiniband.aeth.syndrome_tree": {
              "infiniband.aeth.syndrome.reserved": "0",
              "infiniband.aeth.syndrome.opcode": "0",
              "infiniband.aeth.syndrome.credit_count": "31"
            },
            "infiniband.aeth.msn": "6"
          },
          "infiniband.invariant.crc": "0xe8d80beb",)"),
              std::string::npos)
        << out;
    EXPECT_EQ(out.substr(out.size() - 20), "      }\n    }\n  }\n]\n");
}

TEST(Json, NoFrames) {
    std::string out;
    JsonPrinter printer{out, {}};
    printer.begin();
    printer.finish();
    EXPECT_EQ(out, "[]\n");
}

TEST(Ek, RepeatedFieldsAndProtocolsBecomeArrays) {
    const FieldRegistry registry;
    EkVisitor visitor{registry};
    const auto known = [&](const char* name) -> const FieldInfo& { return *registry.find(name)->info; };
    visitor.clear();
    for (const std::uint64_t length : {46u, 78u}) {
        visitor.open(known("iwarp_mpa"), {}, {});
        visitor.open(known("iwarp_mpa.fpdu"), {}, {});
        visitor.field(known("iwarp_mpa.ulpdulength"), {length, {}, {}}, {});
        visitor.close();
        visitor.close();
    }
    visitor.open(known("udp"), {}, {});
    visitor.field(known("udp.port"), {57960, {}, {}}, {});
    visitor.field(known("udp.srcport"), {57960, {}, {}}, {});
    visitor.field(known("udp.port"), {4791, {}, {}}, {});
    visitor.field(known("iwarp_mpa.crc_flag"), {1, {}, {}}, {});
    visitor.close();
    std::string out;
    visitor.write(out);
    EXPECT_EQ(
        out,
        R"("iwarp_mpa":[{"iwarp_mpa_iwarp_mpa_fpdu":null,"iwarp_mpa_iwarp_mpa_ulpdulength":"46"},)"
        R"({"iwarp_mpa_iwarp_mpa_fpdu":null,"iwarp_mpa_iwarp_mpa_ulpdulength":"78"}],)"
        R"("udp":{"udp_udp_port":["57960","4791"],"udp_udp_srcport":"57960","iwarp_mpa_iwarp_mpa_crc_flag":true})");
}

TEST(Ek, AFrameInTwoLines) {
    const FieldRegistry registry;
    std::string out;
    EkPrinter printer{out, registry, {}};
    frames::show_both(printer);
    EXPECT_EQ(out.substr(0, 55), "{\"index\":{\"_index\":\"packets-2026-11-21\",\"_type\":\"doc\"}}");
    EXPECT_NE(out.find("\"frame_frame_time\":\"2026-11-21T01:40:49.783379000Z\""), std::string::npos);
    EXPECT_NE(out.find("\"infiniband_infiniband_bth_a\":true"), std::string::npos);
    EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 4);
}

}  // namespace
