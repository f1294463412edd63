#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "iwarp/mpa/segment_sink.h"
#include "iwarp/mpa/stage_pool.h"
#include "wire/crc32c.h"

namespace iwarp::mpa {

/// Bytes of a TCP stream → ULPDUs: FPDU lengths, markers out, padding, CRC. RFC 5044 sections 4 to 6. Indifferent to
/// how the stream is cut; after the first fault it takes and delivers nothing more (section 8).
///
/// Strict: an FPDU is kept until its CRC is right, then begin_segment, the copy and end_segment follow at once. Not
/// strict: begin_segment as soon as the header is there, payload straight into its target, the CRC at the end decides
/// about end_segment. Without CRCs both do the latter. FPDUs with markers, and those that lie whole in one receive(),
/// are looked at as a whole in every mode. An idle reader (between FPDUs) holds no buffer.
///
/// Of several faults of one FPDU the CRC's comes first, then the markers' and the length's (section 8, code 3: "in the
/// event that the CRC is valid"), then the sink's: a refusal by begin_segment waits for the CRC in every mode.
class FpduReader {
public:
    struct Settings {
        bool crc = true;
        bool markers = false;
        bool strict = true;
    };
    /// `pool`, if any, lends the memory for FPDUs that arrive in pieces where they must be kept.
    FpduReader(Settings settings, SegmentSink& sink, std::shared_ptr<StagePool> pool = {});
    ~FpduReader();
    FpduReader(FpduReader&&) = delete;

    /// Takes all of `octets`, unless a fault ends the stream. The fault is reported once; later calls do nothing.
    std::optional<Fault> receive(base::Bytes octets);
    /// Whether the sink said fault::not_yet to a segment. It, and all bytes since, are kept; the transport had better
    /// receive no more.
    bool paused() const { return paused_; }
    /// Offers the sink that segment again, and all that came after it.
    std::optional<Fault> resume();

    /// Where the transport may put the stream's next bytes itself, in the middle of a payload whose rest is at least
    /// `minimum` bytes are missing: pieces of the target, then a few bytes of the reader's own for CRC and the next
    /// header. Empty where that is not possible (strict, markers, between FPDUs, less missing, too many small pieces).
    /// Valid until the next call.
    std::span<const base::MutableBytes> room(std::size_t minimum);
    /// `octets` of that room have been filled, from its beginning.
    std::optional<Fault> received(std::size_t octets);

    /// Whether the stream could end here: between FPDUs.
    bool at_boundary() const { return state_ == State::head && head_size_ == 0 && !paused_; }
    /// FPDUs that were right, and accepted by the sink.
    std::uint64_t fpdus() const { return fpdus_; }

private:
    enum class State : std::uint8_t {
        head,     ///< of an FPDU that may become anything, in head_; empty: between FPDUs
        staged,   ///< an FPDU that must be whole first, in stage_
        payload,  ///< on its way into the target
        trailer,  ///< padding and CRC after such a payload
        ended,    ///< a fault was reported
    };
    static constexpr std::size_t longest_trailer = 3 + 4;
    static constexpr std::size_t longest_head = 2 + 18;

    std::optional<Fault> take(base::Bytes& octets);
    std::optional<Fault> step(base::Bytes& octets);
    std::optional<Fault> take_or_hold(base::Bytes octets);
    std::optional<Fault> take_head(base::Bytes& octets);
    std::optional<Fault> take_staged(base::Bytes& octets);
    std::optional<Fault> take_payload(base::Bytes& octets);
    std::optional<Fault> take_trailer(base::Bytes& octets);
    std::optional<Fault> whole(base::Bytes fpdu);
    std::optional<Fault> deliver(base::Bytes header, base::Bytes payload);
    std::optional<Fault> deliver_marked(base::Bytes fpdu, std::uint32_t length);
    std::optional<Fault> begin_direct(base::Bytes head);
    std::optional<Fault> finish();
    std::optional<Fault> conclude(std::optional<Fault> fault);

    std::size_t lead() const { return settings_.markers && phase_ == 0 ? 4 : 0; }
    std::size_t whole_size(const std::byte* fpdu) const;
    std::size_t wanted_head() const;
    bool place(base::Bytes octets);
    void move_to_stage(std::size_t total);
    bool reserve_stage(std::size_t octets);
    void release_stage();

    Settings settings_;
    bool direct_;  ///< payload goes into its target as it comes
    bool paused_ = false;
    State state_ = State::head;
    std::uint8_t head_size_ = 0;
    std::uint8_t header_size_ = 0;   ///< of the DDP header whose payload is under way
    std::uint8_t trailer_size_ = 0;  ///< bytes of padding and CRC that its payload is followed by
    std::uint8_t trailer_have_ = 0;
    std::uint16_t phase_ = 0;  ///< with markers: where the FPDU begins, modulo 512
    StagePool::Size stage_class_ = StagePool::Size::small;
    std::uint32_t payload_left_ = 0;
    std::uint32_t stage_have_ = 0;
    std::uint32_t stage_total_ = 0;
    wire::Crc32c crc_;
    std::optional<Fault> refusal_;  ///< the sink's, until the CRC has been seen
    SegmentSink* sink_;
    std::span<const base::MutableBytes>
        target_;  ///< what is left of it; of its first piece `target_at_` bytes are full
    std::size_t target_at_ = 0;
    std::uint64_t fpdus_ = 0;
    std::shared_ptr<StagePool> pool_;
    StagePool::Memory stage_;
    StreamMemory::Part stage_part_;
    std::vector<std::byte> held_;  ///< while paused: what has come after head_ or stage_, from held_at_ on
    std::size_t held_at_ = 0;
    std::array<std::byte, 24> head_;  ///< holds every FPDU that is too short for its header, and empty messages
    std::array<std::byte, longest_trailer> trailer_;
    std::array<std::byte, longest_trailer + longest_head> ahead_;
    std::array<base::MutableBytes, 8> room_;
};

}  // namespace iwarp::mpa
