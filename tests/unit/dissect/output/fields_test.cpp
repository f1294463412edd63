// `-T fields`, `-T json -e` and `-T ek -e`: expected is what tshark 4.0.17 printed for these frames.
#include <gtest/gtest.h>

#include "dissect/output/chosen_fields.h"
#include "frames.h"

namespace {

using namespace dissect;
using namespace dissect::output;

std::vector<const RegisteredField*> fields(const FieldRegistry& registry, std::initializer_list<const char*> names) {
    std::vector<const RegisteredField*> found;
    for (const char* name : names) {
        found.push_back(registry.find(name));
        EXPECT_NE(found.back(), nullptr) << name;
    }
    return found;
}

const FieldRegistry& registry() {
    static const FieldRegistry known;
    return known;
}

std::string print(std::initializer_list<const char*> names, const FieldsFormat& format = {}) {
    std::string out;
    FieldsPrinter printer{out, registry(), fields(registry(), names), format, {}};
    frames::show_both(printer);
    return out;
}

TEST(Fields, OneColumnAField) {
    EXPECT_EQ(print({"infiniband.bth.opcode", "infiniband.bth.psn", "frame.time", "ip.addr", "infiniband.deth",
                     "infiniband", "infiniband.bth", "infiniband.aeth.msn"}),
              "4\t6580053\tNov 21, 2026 01:40:49.783379000 "
              "UTC\t192.0.2.1,192.0.2.2\t\tinfiniband\t0400ffff0000001180646755\t\n"
              "17\t6580053\tNov 21, 2026 01:40:49.784535000 "
              "UTC\t192.0.2.2,192.0.2.1\t\tinfiniband\t1100ffff0000001100646755\t6\n");
}

TEST(Fields, Times) {
    EXPECT_EQ(print({"frame.number", "frame.time_epoch", "frame.time_delta", "frame.time_relative", "frame.len",
                     "frame.encap_type"}),
              "20\t1795225249.783379000\t0.000000000\t0.000000000\t74\t1\n"
              "21\t1795225249.784535000\t0.001156000\t0.001156000\t62\t1\n");
}

TEST(Fields, HeaderSeparatorQuoteOccurrenceAggregator) {
    FieldsFormat format;
    format.header = true;
    format.bom = true;
    format.separator = ';';
    format.quote = '"';
    format.aggregator = ' ';
    EXPECT_EQ(print({"infiniband.aeth.msn", "udp.port"}, format),
              "\xef\xbb\xbf"
              "infiniband.aeth.msn;udp.port\n;\"57960 4791\"\n\"6\";\"57960 4791\"\n");
    format = {};
    format.occurrence = FieldsFormat::Occurrence::first;
    EXPECT_EQ(print({"udp.port"}, format), "57960\n57960\n");
    format.occurrence = FieldsFormat::Occurrence::last;
    EXPECT_EQ(print({"udp.port"}, format), "4791\n4791\n");
}

TEST(Fields, OurOwn) {
    EXPECT_EQ(print({"rdma.transport", "rdma.service", "rdma.operation", "rdma.position", "rdma.length", "rdma.crc",
                     "rdma.outcome", "rdma.repeats_frame"}),
              "roce2\tRC\tsend\tonly\t16\tgood\tcomplete\t\n"
              "roce2\tRC\tacknowledge\tonly\t0\tgood\tcomplete\t\n");
}

// tshark escapes these three octets whatever the quote, and nothing else: not the quote itself, not the backslash.
TEST(Fields, LineEndsAndTabsOfTextAreEscaped) {
    const auto octets = frames::from_hex(frames::send_only);
    for (const char quote : {'\0', '"', '\''}) {
        std::string out;
        FieldsFormat format;
        format.quote = quote;
        FieldsPrinter printer{out, registry(), fields(registry(), {"frame.number", "frame.comment"}), format, {}};
        Dissector dissector;
        wire::Frame frame = frames::frame(octets, 1, 0);
        frame.comment = "a\nb\tc\rd\"e'f\\g\x01h";
        dissector.dissect(frame, printer);
        printer.end_frame(true);
        const std::string around = quote == 0 ? "" : std::string(1, quote);
        EXPECT_EQ(out, around + "1" + around + "\t" + around + R"(a\nb\tc\rd"e'f\g)" + "\x01h" + around + "\n");
    }
}

TEST(Fields, AFieldTwice) { EXPECT_EQ(print({"frame.number", "frame.number"}), "20\t20\n21\t21\n"); }

TEST(Fields, OnlyShownFramesCountForTheirDelta) {
    const auto octets = frames::from_hex(frames::send_only);
    std::string out;
    FieldsPrinter printer{
        out, registry(), fields(registry(), {"frame.time_delta", "frame.time_delta_displayed"}), {}, {}};
    Dissector dissector;
    for (const std::int64_t second : {0, 1, 3, 6}) {
        const wire::Frame frame = frames::frame(octets, 1, second * 1'000'000'000);
        dissector.dissect(frame, printer);
        printer.end_frame(second != 3);
    }
    EXPECT_EQ(out, "0.000000000\t0.000000000\n1.000000000\t1.000000000\n3.000000000\t5.000000000\n");
}

TEST(Fields, JsonHasAnArrayAField) {
    std::string out;
    JsonFieldsPrinter printer{
        out, registry(), fields(registry(), {"infiniband.bth.opcode", "ip.addr", "infiniband.aeth"}), {}};
    frames::show_both(printer);
    EXPECT_EQ(out, R"([
  {
    "_index": "packets-2026-11-21",
    "_type": "doc",
    "_score": null,
    "_source": {
      "layers": {
        "infiniband.bth.opcode": [
          "4"
        ],
        "ip.addr": [
          "192.0.2.1",
          "192.0.2.2"
        ]
      }
    }
  },
  {
    "_index": "packets-2026-11-21",
    "_type": "doc",
    "_score": null,
    "_source": {
      "layers": {
        "infiniband.bth.opcode": [
          "17"
        ],
        "ip.addr": [
          "192.0.2.2",
          "192.0.2.1"
        ],
        "infiniband.aeth": [
          "1f000006"
        ]
      }
    }
  }
]
)");
}

TEST(Fields, EkHasAnArrayAField) {
    std::string out;
    EkFieldsPrinter printer{
        out, registry(), fields(registry(), {"infiniband.bth.opcode", "frame.time", "ip.addr", "infiniband"}), {}};
    frames::show_both(printer);
    EXPECT_EQ(out.substr(0, out.find('\n', out.find('\n') + 1) + 1),
              "{\"index\":{\"_index\":\"packets-2026-11-21\",\"_type\":\"doc\"}}\n"
              "{\"timestamp\":\"1795225249783\",\"layers\":{\"infiniband_bth_opcode\":[\"4\"],"
              "\"frame_time\":[\"Nov 21, 2026 01:40:49.783379000 UTC\"],\"ip_addr\":[\"192.0.2.1\",\"192.0.2.2\"],"
              "\"infiniband\":[\"infiniband\"]}}\n");
}

TEST(Fields, DaysBelowTenArePadded) {
    std::array<char, 64> scratch;
    EXPECT_EQ(utc_text(1793523661'000000001, scratch), "Nov  1, 2026 09:01:01.000000001 UTC");
}

}  // namespace
