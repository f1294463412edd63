#include "iwarp/mpa/handshake.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace {

using namespace mpa_test;
using iwarp::ConnectionOptions;
using iwarp::mpa::Handshake;
using iwarp::mpa::ReadyMessage;
using State = Handshake::State;
using testing::HasSubstr;

const char* const request_key = "4d504120494420526571204672616d65";
const char* const reply_key = "4d504120494420526570204672616d65";

Octets request(std::string_view rest) { return joined({octets(request_key), octets(rest)}); }
Octets reply(std::string_view rest) { return joined({octets(reply_key), octets(rest)}); }
Octets output(const Handshake& handshake) { return {handshake.output().begin(), handshake.output().end()}; }

ConnectionOptions plain() {
    ConnectionOptions options;
    options.revision = 1;
    return options;
}
ConnectionOptions depths(std::uint16_t ird, std::uint16_t ord) {
    ConnectionOptions options;
    options.ird = ird;
    options.ord = ord;
    return options;
}
ConnectionOptions peer_to_peer(std::uint16_t ird = 128, std::uint16_t ord = 128) {
    ConnectionOptions options = depths(ird, ord);
    options.peer_to_peer = true;
    return options;
}
ConnectionOptions with_private_data(ConnectionOptions options, std::size_t length) {
    options.private_data.assign(length, std::byte{0x70});
    return options;
}

Handshake initiator_with(const ConnectionOptions& options, const Octets& answer) {
    Handshake handshake = Handshake::initiator(options);
    handshake.sent(handshake.output().size());
    handshake.receive(answer);
    return handshake;
}
Handshake responder_with(const ConnectionOptions& options, const Octets& asked) {
    Handshake handshake = Handshake::responder(options);
    handshake.receive(asked);
    return handshake;
}

// RFC 5044 section 7.1.1.
TEST(Initiator, request_of_revision_1) {
    ConnectionOptions options = plain();
    EXPECT_EQ(output(Handshake::initiator(options)), request("40010000"));
    options.crc = false;
    EXPECT_EQ(output(Handshake::initiator(options)), request("00010000"));
    options.markers = true;
    options.peer_to_peer = true;  // revision 1 knows of none
    options.private_data = octets("0a0b0c");
    EXPECT_EQ(output(Handshake::initiator(options)), request("80010003 0a0b0c"));
}

// RFC 6581 sections 6 and 9: A B IRD C D ORD.
TEST(Initiator, request_of_revision_2) {
    EXPECT_EQ(output(Handshake::initiator(depths(1, 2))), request("50020004 00010002"));
    EXPECT_EQ(output(Handshake::initiator(peer_to_peer(1, 2))), request("50020004 c001c002"));
    // A Read as ready-to-receive message takes one of the outstanding reads.
    EXPECT_EQ(output(Handshake::initiator(peer_to_peer(1, 0))), request("50020004 c0018000"));
    EXPECT_EQ(output(Handshake::initiator(depths(0x3fff, 0x3fff))), request("50020004 3fff3fff"));
    ConnectionOptions options = depths(5, 6);
    options.private_data = octets("aabb");
    options.crc = false;
    options.markers = true;
    EXPECT_EQ(output(Handshake::initiator(options)), request("90020006 00050006 aabb"));
}

TEST(Initiator, output_stays_until_it_was_sent) {
    Handshake handshake = Handshake::initiator(depths(1, 2));
    const Octets whole = output(handshake);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        EXPECT_EQ(output(handshake), Octets(whole.begin() + static_cast<std::ptrdiff_t>(i), whole.end()));
        handshake.sent(1);
    }
    EXPECT_TRUE(handshake.output().empty());
    EXPECT_EQ(handshake.state(), State::exchanging);
}

TEST(Initiator, private_data_has_room_for_512_or_508_octets) {
    EXPECT_EQ(Handshake::initiator(with_private_data(plain(), 512)).output().size(), 20u + 512);
    EXPECT_EQ(Handshake::initiator(with_private_data(plain(), 513)).state(), State::failed);
    EXPECT_EQ(Handshake::initiator(with_private_data({}, 508)).output().size(), 20u + 512);
    const Handshake handshake = Handshake::initiator(with_private_data({}, 509));
    EXPECT_EQ(handshake.state(), State::failed);
    EXPECT_TRUE(handshake.output().empty());
    EXPECT_THAT(handshake.failure(), HasSubstr("509"));
}

TEST(Initiator, options_out_of_their_ranges) {
    ConnectionOptions options;
    options.revision = 3;
    EXPECT_EQ(Handshake::initiator(options).state(), State::failed);
    options.revision = 0;
    EXPECT_EQ(Handshake::responder(options).state(), State::failed);
    EXPECT_EQ(Handshake::initiator(depths(0x4000, 1)).state(), State::failed);
    EXPECT_EQ(Handshake::initiator(depths(1, 0x4000)).state(), State::failed);
}

TEST(Initiator, plain_reply) {
    const Handshake handshake = initiator_with(plain(), reply("40010002 0102"));
    EXPECT_EQ(handshake.state(), State::agreed);
    EXPECT_EQ(hex(handshake.private_data()), "0102");
    EXPECT_FALSE(handshake.peer_parameters());
    EXPECT_EQ(handshake.terms().revision, 1);
    EXPECT_FALSE(handshake.terms().enhanced);
    EXPECT_TRUE(handshake.terms().crc);
    EXPECT_EQ(handshake.terms().ird, 128);
    EXPECT_EQ(handshake.terms().ord, 128);
    EXPECT_EQ(handshake.terms().ready, ReadyMessage::none);
}

// One frame with C turns CRCs on; M is for the frame's sender alone. RFC 5044 section 7.1.1.
TEST(Both, crcs_and_markers) {
    for (unsigned bits = 0; bits < 16; ++bits) {
        ConnectionOptions one = plain();
        ConnectionOptions other = plain();
        one.crc = (bits & 1) != 0;
        other.crc = (bits & 2) != 0;
        one.markers = (bits & 4) != 0;
        other.markers = (bits & 8) != 0;
        Handshake initiator = Handshake::initiator(one);
        Handshake responder = Handshake::responder(other);
        responder.receive(initiator.output());
        responder.accept(other);
        initiator.receive(responder.output());
        ASSERT_EQ(initiator.state(), State::agreed);
        ASSERT_EQ(responder.state(), State::agreed);
        EXPECT_EQ(initiator.terms().crc, (bits & 3) != 0);
        EXPECT_EQ(responder.terms().crc, (bits & 3) != 0);
        EXPECT_EQ(initiator.terms().markers_sent, other.markers);
        EXPECT_EQ(initiator.terms().markers_received, one.markers);
        EXPECT_EQ(responder.terms().markers_sent, one.markers);
        EXPECT_EQ(responder.terms().markers_received, other.markers);
        // M of the Reply is the responder's own wish; C is also set where the Request had it: siw insists.
        EXPECT_EQ(std::to_integer<unsigned>(responder.output()[16]),
                  (other.markers ? 0x80u : 0u) | ((bits & 3) != 0 ? 0x40u : 0u));
    }
}

// RFC 6581 section 9.1: ORD at most the responder's IRD; IRD at least its ORD.
TEST(Initiator, depths_of_the_reply) {
    {
        const Handshake handshake = initiator_with(depths(8, 16), reply("50020004 00040008"));
        EXPECT_EQ(handshake.state(), State::agreed);
        EXPECT_EQ(handshake.terms().ord, 4);
        EXPECT_EQ(handshake.terms().ird, 8);
        EXPECT_TRUE(handshake.terms().enhanced);
        EXPECT_EQ(handshake.terms().revision, 2);
        EXPECT_EQ(handshake.peer_parameters()->ird, 4);
        EXPECT_EQ(handshake.peer_parameters()->ord, 8);
    }
    {
        // More than was asked for stays unused.
        const Handshake handshake = initiator_with(depths(8, 16), reply("50020004 00400001"));
        EXPECT_EQ(handshake.terms().ord, 16);
        EXPECT_EQ(handshake.terms().ird, 8);
    }
    {
        const Handshake handshake = initiator_with(depths(8, 16), reply("50020004 00100009"));
        EXPECT_EQ(handshake.state(), State::failed);
        EXPECT_EQ(handshake.failure_fault(), iwarp::fault::insufficient_ird);
        EXPECT_THAT(handshake.failure(), HasSubstr("9"));
        EXPECT_TRUE(handshake.terms().crc);  // what the Terminate needs
    }
    {
        const Handshake handshake = initiator_with(depths(0, 0), reply("50020004 00000000"));
        EXPECT_EQ(handshake.state(), State::agreed);
        EXPECT_EQ(handshake.terms().ord, 0);
    }
}

TEST(Initiator, all_ones_leave_the_local_depths) {
    {
        const Handshake handshake = initiator_with(depths(8, 16), reply("50020004 3fff3fff"));
        EXPECT_EQ(handshake.state(), State::agreed);
        EXPECT_EQ(handshake.terms().ird, 8);
        EXPECT_EQ(handshake.terms().ord, 16);
    }
    {
        const Handshake handshake = initiator_with(depths(0x3fff, 0x3fff), reply("50020004 00050006"));
        EXPECT_EQ(handshake.state(), State::agreed);
        EXPECT_EQ(handshake.terms().ird, 0x3fff);
        EXPECT_EQ(handshake.terms().ord, 5);
    }
}

// RFC 6581 section 9.2, of what both name, in the order Write, Read, Send.
TEST(Initiator, ready_message_of_the_reply) {
    const auto chosen = [](const char* parameters) {
        return initiator_with(peer_to_peer(), reply(std::string("50020004 ") + parameters)).terms().ready;
    };
    EXPECT_EQ(chosen("c001c001"), ReadyMessage::write);
    EXPECT_EQ(chosen("80018001"), ReadyMessage::write);
    EXPECT_EQ(chosen("80014001"), ReadyMessage::read);
    EXPECT_EQ(chosen("c0014001"), ReadyMessage::read);
    EXPECT_EQ(chosen("c0010001"), ReadyMessage::send);
}

TEST(Initiator, no_ready_message_in_common) {
    for (const char* parameters : {
             "80010001",  // none at all
             "0001c001",  // A is 0: what else is said does not count
             "80004001",  // a Read, but no outstanding reads
         }) {
        const Handshake handshake = initiator_with(peer_to_peer(), reply(std::string("50020004 ") + parameters));
        EXPECT_EQ(handshake.state(), State::failed) << parameters;
        EXPECT_EQ(handshake.failure_fault(), iwarp::fault::no_ready_message) << parameters;
    }
    // It did not offer a Read itself.
    const Handshake handshake = initiator_with(peer_to_peer(8, 0), reply("50020004 80014001"));
    EXPECT_EQ(handshake.failure_fault(), iwarp::fault::no_ready_message);
}

TEST(Initiator, no_ready_message_where_none_was_wanted) {
    const Handshake handshake = initiator_with(depths(8, 8), reply("50020004 c008c008"));
    EXPECT_EQ(handshake.state(), State::agreed);
    EXPECT_EQ(handshake.terms().ready, ReadyMessage::none);
}

TEST(Initiator, rejected) {
    {
        const Handshake handshake = initiator_with(plain(), reply("20010002 6e6f"));
        EXPECT_EQ(handshake.state(), State::rejected);
        EXPECT_EQ(hex(handshake.private_data()), "6e6f");
    }
    {
        // RFC 6581 section 9.1: the depths that would have been needed.
        const Handshake handshake = initiator_with(depths(8, 8), reply("70020006 00080020 6e6f"));
        EXPECT_EQ(handshake.state(), State::rejected);
        EXPECT_EQ(hex(handshake.private_data()), "6e6f");
        EXPECT_EQ(handshake.peer_parameters()->ord, 32);
        EXPECT_EQ(handshake.failure_fault(), std::nullopt);
    }
    // A rejection may be of a responder that knows less.
    EXPECT_EQ(initiator_with(depths(8, 8), reply("20010000")).state(), State::rejected);
    EXPECT_EQ(initiator_with(depths(8, 8), reply("30020000")).state(), State::rejected);
    Handshake handshake = initiator_with(plain(), reply("20010000"));
    handshake.fail("closed");
    EXPECT_EQ(handshake.state(), State::rejected);
}

// RFC 5044 section 7.1.2(3): close TCP. No Terminate.
TEST(Initiator, wrong_replies) {
    const auto expect_failure = [](const ConnectionOptions& options, const Octets& answer, const char* why) {
        const Handshake handshake = initiator_with(options, answer);
        EXPECT_EQ(handshake.state(), State::failed) << why;
        EXPECT_EQ(handshake.failure_fault(), std::nullopt);
        EXPECT_THAT(handshake.failure(), HasSubstr(why));
    };
    expect_failure(plain(), request("40010000"), "both sides initiate");
    expect_failure(plain(), octets("485454502f312e31"), "no MPA Reply");
    expect_failure(plain(), reply("40030000"), "revision 3");
    expect_failure(plain(), reply("40000000"), "revision 0");
    expect_failure(plain(), reply("40020000"), "revision 2");
    expect_failure({}, reply("50030004 00010001"), "revision 3");
    expect_failure(plain(), reply("40010201"), "513");
    expect_failure(plain(), reply("4001ffff"), "65535");
    expect_failure({}, reply("40020004 00010001"), "plain");
    expect_failure({}, reply("40010000"), "plain");
    expect_failure({}, reply("50020003 000100"), "room");
    expect_failure({}, reply("50020000"), "room");
    // In revision 1 S is one of the reserved bits, which are not checked.
    EXPECT_EQ(initiator_with(plain(), reply("5f010000")).state(), State::agreed);
}

// RFC 5044 section 7.1.2, RFC 6581 section 10.
TEST(Responder, plain_request_gets_a_plain_reply) {
    for (const char* bits : {"40010002 0102", "60010002 0102", "57010002 0102"}) {
        ConnectionOptions options = depths(3, 4);
        Handshake handshake = responder_with(options, request(bits));
        EXPECT_EQ(handshake.state(), State::requested);
        EXPECT_EQ(hex(handshake.private_data()), "0102");
        EXPECT_FALSE(handshake.peer_parameters());
        EXPECT_TRUE(handshake.output().empty());
        options.private_data = octets("99");
        handshake.accept(options);
        EXPECT_EQ(handshake.state(), State::agreed);
        EXPECT_EQ(output(handshake), reply("40010001 99"));
        EXPECT_FALSE(handshake.terms().enhanced);
        EXPECT_EQ(handshake.terms().ird, 3);
        EXPECT_EQ(handshake.terms().ord, 4);
    }
}

TEST(Responder, revision_2_without_s_is_plain) {
    Handshake handshake = responder_with({}, request("40020002 0102"));
    handshake.accept({});
    EXPECT_EQ(output(handshake), reply("40020000"));
    Handshake limited = responder_with(plain(), request("40020002 0102"));
    limited.accept(plain());
    EXPECT_EQ(output(limited), reply("40010000"));
}

// RFC 6581 section 10, the third case: an unenhanced responder closes.
TEST(Responder, of_revision_1_closes_on_an_enhanced_request) {
    const Handshake handshake = responder_with(plain(), request("50020004 00010001"));
    EXPECT_EQ(handshake.state(), State::failed);
    EXPECT_THAT(handshake.failure(), HasSubstr("enhanced"));
    EXPECT_TRUE(handshake.output().empty());
}

TEST(Responder, enhanced_request_gets_an_enhanced_reply) {
    ConnectionOptions options = depths(8, 16);
    Handshake handshake = responder_with(options, request("50020006 00040005 0102"));
    ASSERT_EQ(handshake.state(), State::requested);
    EXPECT_EQ(hex(handshake.private_data()), "0102");
    EXPECT_EQ(handshake.peer_parameters()->ird, 4);
    EXPECT_EQ(handshake.peer_parameters()->ord, 5);
    EXPECT_FALSE(handshake.peer_parameters()->peer_to_peer);
    options.private_data = octets("99");
    handshake.accept(options);
    // IRD: the 5 asked for; ORD: no more than the initiator serves.
    EXPECT_EQ(output(handshake), reply("50020005 00050004 99"));
    EXPECT_EQ(handshake.terms().ird, 5);
    EXPECT_EQ(handshake.terms().ord, 4);
}

TEST(Responder, depths) {
    const auto answered = [](std::uint16_t ird, std::uint16_t ord, const char* asked) {
        Handshake handshake = responder_with({}, request(std::string("50020004 ") + asked));
        handshake.accept(depths(ird, ord));
        return hex(handshake.output().subspan(20)) + " " + std::to_string(handshake.terms().ird) + " " +
               std::to_string(handshake.terms().ord);
    };
    EXPECT_EQ(answered(8, 16, "00200020"), "00080010 8 16");  // the initiator will limit itself
    EXPECT_EQ(answered(0, 0, "00200020"), "00000000 0 0");
    EXPECT_EQ(answered(8, 16, "00000000"), "00000000 0 0");
    // All ones: the local values stay, and all ones are answered.
    EXPECT_EQ(answered(8, 16, "3fff3fff"), "3fff3fff 8 16");
    EXPECT_EQ(answered(8, 16, "3fff0002"), "00023fff 2 16");
    EXPECT_EQ(answered(8, 16, "00023fff"), "3fff0002 8 2");
    EXPECT_EQ(answered(0x3fff, 0x3fff, "00020003"), "00030002 3 2");
}

TEST(Responder, ready_message) {
    const auto answered = [](const char* asked, std::uint16_t ird = 8) {
        Handshake handshake = responder_with({}, request(std::string("50020004 ") + asked));
        EXPECT_TRUE(handshake.peer_parameters()->peer_to_peer);
        handshake.accept(depths(ird, 8));
        return hex(handshake.output().subspan(20)) + " " + iwarp::mpa::name_of(handshake.terms().ready);
    };
    EXPECT_EQ(answered("c008c008"), "80088008 Write");
    EXPECT_EQ(answered("80088008"), "80088008 Write");
    EXPECT_EQ(answered("80084008"), "80084008 Read");
    EXPECT_EQ(answered("c0084008"), "80084008 Read");
    EXPECT_EQ(answered("c0080008"), "c0080008 Send");
    // Section 9.1: for a Read as ready-to-receive message IRD may be raised to 1.
    EXPECT_EQ(answered("80084000"), "80014008 Read");
    EXPECT_EQ(answered("c0084008", 0), "c0000008 Send");
    // Section 9.2: with nothing in common one is named all the same.
    EXPECT_EQ(answered("80080008"), "80088008 Write");
    EXPECT_EQ(answered("80084008", 0), "80008008 Write");
    // A is 0: the others are ignored.
    Handshake handshake = responder_with({}, request("50020004 4008c008"));
    handshake.accept(depths(8, 8));
    EXPECT_EQ(hex(handshake.output().subspan(20)), "00080008");
    EXPECT_EQ(handshake.terms().ready, ReadyMessage::none);
}

TEST(Responder, rejects) {
    Handshake plain_one = responder_with({}, request("40010000"));
    plain_one.reject(octets("6e6f"));
    EXPECT_EQ(plain_one.state(), State::rejected);
    EXPECT_EQ(output(plain_one), reply("60010002 6e6f"));
    Handshake enhanced = responder_with(depths(3, 4), request("50020004 00200020"));
    enhanced.reject({});
    EXPECT_EQ(enhanced.state(), State::rejected);
    EXPECT_EQ(output(enhanced), reply("70020004 00030004"));
    enhanced.sent(24);
    EXPECT_EQ(enhanced.receive(octets("00")), 0u);
    EXPECT_EQ(enhanced.state(), State::rejected);
}

TEST(Responder, private_data_has_room_for_512_or_508_octets) {
    for (const auto& [asked, most] :
         {std::pair{"40010000", std::size_t{512}}, {"50020004 00010001", std::size_t{508}}}) {
        Handshake handshake = responder_with({}, request(asked));
        handshake.accept(with_private_data({}, most));
        EXPECT_EQ(handshake.output().size(), 20u + 512);
        Handshake too_much = responder_with({}, request(asked));
        too_much.accept(with_private_data({}, most + 1));
        EXPECT_EQ(too_much.state(), State::failed);
        EXPECT_TRUE(too_much.output().empty());
        Handshake rejecting = responder_with({}, request(asked));
        rejecting.reject(Octets(most));
        EXPECT_EQ(rejecting.output().size(), 20u + 512);
    }
    const Handshake handshake = responder_with({}, joined({request("40010200"), Octets(512, std::byte{5})}));
    EXPECT_EQ(handshake.state(), State::requested);
    EXPECT_EQ(handshake.private_data().size(), 512u);
}

TEST(Responder, wrong_requests) {
    const auto expect_failure = [](const Octets& asked, const char* why) {
        Handshake handshake = responder_with({}, asked);
        EXPECT_EQ(handshake.state(), State::failed) << why;
        EXPECT_EQ(handshake.failure_fault(), std::nullopt);
        EXPECT_THAT(handshake.failure(), HasSubstr(why));
        handshake.accept({});
        EXPECT_TRUE(handshake.output().empty());
        EXPECT_EQ(handshake.state(), State::failed);
    };
    expect_failure(reply("40010000"), "both sides respond");
    expect_failure(octets("474554202f"), "no MPA Request");
    expect_failure(octets("00"), "no MPA Request");
    expect_failure(request("40000000"), "revision 0");
    expect_failure(request("50030004 00010001"), "revision 3");
    expect_failure(request("40010201"), "513");
    expect_failure(request("50020003 000000"), "room");
    expect_failure(request("50020000"), "room");
    // Every octet of the key counts, and the first wrong one is enough.
    const Octets right = request("40010000");
    for (std::size_t i = 0; i < 16; ++i) {
        Octets wrong(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        wrong[i] ^= std::byte{0x20};
        expect_failure(wrong, "Re");
    }
}

TEST(Responder, octets_before_the_reply) {
    // In one piece with the Request: not taken, and the violation is found with them.
    Handshake handshake = Handshake::responder({});
    const Octets both = joined({request("40010001 07"), octets("0010c140")});
    EXPECT_EQ(handshake.receive(both), 21u);
    EXPECT_EQ(handshake.state(), State::requested);
    EXPECT_EQ(handshake.receive(base::Bytes{both}.subspan(21)), 0u);
    EXPECT_EQ(handshake.state(), State::failed);

    // Neither may they come before the Reply has left.
    Handshake answered = responder_with({}, request("40010000"));
    answered.accept({});
    answered.sent(19);
    EXPECT_EQ(answered.receive(octets("00")), 0u);
    EXPECT_EQ(answered.state(), State::failed);
    EXPECT_TRUE(answered.output().empty());

    Handshake sent = responder_with({}, request("40010000"));
    sent.accept({});
    sent.sent(20);
    EXPECT_EQ(sent.receive(octets("00")), 0u);
    EXPECT_EQ(sent.state(), State::agreed);
}

TEST(Both, frames_cut_at_every_pair_of_octets) {
    const Octets asked = request("50020007 00040005 010203");
    const Octets answer = reply("50020007 00040005 010203");
    const Octets more = octets("aabbcc");
    for (std::size_t first = 0; first <= asked.size(); ++first) {
        for (std::size_t second = first; second <= asked.size() + more.size(); ++second) {
            Handshake sides[] = {Handshake::responder({}), Handshake::initiator({})};
            for (Handshake& side : sides) {
                const Octets all = joined({&side == &sides[0] ? asked : answer, more});
                const base::Bytes bytes = all;
                std::size_t taken = side.receive(bytes.first(first));
                EXPECT_EQ(taken, first);
                if (first < asked.size()) {
                    EXPECT_EQ(side.state(), State::exchanging);
                    taken += side.receive(bytes.subspan(first, second - first));
                }
                if (taken < asked.size()) taken += side.receive(bytes.subspan(taken));
                ASSERT_EQ(taken, asked.size()) << first << ' ' << second;
                ASSERT_EQ(side.state(), &side == &sides[0] ? State::requested : State::agreed);
                ASSERT_EQ(hex(side.private_data()), "010203");
            }
        }
    }
}

// Linux siw's bit 0x0800, and its frames with and without private data.
TEST(Both, details_of_siw) {
    const Handshake asked = responder_with({}, request("58020004 00800080"));
    EXPECT_EQ(asked.state(), State::requested);
    EXPECT_TRUE(asked.terms().segments_beyond_limit);
    EXPECT_FALSE(responder_with({}, request("50020004 00800080")).terms().segments_beyond_limit);
    EXPECT_TRUE(initiator_with({}, reply("58020004 00800080")).terms().segments_beyond_limit);
    // Frames of captures: peer-to-peer offers Write and Read; a rejection clears C.
    EXPECT_EQ(responder_with({}, request("50020004 8001c001")).peer_parameters()->send, false);
    EXPECT_EQ(initiator_with(depths(1, 1), reply("30020004 00000000")).state(), State::rejected);
    // Reserved bits are never sent by this side.
    EXPECT_EQ(std::to_integer<unsigned>(Handshake::initiator({}).output()[16]) & 0x0f, 0u);
}

TEST(Both, closed_or_out_of_time) {
    for (Handshake side :
         {Handshake::initiator({}), Handshake::responder({}), responder_with({}, request("40010000"))}) {
        side.fail("the peer closed");
        EXPECT_EQ(side.state(), State::failed);
        EXPECT_EQ(side.failure(), "the peer closed");
        EXPECT_TRUE(side.output().empty());
        side.fail("later");
        EXPECT_EQ(side.failure(), "the peer closed");
        EXPECT_EQ(side.receive(octets("4d")), 0u);
    }
}

TEST(Both, every_combination_agrees_or_says_why) {
    for (const std::uint8_t asked : {std::uint8_t{1}, std::uint8_t{2}}) {
        for (const std::uint8_t at_most : {std::uint8_t{1}, std::uint8_t{2}}) {
            for (const bool p2p : {false, true}) {
                for (const std::uint16_t depth : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{0x3fff}}) {
                    ConnectionOptions one = depths(depth, depth);
                    one.revision = asked;
                    one.peer_to_peer = p2p;
                    ConnectionOptions other = depths(4, 4);
                    other.revision = at_most;
                    Handshake initiator = Handshake::initiator(one);
                    Handshake responder = responder_with(other, output(initiator));
                    if (asked > at_most) {
                        EXPECT_EQ(responder.state(), State::failed);
                        continue;
                    }
                    responder.accept(other);
                    initiator.receive(responder.output());
                    ASSERT_EQ(initiator.state(), State::agreed) << initiator.failure();
                    EXPECT_EQ(initiator.terms().ready, responder.terms().ready);
                    EXPECT_EQ(initiator.terms().ready, p2p && asked == 2 ? ReadyMessage::write : ReadyMessage::none);
                    EXPECT_EQ(initiator.terms().enhanced, responder.terms().enhanced);
                    if (asked == 2 && depth != 0x3fff) {
                        EXPECT_LE(initiator.terms().ord, responder.terms().ird);
                        EXPECT_LE(responder.terms().ord, initiator.terms().ird);
                    }
                }
            }
        }
    }
}

TEST(Both, random_octets_do_no_harm) {
    std::mt19937 random{21};
    for (unsigned round = 0; round < 20000; ++round) {
        const bool initiates = random() % 2 == 0;
        Octets frame = initiates ? reply("50020008 00040005 01020304") : request("50020008 00040005 01020304");
        for (unsigned i = 0; i < 1 + random() % 3; ++i)
            frame[16 + random() % (frame.size() - 16)] = static_cast<std::byte>(random() & 0xff);
        Handshake side = initiates ? Handshake::initiator(peer_to_peer()) : Handshake::responder({});
        std::size_t taken = 0;
        while (taken < frame.size() && side.state() == State::exchanging)
            taken += side.receive(
                base::Bytes{frame}.subspan(taken, std::min<std::size_t>(frame.size() - taken, 1 + random() % 9)));
        if (side.state() == State::requested) side.accept(depths(static_cast<std::uint16_t>(random() & 0x3fff), 7));
        if (side.state() == State::failed) {
            ASSERT_FALSE(side.failure().empty());
        }
        ASSERT_LE(side.private_data().size(), 512u);
    }
}

}  // namespace
