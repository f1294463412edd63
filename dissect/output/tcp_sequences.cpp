#include "dissect/output/tcp_sequences.h"

#include <algorithm>

#include "base/hash.h"
#include "dissect/tcp_flags.h"

namespace dissect::output {

namespace {

using End = std::array<std::byte, 18>;

End end_of(const Network& network, base::Bytes bytes, std::uint32_t address_offset, std::uint16_t port) {
    End end{};
    const std::size_t length = network.address_length();
    if (address_offset + length <= bytes.size())
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(address_offset), length, end.begin());
    base::store_be16(end.data() + 16, port);
    return end;
}

}  // namespace

TcpSequences::Numbers TcpSequences::next(const Dissection& dissection, base::Bytes bytes) {
    const TcpSummary& tcp = dissection.tcp;
    const Numbers raw{tcp.sequence, tcp.acknowledgment};
    if ((tcp.flags & tcp_ack) == 0) return raw;
    if (entries_.empty()) entries_.resize(capacity);

    const Network& network = dissection.network;
    const End source = end_of(network, bytes, network.source_offset, dissection.source_port);
    const End destination = end_of(network, bytes, network.destination_offset, dissection.destination_port);
    const unsigned sender = source < destination ? 0 : 1;
    Key key;
    std::copy(source.begin(), source.end(), key.octets.begin() + (sender == 0 ? 0 : 18));
    std::copy(destination.begin(), destination.end(), key.octets.begin() + (sender == 0 ? 18 : 0));

    const std::uint64_t hash = base::fnv(base::fnv_begin, key.octets);
    Entry& entry = entries_[(hash ^ hash >> 32) & (capacity - 1)];
    if (!entry.used || entry.key != key || (tcp.flags & tcp_syn) != 0) {
        entry.key = key;
        entry.used = true;
        entry.base[sender] = tcp.sequence;
        entry.base[1 - sender] = tcp.acknowledgment - 1;
        return raw;
    }
    return {tcp.sequence - entry.base[sender], tcp.acknowledgment - entry.base[1 - sender]};
}

}  // namespace dissect::output
