/// What single datagrams teach of names. Places of values are those of IBTA vol. 1: 12.6.5 (REQ), 14.2.1 and 14.2.5
/// (subnet management), 15.2.5 (records).
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <vector>

#include "dissect/subnet/learning_sink.h"
#include "wire/mad.h"

namespace {

using dissect::subnet::Gid;
using dissect::subnet::Guid;
using dissect::subnet::Lid;

constexpr Guid node_one = 0x0002c9030000aa00;
constexpr Guid port_one = 0x0002c9030000aa01;
constexpr Guid node_two = 0x0002c9030000bb00;
constexpr Guid port_two = 0x0002c9030000bb01;
constexpr std::size_t head_octets = 8 + 12 + 8;  // LRH, BTH, DETH

/// A datagram in an InfiniBand packet.
struct NativeMad {
    std::vector<std::byte> bytes = std::vector<std::byte>(head_octets + 256 + 6);

    NativeMad(Lid from, Lid to, std::uint8_t management_class, std::uint8_t method, std::uint16_t attribute) {
        const bool is_subnet = management_class == 0x01 || management_class == 0x81;
        bytes[1] = std::byte{2};  // a BTH follows
        base::store_be16(bytes.data() + 2, to);
        base::store_be16(bytes.data() + 4, static_cast<std::uint16_t>((bytes.size() - 2) / 4));
        base::store_be16(bytes.data() + 6, from);
        bytes[8] = std::byte{0x64};  // UD SEND only
        base::store_be32(bytes.data() + 12, is_subnet ? 0 : 1);
        base::store_be32(bytes.data() + 24, is_subnet ? 0 : 1);
        put8(0, 1);
        put8(1, management_class);
        put8(3, method);
        put16(16, attribute);
    }
    NativeMad& put8(std::size_t at, unsigned value) {
        bytes[head_octets + at] = static_cast<std::byte>(value);
        return *this;
    }
    NativeMad& put16(std::size_t at, std::uint16_t value) {
        base::store_be16(bytes.data() + head_octets + at, value);
        return *this;
    }
    NativeMad& put64(std::size_t at, std::uint64_t value) {
        base::store_be64(bytes.data() + head_octets + at, value);
        return *this;
    }
    NativeMad& put_text(std::size_t at, std::string_view text) {
        for (const char c : text) put8(at++, static_cast<unsigned char>(c));
        return *this;
    }
    NativeMad& put_node_info(std::size_t at, unsigned type, Guid node, Guid port) {
        return put8(at + 2, type).put64(at + 12, node).put64(at + 20, port);
    }
};

class Taught : dissect::Sink {
public:
    Taught& add(const NativeMad& datagram) { return add(datagram.bytes, wire::LinkType::infiniband); }
    /// The same datagram in a frame of RoCEv1: a GRH in place of the LRH, and no VCRC. IBTA vol. 1, A16.
    Taught& add_roce(const NativeMad& datagram) {
        constexpr std::size_t ethernet_octets = 14;
        constexpr std::size_t grh_octets = 40;
        constexpr std::size_t lrh_octets = 8;
        const base::Bytes packet = base::Bytes(datagram.bytes).subspan(lrh_octets, datagram.bytes.size() - 10);
        std::vector<std::byte> frame(ethernet_octets + grh_octets);
        base::store_be16(frame.data() + 12, 0x8915);
        frame[ethernet_octets] = std::byte{0x60};  // IP version 6
        base::store_be16(frame.data() + ethernet_octets + 4, static_cast<std::uint16_t>(packet.size()));
        frame[ethernet_octets + 6] = std::byte{0x1b};  // a BTH follows
        frame.insert(frame.end(), packet.begin(), packet.end());
        return add(frame, wire::LinkType::ethernet);
    }
    /// Packets with a management datagram.
    std::size_t datagrams() const { return datagrams_; }
    std::string name(Lid lid) const { return std::string(learner_.names().find(lid).description); }
    std::string name(const Gid& gid) const { return std::string(learner_.names().find(gid).description); }

private:
    Taught& add(base::Bytes bytes, wire::LinkType link_type) {
        wire::Frame frame;
        frame.bytes = bytes;
        frame.wire_length = static_cast<std::uint32_t>(bytes.size());
        frame.link_type = link_type;
        frame.number = ++number_;
        dissector_.dissect(frame, learner_);
        return *this;
    }
    void on_unit(const dissect::Unit& unit) override {
        if (unit.dissection.has(dissect::LayerId::mad)) ++datagrams_;
    }

    std::size_t datagrams_ = 0;
    dissect::Dissector dissector_;
    dissect::subnet::LearningSink learner_{*this};
    std::uint64_t number_ = 0;
};

constexpr std::uint8_t get_response = 0x81;
constexpr unsigned type_adapter = 1;
constexpr unsigned type_switch = 2;

NativeMad directed_answer(std::uint16_t attribute, std::uint8_t port, std::uint32_t asker = 7) {
    NativeMad datagram(0xffff, 0xffff, 0x81, get_response, attribute);
    datagram.put8(4, 0x80).put8(7, 1).put8(128 + 1, port).put64(8, std::uint64_t{asker} << 32 | attribute);
    return datagram;
}
NativeMad node_record(Lid lid, Guid node, Guid port, std::string_view description) {
    NativeMad datagram(1, 8, 0x03, get_response, 0x11);
    return datagram.put16(56, lid).put_node_info(60, type_adapter, node, port).put_text(100, description);
}

TEST(ManagementLearner, directed_answers_in_any_order) {
    Taught capture;
    capture.add(directed_answer(0x15, 3).put16(64 + 16, 4));
    capture.add(directed_answer(0x10, 3).put_text(64, "host01 mlx5_0"));
    EXPECT_EQ(capture.name(Lid{4}), "");
    capture.add(directed_answer(0x11, 3).put_node_info(64, type_adapter, node_one, port_one));
    EXPECT_EQ(capture.name(Lid{4}), "host01 mlx5_0");
    // Another route, and the same route of another subnet manager.
    capture.add(directed_answer(0x11, 5).put_node_info(64, type_adapter, node_two, port_two));
    capture.add(directed_answer(0x10, 5).put_text(64, "host02 mlx5_0"));
    capture.add(directed_answer(0x10, 3, 8).put_text(64, "elsewhere"));
    EXPECT_EQ(capture.name(Lid{4}), "host01 mlx5_0");
    // The subnet manager gives the LID to the other one.
    capture.add(directed_answer(0x15, 5).put16(64 + 16, 4));
    EXPECT_EQ(capture.name(Lid{4}), "host02 mlx5_0");
}

TEST(ManagementLearner, questions_and_failures_teach_nothing) {
    Taught capture;
    capture.add(directed_answer(0x11, 3).put_node_info(64, type_adapter, node_one, port_one));
    capture.add(directed_answer(0x10, 3).put_text(64, "host01"));
    capture.add(directed_answer(0x15, 3).put8(4, 0).put8(3, 0x02).put16(64 + 16, 9));  // Set
    capture.add(directed_answer(0x15, 3).put8(5, 0x1c).put16(64 + 16, 9));             // a value is not valid
    EXPECT_EQ(capture.name(Lid{9}), "");
}

TEST(ManagementLearner, port_0_of_a_switch_has_the_lid) {
    Taught capture;
    capture.add(directed_answer(0x11, 3).put_node_info(64, type_switch, node_one, port_one));
    capture.add(directed_answer(0x10, 3).put_text(64, "spine 4"));
    capture.add(directed_answer(0x15, 3).put8(23, 6).put16(64 + 16, 9));  // the modifier: port 6
    EXPECT_EQ(capture.name(Lid{9}), "");
    capture.add(directed_answer(0x15, 3).put16(64 + 16, 9));
    EXPECT_EQ(capture.name(Lid{9}), "spine 4");
}

TEST(ManagementLearner, answers_by_lid) {
    Taught capture;
    capture.add(NativeMad(4, 1, 0x01, get_response, 0x10).put_text(64, "host01"));
    EXPECT_EQ(capture.name(Lid{4}), "host01");
    capture.add(NativeMad(4, 1, 0x01, get_response, 0x11).put_node_info(64, type_adapter, node_one, port_one));
    capture.add(NativeMad(4, 1, 0x01, get_response, 0x15).put16(64 + 16, 4).put8(64 + 34, 1));  // LMC 1
    EXPECT_EQ(capture.name(Lid{5}), "host01");
    EXPECT_EQ(capture.name(Lid{1}), "");
}

TEST(ManagementLearner, roce_teaches_nothing) {
    Taught capture;
    capture.add_roce(node_record(4, node_one, port_one, "elsewhere"));
    capture.add_roce(directed_answer(0x11, 3).put_node_info(64, type_adapter, node_two, port_two));
    capture.add_roce(directed_answer(0x10, 3).put_text(64, "elsewhere"));
    capture.add_roce(directed_answer(0x15, 3).put16(64 + 16, 5));
    EXPECT_EQ(capture.datagrams(), 4);
    EXPECT_EQ(capture.name(Lid{4}), "");
    EXPECT_EQ(capture.name(Lid{5}), "");
}

TEST(ManagementLearner, records_paths_and_connections) {
    const Gid gid{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0xbb, 0x01};
    Taught capture;
    capture.add(node_record(4, node_one, port_one, "host01"));
    EXPECT_EQ(capture.name(Lid{4}), "host01");
    // PathRecord: the second node is known by its GID alone.
    NativeMad path(1, 8, 0x03, get_response, 0x35);
    path.put64(56 + 8, 0xfe80000000000000).put64(56 + 16, port_two).put64(56 + 24, 0xfe80000000000000);
    path.put64(56 + 32, port_one).put16(56 + 40, 12).put16(56 + 42, 4);
    capture.add(path);
    EXPECT_EQ(capture.name(Lid{12}), "");
    capture.add(node_record(13, node_two, port_two, "host02"));
    EXPECT_EQ(capture.name(Lid{12}), "host02");
    EXPECT_EQ(capture.name(gid), "host02");
    // REQ of the first node, which has another LID by now.
    NativeMad request(20, 12, 0x07, 0x03, 0x10);
    request.put64(24 + 16, node_one).put16(24 + 52, 20).put16(24 + 54, 12).put8(24 + 94, 0x08);
    request.put64(24 + 56, 0xfe80000000000000).put64(24 + 64, port_one);
    request.put64(24 + 72, 0xfe80000000000000).put64(24 + 80, port_two);
    capture.add(request);
    EXPECT_EQ(capture.name(Lid{20}), "host01");
    EXPECT_EQ(capture.name(Lid{12}), "host02");
}

}  // namespace
