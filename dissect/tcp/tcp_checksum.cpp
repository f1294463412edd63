#include "dissect/tcp/tcp_checksum.h"

#include <cstring>

namespace dissect::tcp {

namespace {

/// One's complement sum in the machine's own byte order: it may be swapped at the end as well. RFC 1071.
std::uint64_t sum_of(base::Bytes bytes) {
    std::uint64_t sum = 0;
    const std::byte* p = bytes.data();
    std::size_t left = bytes.size();
    while (left >= 4) {
        std::uint32_t word = 0;
        std::memcpy(&word, p, 4);
        sum += word;
        p += 4;
        left -= 4;
    }
    if (left != 0) {
        std::uint32_t word = 0;
        std::memcpy(&word, p, left);
        sum += word;
    }
    return sum;
}

}  // namespace

ChecksumVerdict verify_tcp_checksum(const Dissection& dissection, base::Bytes bytes) {
    const LayerRef* tcp = dissection.find(LayerId::tcp);
    const TcpSummary& summary = dissection.tcp;
    if (tcp == nullptr || summary.payload_captured < summary.payload_length) return ChecksumVerdict::unknown;
    const std::uint32_t length = summary.payload_offset + summary.payload_length - tcp->offset;
    const std::uint32_t address_length = dissection.network.address_length();
    if (address_length < 4 || tcp->offset + length > bytes.size()) return ChecksumVerdict::unknown;
    const std::byte pseudo[8] = {static_cast<std::byte>(length >> 24),
                                 static_cast<std::byte>(length >> 16 & 0xff),
                                 static_cast<std::byte>(length >> 8 & 0xff),
                                 static_cast<std::byte>(length & 0xff),
                                 std::byte{0},
                                 std::byte{0},
                                 std::byte{0},
                                 std::byte{6}};
    std::uint64_t sum = sum_of(pseudo) + sum_of(bytes.subspan(tcp->offset, length)) +
                        sum_of(bytes.subspan(dissection.network.source_offset, address_length)) +
                        sum_of(bytes.subspan(dissection.network.destination_offset, address_length));
    while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff ? ChecksumVerdict::right : ChecksumVerdict::wrong;
}

}  // namespace dissect::tcp
