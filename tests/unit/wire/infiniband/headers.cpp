/// Headers of real packets: values as tshark 4.0.17 prints them, and back to the same octets.
#include <algorithm>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <string_view>

#include "hex_octets.h"
#include "wire/aeth.h"
#include "wire/atomic_write.h"
#include "wire/atomicacketh.h"
#include "wire/atomiceth.h"
#include "wire/bth.h"
#include "wire/cm_dreq.h"
#include "wire/cm_lap.h"
#include "wire/cm_mra.h"
#include "wire/cm_rej.h"
#include "wire/cm_rep.h"
#include "wire/cm_req.h"
#include "wire/cm_rtu.h"
#include "wire/cm_sidr.h"
#include "wire/cnp.h"
#include "wire/deth.h"
#include "wire/feth.h"
#include "wire/grh.h"
#include "wire/ieth.h"
#include "wire/immdt.h"
#include "wire/lrh.h"
#include "wire/mad.h"
#include "wire/rdeth.h"
#include "wire/reth.h"
#include "wire/rwh.h"
#include "wire/xrceth.h"

namespace {

/// Parses, and checks that emitting gives the octets back.
template <class H>
H round_trip(std::string_view hex) {
    const auto bytes = octets(hex);
    const auto header = wire::parse<H>(bytes);
    EXPECT_TRUE(header.has_value());
    const auto emitted = wire::to_octets(*header);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), emitted.begin(), emitted.end()));
    EXPECT_FALSE(wire::parse<H>(std::span{bytes}.first(bytes.size() - 1)).has_value());
    return *header;
}

TEST(InfinibandHeaders, Lrh) {
    // The sample packet of IBTA vol. 1, 7.8.3.
    const auto lrh = round_trip<wire::Lrh>("7012375C000E17D2");
    EXPECT_EQ(lrh.virtual_lane, 7);
    EXPECT_EQ(lrh.link_version, 0);
    EXPECT_EQ(lrh.service_level, 1);
    EXPECT_EQ(lrh.link_next_header, 2);
    EXPECT_EQ(lrh.destination_lid, 14172);
    EXPECT_EQ(lrh.packet_length, 14);
    EXPECT_EQ(lrh.source_lid, 6098);
}

TEST(InfinibandHeaders, Rwh) { EXPECT_EQ(round_trip<wire::Rwh>("00000800").ethertype, 0x0800); }

TEST(InfinibandHeaders, Grh) {
    const auto grh =
        round_trip<wire::Grh>("6020000000281b4000000000000000000000ffff0f00000200000000000000000000ffff0f000002");
    EXPECT_EQ(grh.ip_version, 6);
    EXPECT_EQ(grh.traffic_class, 2);
    EXPECT_EQ(grh.flow_label, 0u);
    EXPECT_EQ(grh.payload_length, 40);
    EXPECT_EQ(grh.next_header, wire::grh_next_header_bth);
    EXPECT_EQ(grh.hop_limit, 64);
    EXPECT_EQ(grh.source_gid, grh.destination_gid);
}

TEST(InfinibandHeaders, Bth) {
    const auto bth = round_trip<wire::Bth>("0a70ffff0000010a80a788bc");
    EXPECT_EQ(bth.opcode, 10);
    EXPECT_FALSE(bth.solicited_event);
    EXPECT_TRUE(bth.migration_request);
    EXPECT_EQ(bth.pad_count, 3);
    EXPECT_EQ(bth.header_version, 0);
    EXPECT_EQ(bth.partition_key, 65535);
    EXPECT_EQ(bth.destination_qp, 0x10au);
    EXPECT_TRUE(bth.ack_request);
    EXPECT_EQ(bth.psn, 10979516u);
    EXPECT_TRUE(round_trip<wire::Bth>("8100ffff4000011800000000").becn);
    EXPECT_TRUE(round_trip<wire::Bth>("0400ffff8000011800000000").fecn);
}

TEST(InfinibandHeaders, ExtendedHeaders) {
    EXPECT_EQ(round_trip<wire::Rdeth>("0000a1b2").ee_context, 41394u);
    const auto deth = round_trip<wire::Deth>("8001000000000001");
    EXPECT_EQ(deth.queue_key, 0x80010000u);
    EXPECT_EQ(deth.source_qp, 1u);
    EXPECT_EQ(round_trip<wire::Xrceth>("00123456").srq, 0x123456u);
    const auto reth = round_trip<wire::Reth>("000055d4c0726000000047b300000005");
    EXPECT_EQ(reth.virtual_address, 0x55d4c0726000u);
    EXPECT_EQ(reth.remote_key, 0x47b3u);
    EXPECT_EQ(reth.dma_length, 5u);
    const auto atomic = round_trip<wire::AtomicEth>("00007fc713def0080000086000000000000000020000000000000001");
    EXPECT_EQ(atomic.virtual_address, 0x7fc713def008u);
    EXPECT_EQ(atomic.remote_key, 0x860u);
    EXPECT_EQ(atomic.swap_or_add, 2u);
    EXPECT_EQ(atomic.compare, 1u);
    EXPECT_EQ(round_trip<wire::AtomicAckEth>("0000000000000007").original_data, 7u);
    EXPECT_EQ(round_trip<wire::ImmDt>("aabb0000").data[1], std::byte{0xbb});
    EXPECT_EQ(round_trip<wire::Ieth>("0800014a").remote_key[3], std::byte{0x4a});
    EXPECT_EQ(round_trip<wire::AtomicWrite>("0102030405060708").data, 0x0102030405060708u);
    EXPECT_EQ(round_trip<wire::Cnp>("00000000000000000000000000000000").reserved.size(), 16u);
    // Annex A19: bits 5 and 4 the selectivity, bits 3 to 0 the placement type.
    const auto feth = round_trip<wire::Feth>("00000013");
    EXPECT_EQ(feth.selectivity, 1);
    EXPECT_EQ(feth.placement, 3);
}

TEST(InfinibandHeaders, AethSyndromes) {
    const auto ack = round_trip<wire::Aeth>("1f000001");
    EXPECT_EQ(wire::kind_of_syndrome(ack.syndrome), wire::AethKind::ack);
    EXPECT_EQ(wire::value_of_syndrome(ack.syndrome), wire::no_credit_limit);
    EXPECT_EQ(ack.msn, 1u);
    const auto rnr = round_trip<wire::Aeth>("2c000000");
    EXPECT_EQ(wire::kind_of_syndrome(rnr.syndrome), wire::AethKind::rnr_nak);
    EXPECT_EQ(wire::rnr_timer_us[wire::value_of_syndrome(rnr.syndrome)], 640u);
    const auto nak = round_trip<wire::Aeth>("62000001");
    EXPECT_EQ(wire::kind_of_syndrome(nak.syndrome), wire::AethKind::nak);
    EXPECT_EQ(wire::name_of(wire::nak_code_names, wire::value_of_syndrome(nak.syndrome)), "Remote Access Error");
}

/// The tables of numbers and of words say the same.
TEST(InfinibandHeaders, RnrTimersAgreeWithTheirNames) {
    for (unsigned code = 0; code < 32; ++code) {
        const double ms = std::stod(std::string{wire::name_of(wire::rnr_timer_names, code)});
        EXPECT_DOUBLE_EQ(ms * 1000, wire::rnr_timer_us[code]);
    }
}

TEST(InfinibandHeaders, Mad) {
    const auto mad = round_trip<wire::Mad>("010702030000000000000002f3f945c60010000000000000");
    EXPECT_EQ(mad.base_version, 1);
    EXPECT_EQ(mad.management_class, wire::communication_management);
    EXPECT_EQ(mad.class_version, 2);
    EXPECT_EQ(mad.method, 3);
    EXPECT_EQ(mad.transaction_id, 0x2f3f945c6u);
    EXPECT_EQ(mad.attribute_id, 0x10);
    EXPECT_EQ(wire::mad_attribute_name(0x07, 0x10), "ConnectRequest");
    EXPECT_EQ(wire::mad_attribute_name(0x03, 0x35), "PathRecord");
    EXPECT_EQ(wire::mad_attribute_name(0x81, 0x15), "PortInfo");
    EXPECT_EQ(wire::mad_attribute_name(0x30, 0x15), "");
}

constexpr std::string_view request =
    "c645f9f3000000000000000001061c06505400fffe00000200000000000000000000110100000001000000a0646750a7ffff37f0ffffffff"
    "00000000000000000000ffffc000020200000000000000000000ffffc0000201c2258000004000980000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000"
    "0040e76e000000000000000000000000c0000202000000000000000000000000c0000201"
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000";

TEST(InfinibandHeaders, CmReq) {
    const auto req = round_trip<wire::CmReq>(request);
    EXPECT_EQ(req.local_communication_id, 0xc645f9f3u);
    EXPECT_EQ(req.service_id, 0x1061c06u);
    EXPECT_EQ(req.local_ca_guid, 0x505400fffe000002u);
    EXPECT_EQ(req.local_qpn, 0x11u);
    EXPECT_EQ(req.responder_resources, 1);
    EXPECT_EQ(req.initiator_depth, 1);
    EXPECT_EQ(req.remote_response_timeout, 0x14);
    EXPECT_EQ(req.starting_psn, 0x646750u);
    EXPECT_EQ(req.retry_count, 7);
    EXPECT_EQ(req.partition_key, 0xffff);
    EXPECT_EQ(req.path_mtu, 3);
    EXPECT_EQ(req.rnr_retry_count, 7);
    EXPECT_EQ(req.max_cm_retries, 15);
    EXPECT_EQ(req.primary_local_lid, 65535);
    EXPECT_EQ(req.primary_flow_label, 0xc2258u);  // tshark reads three octets of four here
    EXPECT_EQ(req.primary_hop_limit, 0x40);
    EXPECT_EQ(req.primary_ack_timeout, 0x13);
    const auto ip = wire::parse<wire::IpCm>(req.private_data);
    EXPECT_EQ(ip->ip_version, 4);
    EXPECT_EQ(ip->source_port, 0xe76e);
    EXPECT_EQ(ip->destination_address[15], std::byte{1});
}

/// Places as IBTA vol. 1, 12.6 to 12.11, gives them, in octets; what a capture does not show.
template <class H>
unsigned place(std::string_view name) {
    for (const auto& field : wire::field_table<H>)
        if (field.name.ends_with(name)) return field.bit_offset;
    return ~0u;
}

TEST(InfinibandHeaders, CmPlaces) {
    EXPECT_EQ(place<wire::CmReq>(".alt_locallid"), 96u * 8);
    EXPECT_EQ(place<wire::CmReq>(".alt_pktrate"), 135u * 8 + 2);
    EXPECT_EQ(place<wire::CmReq>(".private"), 140u * 8);
    EXPECT_EQ(place<wire::CmMra>(".servicetimeout"), 9u * 8);
    EXPECT_EQ(place<wire::CmMra>(".private"), 10u * 8);
    EXPECT_EQ(place<wire::CmRej>(".reason"), 10u * 8);
    EXPECT_EQ(place<wire::CmRej>(".ari"), 12u * 8);
    EXPECT_EQ(place<wire::CmRej>(".private"), 84u * 8);
    EXPECT_EQ(place<wire::CmRep>(".startpsn"), 20u * 8);
    EXPECT_EQ(place<wire::CmRep>(".private"), 36u * 8);
    EXPECT_EQ(place<wire::CmDreq>(".private"), 12u * 8);
    EXPECT_EQ(place<wire::CmSidrReq>(".serviceid"), 8u * 8);
    EXPECT_EQ(place<wire::CmSidrReq>(".private"), 16u * 8);
    EXPECT_EQ(place<wire::CmSidrRep>(".qpn"), 8u * 8);
    EXPECT_EQ(place<wire::CmSidrRep>(".qkey"), 20u * 8);
    EXPECT_EQ(place<wire::CmSidrRep>(".private"), 96u * 8);
    EXPECT_EQ(place<wire::CmLap>(".alt_localgid"), 24u * 8);
    EXPECT_EQ(place<wire::CmLap>(".alt_tfcclass"), 59u * 8);
    EXPECT_EQ(place<wire::CmLap>(".alt_pktrate"), 61u * 8 + 2);
    EXPECT_EQ(place<wire::CmLap>(".private"), 64u * 8);
    EXPECT_EQ(place<wire::CmApr>(".addinfo"), 12u * 8);
    EXPECT_EQ(place<wire::CmApr>(".private"), 84u * 8);
}

/// Reserved bits that are shown stand among the fields in the order of the wire, and overlap none but BTH's.
TEST(InfinibandHeaders, ShownReservedBitsAreInOrder) {
    const auto check = [](std::span<const wire::FieldInfo> fields, unsigned bits) {
        unsigned end = 0;
        for (const auto& field : fields) {
            EXPECT_GE(field.bit_offset, end) << field.name;
            end = field.bit_offset + field.bit_width;
        }
        EXPECT_LE(end, bits);
    };
    check(wire::lrh_fields, 64);
    check(wire::deth_fields, 64);
    check(wire::mad_fields, 192);
    check(wire::cm_req_fields, 232 * 8);
    check(wire::cm_rep_fields, 232 * 8);
    check(wire::cm_dreq_fields, 232 * 8);
}

}  // namespace
