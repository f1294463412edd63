#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "iwarp/mpa/fpdu_reader.h"
#include "iwarp/mpa/fpdu_writer.h"
#include "iwarp/mpa/segment_sink.h"

namespace iwarp {
void PrintTo(const Fault& fault, std::ostream* out);
}

/// Streams of FPDUs made octet by octet, as RFC 5044 describes it, not by the stack's code.
namespace mpa_test {

using Octets = std::vector<std::byte>;
using iwarp::Fault;
using iwarp::mpa::FpduReader;

Octets octets(std::string_view hex);
std::string hex(base::Bytes bytes);
Octets pattern(std::mt19937& random, std::size_t length);
/// Bit by bit: CRC-32C of RFC 3720, as the octets on the wire.
Octets slow_crc(base::Bytes bytes);

/// A DDP header: 14 octets tagged, 18 untagged, the rest of it of no sense.
Octets header(bool tagged);
Octets joined(std::initializer_list<base::Bytes> parts);

/// One direction.
struct Stream {
    bool crc = true;
    bool markers = false;
    Octets octets;
    std::vector<Octets> ulpdus;
    std::vector<std::size_t> ends;  ///< of each FPDU

    void fpdu(const Octets& ulpdu);
    void add(bool tagged, const Octets& payload) { fpdu(joined({header(tagged), payload})); }
};

/// Takes every ULPDU into a target of several pieces, each a memory of its own.
class Sink final : public iwarp::mpa::SegmentSink {
public:
    std::vector<std::size_t> piece_sizes;  ///< used in turn; empty: one piece
    std::optional<std::size_t> refuse_at;  ///< the segment that begin_segment has a fault for
    std::optional<std::size_t> fault_at;   ///< the segment that end_segment has a fault for
    bool refuse_once = false;              ///< every segment when it is first offered, with fault::not_yet
    Fault fault = iwarp::fault::tagged_bounds;
    bool keep_pieces =
        false;  ///< a target like the last one is filled again, for benchmarks and counting of allocations

    base::Result<iwarp::mpa::Target, Fault> begin_segment(base::Bytes header, std::uint32_t payload_length) override;
    std::optional<Fault> end_segment() override;

    std::vector<Octets> ulpdus;  ///< those that ended, header and payload
    std::size_t begun = 0;
    bool open = false;
    /// Of the segment that is under way.
    const std::vector<base::MutableBytes>& pieces() const { return pieces_; }

private:
    bool refused_ = false;
    Octets header_;
    std::deque<Octets> memory_;
    std::vector<base::MutableBytes> pieces_;
};

/// Every combination of CRC, markers and strictness.
std::vector<FpduReader::Settings> all_settings();
std::string name(const FpduReader::Settings& settings);

/// Gives the reader a copy of its own of these octets, exactly as large, so that an access beyond is found.
std::optional<Fault> give(FpduReader& reader, base::Bytes octets);

/// What a Batch holds, as one.
Octets content(std::span<const base::Bytes> pieces);

}  // namespace mpa_test
