/// What captures do not hold: repeats, rejections by either side, other services, hostile messages. Frames are made
/// from the declared layouts.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

#include "tests/unit/metrics/measure/connection/set_ups.h"
#include "wire/bth.h"
#include "wire/cm_dreq.h"
#include "wire/cm_mra.h"
#include "wire/cm_rej.h"
#include "wire/cm_rep.h"
#include "wire/cm_req.h"
#include "wire/cm_rtu.h"
#include "wire/cm_sidr.h"
#include "wire/deth.h"
#include "wire/ipv4.h"
#include "wire/lrh.h"
#include "wire/mad.h"
#include "wire/udp.h"

namespace metrics_test {
namespace {

using Octets = std::vector<std::byte>;

template <class Header>
void append(Octets& out, const Header& header) {
    const auto octets = wire::to_octets(header);
    out.insert(out.end(), octets.begin(), octets.end());
}

template <class Message>
Octets datagram(wire::CmMessage attribute, const Message& message) {
    Octets out;
    wire::Bth bth;
    bth.opcode = 0x64;  // UD SEND Only
    bth.destination_qp = 1;
    append(out, bth);
    append(out, wire::Deth{});
    wire::Mad mad;
    mad.management_class = wire::communication_management;
    mad.class_version = 2;
    mad.method = 3;
    mad.attribute_id = static_cast<std::uint16_t>(attribute);
    append(out, mad);
    append(out, message);
    out.resize(out.size() + wire::icrc_octets);
    return out;
}

/// Hosts 192.0.2.1 (client) and .2 talk; each message takes a frame of its own, ten microseconds after the one before.
class Talk {
public:
    template <class Message>
    const metrics::Connections::QueuePairs* say(bool from_client, wire::CmMessage attribute, const Message& message) {
        const Octets inner = datagram(attribute, message);
        Octets octets(14);
        octets[12] = std::byte{8};
        wire::Ipv4 ip;
        ip.total_length = static_cast<std::uint16_t>(20 + 8 + inner.size());
        ip.protocol = 17;
        ip.ttl = 64;
        append(octets, ip);
        octets[14 + 12] = octets[14 + 16] = std::byte{192};
        octets[14 + 14] = octets[14 + 18] = std::byte{2};
        octets[14 + 15] = std::byte{from_client ? std::uint8_t{1} : std::uint8_t{2}};
        octets[14 + 19] = std::byte{from_client ? std::uint8_t{2} : std::uint8_t{1}};
        wire::Udp udp;
        udp.destination_port = 4791;
        udp.length = static_cast<std::uint16_t>(8 + inner.size());
        append(octets, udp);
        octets.insert(octets.end(), inner.begin(), inner.end());
        return feed(octets, wire::LinkType::ethernet);
    }
    const metrics::Connections::QueuePairs* feed(const Octets& octets, wire::LinkType link) {
        wire::Frame frame;
        frame.bytes = octets;
        frame.wire_length = static_cast<std::uint32_t>(octets.size());
        frame.link_type = link;
        frame.time_ns = now_ns;
        frame.number = ++frames;
        now_ns += 10'000;
        const std::size_t before = set_ups.known.size();
        dissector_.dissect(frame, set_ups);
        return set_ups.known.size() == before ? nullptr : &set_ups.known.back().pairs;
    }
    bool ended() const { return set_ups.known.back().ended; }
    std::vector<metrics::ConnectionAttempt> attempts() const { return set_ups.connections.attempts(now_ns); }

    SetUps set_ups{16};
    std::int64_t now_ns = 1'000'000'000;
    std::uint64_t frames = 0;

private:
    dissect::Dissector dissector_;
};

wire::CmReq request(std::uint32_t id = 0xa0, std::uint32_t qpn = 0x11) {
    wire::CmReq req;
    req.local_communication_id = id;
    req.local_qpn = qpn;
    req.service_id = 0x0000'0000'0106'4853;  // TCP port space, port 18515
    req.responder_resources = 16;
    req.initiator_depth = 8;
    req.starting_psn = 0x123456;
    req.path_mtu = 5;
    req.primary_ack_timeout = 14;
    req.retry_count = 7;
    req.rnr_retry_count = 6;
    req.remote_response_timeout = 10;  // 4.2 ms
    return req;
}
wire::CmRep reply(std::uint32_t id = 0xb0, std::uint32_t to = 0xa0, std::uint32_t qpn = 0x22) {
    wire::CmRep rep;
    rep.local_communication_id = id;
    rep.remote_communication_id = to;
    rep.local_qpn = qpn;
    rep.starting_psn = 0x654321;
    rep.responder_resources = 4;
    rep.initiator_depth = 2;
    rep.rnr_retry_count = 5;
    return rep;
}
template <class Message>
Message ids(std::uint32_t local, std::uint32_t remote) {
    Message message;
    message.local_communication_id = local;
    message.remote_communication_id = remote;
    return message;
}
wire::CmRej rejection(std::uint32_t local, std::uint32_t remote, std::uint16_t reason) {
    auto rej = ids<wire::CmRej>(local, remote);
    rej.reason = reason;
    return rej;
}

TEST(ConnectionMessages, DepthsAreWhatBothSidesAllow) {
    Talk talk;
    EXPECT_EQ(talk.say(true, wire::CmMessage::req, request()), nullptr);
    const auto* pairs = talk.say(false, wire::CmMessage::rep, reply());
    ASSERT_NE(pairs, nullptr);
    EXPECT_FALSE(talk.ended());
    EXPECT_EQ(pairs->client.initiator_depth, 4u);      // asked for 8, the server takes 4
    EXPECT_EQ(pairs->client.responder_resources, 4u);  // of the server
    EXPECT_EQ(pairs->server.initiator_depth, 2u);
    EXPECT_EQ(pairs->server.responder_resources, 16u);
    EXPECT_EQ(pairs->client.path_mtu, 4096u);
    EXPECT_EQ(pairs->client.ack_timeout_ns, 67'108'864u);  // 4.096 us * 2^14
    EXPECT_EQ(pairs->client.rnr_retry_count, 5u);
    EXPECT_EQ(pairs->server.rnr_retry_count, 6u);
    EXPECT_EQ(pairs->client_psn, 0x654321u);
    EXPECT_EQ(pairs->server_psn, 0x123456u);
    EXPECT_EQ(talk.say(false, wire::CmMessage::rep, reply()), nullptr) << "repeated";
    talk.say(true, wire::CmMessage::rtu, ids<wire::CmRtu>(0xa0, 0xb0));
    const auto* about = talk.set_ups.connections.about(pairs->to_server);
    EXPECT_EQ(about->setup_ns, 30'000u);
    const auto* ended = talk.say(false, wire::CmMessage::dreq, ids<wire::CmDreq>(0xb0, 0xa0));
    ASSERT_NE(ended, nullptr);
    EXPECT_TRUE(talk.ended());
    EXPECT_EQ(ended->to_client.selector, 0x11u);
    EXPECT_EQ(talk.say(true, wire::CmMessage::drep, ids<wire::CmDrep>(0xa0, 0xb0)), nullptr);
    EXPECT_EQ(talk.set_ups.connections.about(ended->to_client)->end, "DREQ");
    EXPECT_EQ(talk.set_ups.connections.about(ended->to_client)->end_frame, 5u);
    EXPECT_TRUE(talk.attempts().empty());
}

TEST(ConnectionMessages, NoTimeoutIsNone) {
    Talk talk;
    auto req = request();
    req.primary_ack_timeout = 0;
    req.path_mtu = 9;
    talk.say(true, wire::CmMessage::req, req);
    const auto* pairs = talk.say(false, wire::CmMessage::rep, reply());
    EXPECT_FALSE(pairs->client.ack_timeout_ns);
    EXPECT_FALSE(pairs->client.path_mtu);
}

TEST(ConnectionMessages, RequestsAreRepeatedAndThenGivenUp) {
    Talk talk;
    for (int i = 0; i < 3; ++i) talk.say(true, wire::CmMessage::req, request());
    EXPECT_TRUE(talk.attempts().empty()) << "the last one may yet be answered";
    talk.now_ns += 4'300'000;
    auto attempts = talk.attempts();
    ASSERT_EQ(attempts.size(), 1u);
    EXPECT_EQ(attempts[0].outcome, metrics::AttemptOutcome::unanswered);
    EXPECT_EQ(attempts[0].requests, 3u);
    EXPECT_EQ(attempts[0].request_frame, 1u);
    EXPECT_EQ(attempts[0].server.port, 18515);
    ASSERT_NE(talk.say(false, wire::CmMessage::rep, reply()), nullptr);
    EXPECT_TRUE(talk.attempts().empty()) << "answered late";
}

TEST(ConnectionMessages, OneRequestHasThreeSeconds) {
    Talk talk;
    talk.say(true, wire::CmMessage::req, request());
    talk.now_ns = 1'000'000'000 + 2'999'999'999;
    EXPECT_TRUE(talk.attempts().empty());
    talk.now_ns += 1;
    EXPECT_EQ(talk.attempts().size(), 1u);
}

TEST(ConnectionMessages, EitherSideMayReject) {
    Talk talk;
    talk.say(true, wire::CmMessage::req, request(1, 0x31));
    EXPECT_EQ(talk.say(false, wire::CmMessage::rej, rejection(0, 1, 28)), nullptr) << "no pair was known";
    talk.say(true, wire::CmMessage::req, request(2, 0x32));
    ASSERT_NE(talk.say(false, wire::CmMessage::rep, reply(9, 2)), nullptr);
    const auto* pairs = talk.say(true, wire::CmMessage::rej, rejection(2, 9, 10));
    ASSERT_NE(pairs, nullptr);
    EXPECT_TRUE(talk.ended());
    talk.say(true, wire::CmMessage::req, request(3, 0x33));
    talk.say(false, wire::CmMessage::rej, rejection(0, 3, 99));
    talk.say(true, wire::CmMessage::req, request(4, 0x34));
    talk.say(true, wire::CmMessage::rej, rejection(4, 0, 4));  // there was no answer before
    const auto attempts = talk.attempts();
    ASSERT_EQ(attempts.size(), 4u);
    EXPECT_EQ(attempts[0].reason, "Consumer Reject");
    EXPECT_EQ(attempts[1].reason, "Stale connection");
    EXPECT_EQ(attempts[2].reason, "reason 99");
    EXPECT_EQ(attempts[3].reason, "Timeout");
    EXPECT_EQ(attempts[0].reject_reason, std::nullopt);
    EXPECT_EQ(attempts[1].reject_reason, metrics::RejectReason::stale_connection);
    EXPECT_EQ(attempts[2].reject_reason, std::nullopt);
    EXPECT_EQ(attempts[3].reject_reason, metrics::RejectReason::timeout);
    EXPECT_FALSE(attempts[0].by_client);
    EXPECT_TRUE(attempts[1].by_client);
    EXPECT_FALSE(attempts[2].by_client);
    EXPECT_TRUE(attempts[3].by_client);
    for (const auto& attempt : attempts) EXPECT_EQ(attempt.outcome, metrics::AttemptOutcome::rejected);
    EXPECT_EQ(talk.set_ups.connections.about(pairs->to_server)->end, "REJ: Stale connection");
    EXPECT_EQ(talk.set_ups.connections.about(pairs->to_server)->end_kind, metrics::EndKind::rejected);
}

TEST(ConnectionMessages, AnMraAsksForPatience) {
    Talk talk;
    talk.say(true, wire::CmMessage::req, request());
    talk.say(true, wire::CmMessage::req, request());
    auto mra = ids<wire::CmMra>(0, 0xa0);
    mra.service_timeout = 18;  // 1.07 s
    talk.say(false, wire::CmMessage::mra, mra);
    talk.now_ns += 1'000'000'000;
    EXPECT_TRUE(talk.attempts().empty());
    talk.now_ns += 100'000'000;
    EXPECT_EQ(talk.attempts().size(), 1u);
}

TEST(ConnectionMessages, NumbersUsedAgainAreAnotherConnection) {
    Talk talk;
    talk.say(true, wire::CmMessage::req, request());
    const std::uint64_t first = talk.say(false, wire::CmMessage::rep, reply())->serial;
    talk.say(true, wire::CmMessage::dreq, ids<wire::CmDreq>(0xa0, 0xb0));
    auto req = request();
    req.starting_psn = 1;
    talk.say(true, wire::CmMessage::req, req);
    const auto* pairs = talk.say(false, wire::CmMessage::rep, reply());
    ASSERT_NE(pairs, nullptr);
    EXPECT_GT(pairs->serial, first);
    const auto* about = talk.set_ups.connections.about(pairs->to_client);
    EXPECT_EQ(about->starting_psn, 1u);
    EXPECT_EQ(about->end, "");
    EXPECT_EQ(about->end_kind, std::nullopt);
    EXPECT_EQ(about->setup_frame, 4u);
}

TEST(ConnectionMessages, ServicesOtherThanRc) {
    const std::pair<std::uint8_t, metrics::Service> services[] = {
        {0, metrics::Service::rc}, {1, metrics::Service::uc}, {2, metrics::Service::rd}, {3, metrics::Service::xrc}};
    for (const auto& [code, service] : services) {
        Talk talk;
        auto req = request();
        req.transport_service = code;
        req.extended_transport = 1;
        talk.say(true, wire::CmMessage::req, req);
        EXPECT_EQ(talk.say(false, wire::CmMessage::rep, reply())->to_server.service, service);
    }
}

TEST(ConnectionMessages, AServiceIsResolvedOrNot) {
    Talk talk;
    wire::CmSidrReq req;
    req.request_id = 7;
    req.service_id = 0x0000'0000'0111'4853;
    wire::CmSidrRep rep;
    rep.request_id = 7;
    talk.say(true, wire::CmMessage::sidr_req, req);
    talk.say(false, wire::CmMessage::sidr_rep, rep);
    EXPECT_TRUE(talk.attempts().empty());
    req.request_id = rep.request_id = 8;
    rep.status = 1;
    talk.say(true, wire::CmMessage::sidr_req, req);
    talk.say(false, wire::CmMessage::sidr_rep, rep);
    const auto attempts = talk.attempts();
    ASSERT_EQ(attempts.size(), 1u);
    EXPECT_EQ(attempts[0].reason, "Service ID not supported");
    EXPECT_EQ(attempts[0].reject_reason, std::nullopt);
    EXPECT_EQ(attempts[0].server.port, 0x4853);
    req.request_id = rep.request_id = 9;
    rep.status = 3;
    talk.say(true, wire::CmMessage::sidr_req, req);
    talk.say(false, wire::CmMessage::sidr_rep, rep);
    EXPECT_EQ(talk.attempts().at(1).reason, "No QP available");
    EXPECT_EQ(talk.attempts().at(1).reject_reason, metrics::RejectReason::no_queue_pair);
}

TEST(ConnectionMessages, TheOldestFinishedAttemptGoesFirst) {
    Talk talk;  // 16 are remembered
    talk.say(true, wire::CmMessage::req, request(1, 1));
    const auto known = *talk.say(false, wire::CmMessage::rep, reply(501, 1, 301));
    for (std::uint32_t id = 2; id <= 40; ++id) {
        talk.say(true, wire::CmMessage::req, request(id, id));
        talk.say(false, wire::CmMessage::rej, rejection(0, id, 8));
    }
    EXPECT_EQ(talk.attempts().size(), 15u);
    EXPECT_EQ(talk.attempts().front().client.qpn, 26u);
    EXPECT_NE(talk.set_ups.connections.about(known.to_server), nullptr) << "it lives";
    const std::size_t octets = talk.set_ups.connections.octets();
    for (std::uint32_t id = 41; id <= 80; ++id) talk.say(true, wire::CmMessage::req, request(id, id));
    EXPECT_LE(talk.set_ups.connections.octets(), octets + 1024);
    EXPECT_EQ(talk.set_ups.connections.about(known.to_server), nullptr);
}

TEST(ConnectionMessages, OnInfiniBandThePrimaryPathNamesTheEnds) {
    for (const bool global : {false, true}) {
        Talk talk;
        const auto say = [&](bool from_client, const Octets& inner) {
            Octets octets;
            wire::Lrh lrh;
            lrh.link_next_header = 2;
            lrh.packet_length = static_cast<std::uint16_t>((8 + inner.size()) / 4);
            lrh.source_lid = from_client ? 4 : 5;
            lrh.destination_lid = from_client ? 5 : 4;
            append(octets, lrh);
            octets.insert(octets.end(), inner.begin(), inner.end());
            octets.resize(octets.size() + 2);  // VCRC
            return talk.feed(octets, wire::LinkType::infiniband);
        };
        auto req = request();
        req.primary_subnet_local = !global;
        req.primary_local_lid = 40;
        req.primary_remote_lid = 50;
        req.primary_local_gid[15] = std::byte{4};
        req.primary_remote_gid[15] = std::byte{5};
        say(true, datagram(wire::CmMessage::req, req));
        const auto* pairs = say(false, datagram(wire::CmMessage::rep, reply()));
        ASSERT_NE(pairs, nullptr);
        EXPECT_EQ(pairs->to_server.transport, wire::Transport::infiniband);
        EXPECT_EQ(metrics::to_text(pairs->to_server.source), global ? "::4" : "lid 40");
        EXPECT_EQ(metrics::to_text(pairs->to_server.destination), global ? "::5" : "lid 50");
        EXPECT_NE(say(true, datagram(wire::CmMessage::dreq, ids<wire::CmDreq>(0xa0, 0xb0))), nullptr);
    }
}

TEST(ConnectionMessages, NoMessageIsTooStrange) {
    std::mt19937 random{5};
    Talk talk;
    for (unsigned i = 0; i < 20000; ++i) {
        wire::CmReq req = request(random() % 8, random() % 4);
        req.transport_service = random() % 4;
        req.remote_response_timeout = random() % 32;
        const std::uint32_t a = random() % 8;
        const std::uint32_t b = random() % 8;
        const bool from_client = random() % 2 == 0;
        talk.now_ns += static_cast<std::int64_t>(random() % 3) * (std::int64_t{1} << random() % 60) *
                       (random() % 2 == 0 ? 1 : -1) % (std::int64_t{1} << 61);
        talk.now_ns %= std::int64_t{1} << 62;
        switch (random() % 6) {
            case 0: talk.say(from_client, wire::CmMessage::req, req); break;
            case 1: talk.say(from_client, wire::CmMessage::rep, reply(a, b, random() % 4)); break;
            case 2: talk.say(from_client, wire::CmMessage::rtu, ids<wire::CmRtu>(a, b)); break;
            case 3: talk.say(from_client, wire::CmMessage::dreq, ids<wire::CmDreq>(a, b)); break;
            case 4: talk.say(from_client, wire::CmMessage::mra, ids<wire::CmMra>(a, b)); break;
            default: talk.say(from_client, wire::CmMessage::rej, rejection(a, b, static_cast<std::uint16_t>(random())));
        }
        EXPECT_LE(talk.attempts().size(), 16u);
    }
    SetUps made{4};
    made.read("made-cm.pcap");
    made.read("made-terminate.pcap");
}

}  // namespace
}  // namespace metrics_test
