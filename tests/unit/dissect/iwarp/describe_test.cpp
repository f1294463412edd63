#include "dissect/describe.h"

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/dissector.h"
#include "dissect/registry.h"

/// Trees of single units. The expected ones were read off `tshark -T json` for the same octets; where we add or differ,
/// a comment says why.
namespace {

using namespace dissect;
using Octets = std::vector<std::byte>;

Octets octets(std::string_view hex) {
    Octets out;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
        out.push_back(static_cast<std::byte>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16)));
    return out;
}

/// name{…} for a heading, name=value for a field: numbers in decimal, octets in hexadecimal.
class Writer : public Visitor {
public:
    void open(const wire::FieldInfo& heading, const wire::Value&, Extent) override {
        note(heading);
        text += std::string{heading.name} + "{";
    }
    void field(const wire::FieldInfo& info, const wire::Value& value, Extent) override {
        note(info);
        text += std::string{info.name} + "=";
        if (info.kind == wire::Kind::bytes) {
            for (const std::byte octet : value.bytes) {
                constexpr char digits[] = "0123456789abcdef";
                text += digits[std::to_integer<unsigned>(octet) >> 4];
                text += digits[std::to_integer<unsigned>(octet) & 15];
            }
        } else {
            text += std::to_string(value.number);
        }
        text += ' ';
    }
    void close() override { text += "} "; }

    std::string text;
    std::string unknown;  ///< visited, but not in the registry

private:
    void note(const wire::FieldInfo& info) {
        if (registry_.find(info) == nullptr) unknown += std::string{info.name} + ' ';
    }
    FieldRegistry registry_;
};

std::string described(LayerId first, std::string_view hex, CrcStatus crc, LayerSet wanted = LayerSet::all()) {
    const Octets bytes = octets(hex);
    Dissection dissection;
    dissect_unit(first, bytes, static_cast<std::uint32_t>(bytes.size()), {}, dissection);
    dissection.ddp.crc = crc;
    Writer writer;
    describe(dissection, bytes, writer, wanted);
    EXPECT_EQ(writer.unknown, "");
    return writer.text;
}

TEST(Describe, enhanced_request_of_siw) {
    EXPECT_EQ(
        described(LayerId::mpa_request, "4d504120494420526571204672616d65500200048001c001", CrcStatus::absent),
        "iwarp_mpa{iwarp_mpa.req{iwarp_mpa.key.req=4d504120494420526571204672616d65 iwarp_mpa.marker_flag=0 "
        "iwarp_mpa.crc_flag=1 "
        "iwarp_mpa.rej_flag=0 iwarp_mpa.res=16 iwarp_mpa.rev=2 iwarp_mpa.pdlength=4 iwarp_mpa.privatedata=8001c001 "
        // tshark 4.0 does not know RFC 6581.
        "iwarp_mpa.enhanced{iwarp_mpa.enhanced.a=1 iwarp_mpa.enhanced.b=0 iwarp_mpa.enhanced.ird=1 "
        "iwarp_mpa.enhanced.c=1 "
        "iwarp_mpa.enhanced.D=1 iwarp_mpa.enhanced.ord=1 } } } ");
}

TEST(Describe, padded_write) {
    EXPECT_EQ(described(LayerId::mpa_fpdu,
                        "0011c1400000123400000000000056786162630043"
                        "1f18fe",
                        CrcStatus::good),
              "iwarp_mpa{iwarp_mpa.fpdu{iwarp_mpa.ulpdulength=17 iwarp_mpa.pad=00 iwarp_mpa.crc_check=1126111486 "
              "rdma.mpa_crc.status=1 } } "
              "iwarp_ddp_rdmap{iwarp_ddp{iwarp_ddp.control_field{iwarp_ddp.tagged_flag=1 iwarp_ddp.last_flag=1 "
              "iwarp_ddp.rsvd=0 iwarp_ddp.dv=1 } "
              "iwarp_ddp.tagged{iwarp_ddp.stag=4660 iwarp_ddp.tagged_offset=22136 } } "
              "iwarp_rdma{iwarp_rdma.control_field{iwarp_rdma.version=1 iwarp_rdma.rsv=0 iwarp_rdma.opcode=0 } } } "
              "data{data.data=616263 data.len=3 } ");
}

TEST(Describe, compare_and_swap_with_crc_off) {
    EXPECT_EQ(described(LayerId::mpa_fpdu,
                        "0046414a00000000000000010000000200000000"
                        "00000002"
                        "00000007"
                        "00000008"
                        "0000000000000009"
                        "000000000000000a"
                        "000000000000000b"
                        "000000000000000c"
                        "000000000000000d"
                        "00000000",
                        CrcStatus::unchecked),
              "iwarp_mpa{iwarp_mpa.fpdu{iwarp_mpa.ulpdulength=70 iwarp_mpa.crc=0 rdma.mpa_crc.status=2 } } "
              "iwarp_ddp_rdmap{iwarp_ddp{iwarp_ddp.control_field{iwarp_ddp.tagged_flag=0 iwarp_ddp.last_flag=1 "
              "iwarp_ddp.rsvd=0 iwarp_ddp.dv=1 } "
              "iwarp_ddp.rsvdulp=4a00000000 iwarp_ddp.untagged{iwarp_ddp.qn=1 iwarp_ddp.msn=2 iwarp_ddp.mo=0 } } "
              "iwarp_rdma{iwarp_rdma.control_field{iwarp_rdma.version=1 iwarp_rdma.rsv=0 iwarp_rdma.opcode=10 } "
              "iwarp_rdma.atomic.reserved=0 iwarp_rdma.atomic.opcode=2 iwarp_rdma.atomic.request_identifier=7 "
              "iwarp_rdma.atomic.remote_stag=8 "
              "iwarp_rdma.atomic.remote_tagged_offset=9 iwarp_rdma.atomic.swap_data=10 iwarp_rdma.atomic.swap_mask=11 "
              "iwarp_rdma.atomic.compare_data=12 iwarp_rdma.atomic.compare_mask=13 } } ");
}

TEST(Describe, terminate_as_the_rfc_wants_it) {
    EXPECT_EQ(
        described(LayerId::mpa_fpdu,
                  "0026414700000000000000020000000100000000"
                  "1100c000"
                  "0011"
                  "c1400000123400000000000056"
                  "78"
                  "00000000",
                  CrcStatus::good,
                  [] {
                      LayerSet set;
                      set.insert(LayerId::rdmap_terminate);
                      return set;
                  }()),
        "iwarp_ddp_rdmap{iwarp_rdma.terminate{iwarp_rdma.term_ctrl{iwarp_rdma.term_layer=1 iwarp_rdma.term_etype_ddp=1 "
        "iwarp_rdma.term_errcode_ddp_tagged=0 iwarp_rdma.term_hdrct{iwarp_rdma.term_hdrct_m=1 iwarp_rdma.hdrct_d=1 "
        "iwarp_rdma.hdrct_r=0 } } "
        "iwarp_rdma.term_rsvd=0 iwarp_rdma.term_ddp_seg_len=0011 iwarp_rdma.term_ddp_h=c1400000123400000000"
        "00005678 "
        // Taken apart, which tshark does not.
        "rdma.terminate.ddp{rdma.terminate.segment_length=17 rdma.terminate.opcode=0 rdma.terminate.stag=4660 "
        "rdma.terminate.tagged_offset=22136 } } } ");
}

TEST(Describe, terminate_of_siw) {
    // siw-verbs-badrkey-w.pcap, frame 22. tshark reads M = D = R = 0 and the bits as reserved, and so do we; but then
    // it misses the headers that follow.
    const std::string text = described(LayerId::mpa_fpdu,
                                       "002641470000000000000002000000010000000011000300"
                                       "05948140194cc00000007f83158400002892e494",
                                       CrcStatus::good);
    EXPECT_NE(text.find("iwarp_rdma.term_etype_ddp=1 iwarp_rdma.term_errcode_ddp_tagged=0"), std::string::npos);
    EXPECT_NE(
        text.find("iwarp_rdma.term_hdrct_m=0 iwarp_rdma.hdrct_d=0 iwarp_rdma.hdrct_r=0 } } iwarp_rdma.term_rsvd=768 "),
        std::string::npos);
    EXPECT_NE(text.find("rdma.terminate.byte_swapped=1 iwarp_rdma.term_ddp_seg_len=0594 "
                        "iwarp_rdma.term_ddp_h=8140194cc00000007f8315840000 "),
              std::string::npos);
    EXPECT_NE(text.find("rdma.terminate.stag=424460288"), std::string::npos);
}

TEST(Describe, a_layer_alone_is_not_described_twice) {
    LayerSet read;
    read.insert(LayerId::rdmap_read_request);
    constexpr std::string_view hex =
        "002e41410000000000000001000000010000000042"
        "14e30000007f6b540fb3280000138866d65a0000007f0721d04000cb6b04d4";
    EXPECT_EQ(described(LayerId::mpa_fpdu, hex, CrcStatus::good, read),
              "iwarp_ddp_rdmap{iwarp_rdma.rr{iwarp_rdma.sinkstag=1108665088 iwarp_rdma.sinkto=140098948543272 "
              "iwarp_rdma.rdmardsz=5000 "
              "iwarp_rdma.srcstag=1725323776 iwarp_rdma.srcto=139668608794624 } } ");
    const std::string all = described(LayerId::mpa_fpdu, hex, CrcStatus::good);
    EXPECT_EQ(all.find("iwarp_rdma.rr"), all.rfind("iwarp_rdma.rr"));
}

Dissection of(std::string_view hex, std::size_t captured) {
    const Octets bytes = octets(hex);
    Dissection dissection;
    dissect_unit(LayerId::mpa_fpdu, base::Bytes{bytes}.first(captured), static_cast<std::uint32_t>(bytes.size()), {},
                 dissection);
    return dissection;
}

TEST(Outcomes, every_truncation_is_truncated) {
    for (const std::string_view hex : {
             "0011c14000001234000000000000567861626300431f18fe",
             "002e4141000000000000000100000001000000004214e30000007f6b540fb3280000138866d65a0000007f0721d04000cb6b04d4",
             "002641470000000000000002000000010000000011000300"
             "05948140194cc00000007f83158400002892e494",
         }) {
        for (std::size_t captured = 0; captured < hex.size() / 2; ++captured) {
            const Dissection d = of(hex, captured);
            ASSERT_EQ(d.stop.outcome, Outcome::truncated) << hex << ' ' << captured;
            ASSERT_EQ(d.stop.reason, Reason::snapped);
        }
        EXPECT_EQ(of(hex, hex.size() / 2).stop.outcome, Outcome::complete);
    }
}

TEST(Outcomes, four_different_answers) {
    EXPECT_EQ(of("0001c10000000000", 8).stop.outcome, Outcome::malformed);  // a ULPDU of one octet
    EXPECT_EQ(of("000ec2400000000100000000000000020000"
                 "0000",
                 20)
                  .stop.reason,
              Reason::bad_version);  // DDP version 2
    EXPECT_EQ(of("000ec1c00000000100000000000000020000"
                 "0000",
                 20)
                  .stop.reason,
              Reason::bad_version);  // RDMAP version 3
    EXPECT_EQ(of("000ec14c0000000100000000000000020000"
                 "0000",
                 20)
                  .stop.reason,
              Reason::unknown_opcode);
    EXPECT_EQ(of("000ec1430000000100000000000000020000"
                 "0000",
                 20)
                  .stop.reason,
              Reason::bad_opcode);  // a tagged Send
    EXPECT_EQ(of("000ec5400000000100000000000000020000"
                 "0000",
                 20)
                  .odd.reason,
              Reason::reserved_not_zero);
    EXPECT_EQ(of("00124143000000000000000100000001000000000000"
                 "0000",
                 24)
                  .odd.reason,
              Reason::wrong_queue);
    EXPECT_EQ(of("000ec1400000000100000000000000020000"
                 "0000",
                 20)
                  .stop.outcome,
              Outcome::complete);
}

}  // namespace
