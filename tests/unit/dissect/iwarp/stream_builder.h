#pragma once
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "dissect/dissector.h"

/// Streams of MPA made by emitters, TCP segments made of them, and what a dissector finds in those.
namespace iwarp_test {

using Octets = std::vector<std::byte>;

/// What was sent, or found: one start frame or FPDU.
struct SentUnit {
    std::uint32_t offset = 0;  ///< in the stream
    std::uint32_t length = 0;  ///< with markers
    bool start = false;
    std::uint8_t opcode = 0;
    Octets payload;

    friend bool operator==(const SentUnit&, const SentUnit&) = default;
    friend void PrintTo(const SentUnit& unit, std::ostream* out) {
        *out << (unit.start ? "start " : "fpdu ") << unit.offset << '+' << unit.length << " op "
             << unsigned{unit.opcode} << " payload " << unit.payload.size();
    }
};
/// The first place where two lists differ, in words; empty where they do not.
std::string difference(const std::vector<SentUnit>& found, const std::vector<SentUnit>& expected);

/// One direction's octets.
struct Stream {
    bool markers = false;
    bool crc = true;
    bool zero_crc = true;        ///< where `crc` is off
    std::uint32_t fpdus_at = 0;  ///< where the first FPDU, and so the first marker, is
    bool begun = false;
    Octets octets;
    std::vector<SentUnit> units;

    void start(bool request, bool want_markers, bool want_crc, bool reject = false, std::size_t private_length = 0,
               std::uint8_t revision = 1);
    void write(std::uint32_t stag, std::uint64_t offset, bool last, const Octets& payload);
    void send(std::uint32_t msn, std::uint32_t message_offset, bool last, const Octets& payload);
    void read_request(std::uint32_t msn);
    /// A mixture of messages with lengths up to `most`.
    void mixture(std::mt19937& random, unsigned count, std::size_t most);
    void fpdu(std::uint8_t opcode, const Octets& ulpdu, std::size_t payload_length);
};

/// A stretch of a stream as a segment carries it.
struct Cut {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
};
/// The whole stream in segments of `size` octets.
std::vector<Cut> cut(const Stream& stream, std::uint32_t size, std::uint32_t from = 0);

/// Both directions of a TCP connection, and the frames they are put into.
class Wire {
public:
    explicit Wire(std::uint32_t client_isn = 1000, std::uint32_t server_isn = 5000) : isn_{client_isn, server_isn} {}

    Stream client;
    Stream server;
    std::size_t snap = 0;  ///< 0: everything
    std::uint16_t client_port = 40000;

    /// SYN, SYN+ACK, ACK.
    void handshake();
    /// Octets of one direction; `acknowledged` of the other's stream, -1 for none of the news.
    void segment(bool from_client, Cut piece, std::int64_t acknowledged = -1);
    void segments(bool from_client, const std::vector<Cut>& pieces);
    void raw(bool from_client, std::uint32_t sequence, std::uint8_t flags, const Octets& payload,
             std::uint32_t acknowledgment);
    void acknowledge(bool from_client, std::uint32_t octets_of_other);

    /// Alternates the directions, start frames first, as a connection does it.
    void play(std::uint32_t segment_size);

    std::vector<Octets> frames;
    std::vector<std::uint32_t> wire_lengths;
    std::uint32_t isn(bool from_client) const { return isn_[from_client ? 0 : 1]; }

private:
    std::uint32_t isn_[2];
    std::uint32_t acknowledged_[2] = {0, 0};
};

/// What a dissector delivered.
struct Found {
    std::vector<SentUnit> client;  ///< of each direction, in the order of delivery
    std::vector<SentUnit> server;
    unsigned crc_good = 0;
    unsigned crc_bad = 0;
    unsigned truncated = 0;
    unsigned markers = 0;
    std::vector<dissect::Notice::Kind> notices;
    std::uint64_t gap_octets = 0;
    std::uint64_t skipped_octets = 0;
    std::uint64_t unread_octets = 0;
    std::vector<std::uint64_t> related;
    std::vector<std::uint32_t> streams;
    dissect::DissectorCounters counters;

    unsigned count(dissect::Notice::Kind kind) const;
};
Found find(const Wire& wire, const dissect::DissectorOptions& options = {}, std::size_t skip_frames = 0);

Octets pattern(std::mt19937& random, std::size_t length);

}  // namespace iwarp_test
