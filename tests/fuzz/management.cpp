/// Fuzz target `management`: datagrams of subnet managers and their clients, whose tables come in segments, and the
/// names that are learnt from them. A record is two octets, the LIDs of both ends, a length of two octets, and the
/// datagram's first octets of that number.
#include <algorithm>
#include <array>
#include <vector>

#include "dissect/joined_records.h"
#include "dissect/rmpp_transfers.h"
#include "dissect/subnet/management_learner.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"
#include "wire/mad.h"

namespace {

constexpr std::size_t lrh_octets = 8;
constexpr std::size_t head_octets = lrh_octets + 12 + 8;  // and BTH, DETH
constexpr std::size_t crc_octets = 6;                     // ICRC, VCRC

/// Takes what the dissector finds, and checks what must be true of every segment.
class Checker final : public dissect::Sink {
public:
    void on_unit(const dissect::Unit& unit) override {
        checking_.on_unit(unit);
        learner_.learn(unit);
        if (unit.rmpp != nullptr) look(*unit.rmpp);
        dissect::visit_joined_records(unit, [this](const dissect::Dissection& record, base::Bytes bytes) {
            fuzz::check(record, bytes.size());
            examiner_.begin(bytes.size());
            dissect::describe(record, bytes, examiner_);
            examiner_.end();
        });
    }
    void on_frame(const wire::Frame& frame, const dissect::Dissection& dissection) override {
        checking_.on_frame(frame, dissection);
    }

    void look_up() const {
        constexpr std::size_t longest = 64 * 4;  // each byte escaped
        for (unsigned lid = 0; lid < 256; ++lid) {
            const auto node = learner_.names().find(static_cast<dissect::subnet::Lid>(lid));
            if (node.description.size() > longest) fuzz::violated("a description has 64 bytes at most");
            for (const char c : node.description)
                if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) fuzz::violated("a description is printable");
        }
        if (learner_.octets() > std::size_t{1} << 20) fuzz::violated("a short input teaches little");
    }

private:
    static void look(const dissect::RmppSegment& segment) {
        if (segment.number == 0) fuzz::violated("segments are counted from 1");
        std::size_t octets = 0;
        if (segment.held != nullptr)
            for (const auto& [number, data] : *segment.held) octets += data.size();
        if (octets > std::size_t{4} << 20) fuzz::violated("a transfer is bounded");
        if (segment.missing >= segment.number && segment.is_last) fuzz::violated("the last segment itself has come");
        for (const dissect::JoinedRecord& record : dissect::joined_records(segment, 112))
            if (record.octets.size() != 112) fuzz::violated("a joined record is whole");
    }

    fuzz::CheckingSink checking_{true};
    fuzz::Examiner examiner_ = {};
    dissect::subnet::ManagementLearner learner_ = {};
};

/// An InfiniBand packet to queue pair 0 or 1, as the class says, with a datagram of the usual length.
std::vector<std::byte> packet(unsigned from, unsigned to, base::Bytes datagram) {
    std::vector<std::byte> bytes(head_octets + wire::mad_octets + crc_octets);
    std::copy_n(datagram.begin(), std::min<std::size_t>(datagram.size(), wire::mad_octets),
                bytes.begin() + head_octets);
    const auto management_class = std::to_integer<unsigned>(bytes[head_octets + 1]);
    const bool is_subnet =
        management_class == wire::subnet_management || management_class == wire::directed_subnet_management;
    const unsigned queue_pair = is_subnet ? 0 : 1;
    bytes[1] = std::byte{2};  // next header: BTH
    base::store_be16(bytes.data() + 2, static_cast<std::uint16_t>(to));
    base::store_be16(bytes.data() + 4, static_cast<std::uint16_t>((bytes.size() - 2) / 4));
    base::store_be16(bytes.data() + 6, static_cast<std::uint16_t>(from));
    bytes[lrh_octets] = std::byte{0x64};  // UD SEND only
    base::store_be32(bytes.data() + lrh_octets + 4, queue_pair);
    base::store_be32(bytes.data() + lrh_octets + 16, queue_pair);
    return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    dissect::Dissector dissector(fuzz::small_bounds());
    Checker checker;
    std::uint64_t number = 0;
    std::size_t at = 0;
    while (at + 4 <= size) {
        const std::size_t length = std::min(std::size_t{data[at + 2]} | std::size_t{data[at + 3]} << 8, size - at - 4);
        const std::vector<std::byte> bytes =
            packet(data[at], data[at + 1], std::as_bytes(std::span(data + at + 4, length)));
        wire::Frame frame;
        frame.bytes = bytes;
        frame.wire_length = static_cast<std::uint32_t>(bytes.size());
        frame.link_type = wire::LinkType::infiniband;
        frame.number = ++number;
        dissector.dissect(frame, checker);
        at += 4 + length;
    }
    dissector.finish(checker);
    checker.look_up();
    return 0;
}
