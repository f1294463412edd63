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

/// Turns bytes of a TCP stream into ULPDUs: FPDU lengths, removal of markers, padding, CRC. RFC 5044 sections 4 to 6.
/// The stream may be cut anywhere; after the first fault it accepts and delivers nothing more (section 8).
///
/// Strict: an FPDU is kept until its CRC is right; then begin_segment, the copy and end_segment follow at once. Not
/// strict: begin_segment is called as soon as the header is there, payload goes straight into its target, and the CRC
/// at the end decides about end_segment. Without CRCs both modes do the latter. FPDUs with markers, and those that lie
/// whole in one receive(), are handled as a whole in every mode. An idle reader (between FPDUs) holds no buffer.
///
/// If one FPDU has several faults, the CRC's comes first, then the markers' and the length's (section 8, code 3: "in
/// the event that the CRC is valid"), then the sink's: a refusal by begin_segment waits for the CRC in every mode.
class FpduReader {
public:
    struct Settings {
        bool crc = true;
        bool markers = false;
        bool strict = true;
    };
    /// `pool`, if any, provides memory for FPDUs that arrive in pieces and must be kept.
    FpduReader(Settings settings, SegmentSink& sink, std::shared_ptr<StagePool> pool = {});
    ~FpduReader();
    FpduReader(FpduReader&&) = delete;

    /// Accepts all of `octets`, unless a fault ends the stream. The fault is reported once; later calls do nothing.
    std::optional<Fault> receive(base::Bytes octets);
    /// Whether the sink answered a segment with fault::not_yet. That segment and all later bytes are kept; the
    /// transport should receive no more.
    bool paused() const { return paused_; }
    /// Offers that segment to the sink again, and everything after it.
    std::optional<Fault> resume();

    /// Where the transport may write the stream's next bytes itself, in the middle of a payload that lacks at least
    /// `minimum` bytes: pieces of the target, then a few bytes of the reader's own for CRC and the next header. Empty
    /// if that is impossible (strict, markers, between FPDUs, less missing, too many small pieces). Valid until the
    /// next call.
    std::span<const base::MutableBytes> room(std::size_t minimum);
    /// `octets` of that room have been filled, from its beginning.
    std::optional<Fault> received(std::size_t octets);

    /// Whether the stream could end here: between FPDUs.
    bool at_boundary() const { return state_ == State::head && head_size_ == 0 && !paused_; }
    /// FPDUs that were right, and accepted by the sink.
    std::uint64_t fpdus() const { return fpdus_; }

private:
    enum class State : std::uint8_t {
        head,     ///< the start of an FPDU, in head_; empty: between FPDUs
        staged,   ///< an FPDU that must be whole first, in stage_
        payload,  ///< the payload is going into the target
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
    bool reserve_stage(std::size_t octets);
    void release_stage();

    Settings settings_;
    bool direct_;  ///< payload goes straight into its target
    bool paused_ = false;
    State state_ = State::head;
    std::uint8_t head_size_ = 0;
    std::uint8_t header_size_ = 0;   ///< of the DDP header whose payload is under way
    std::uint8_t trailer_size_ = 0;  ///< bytes of padding and CRC after that payload
    std::uint8_t trailer_have_ = 0;
    std::uint16_t phase_ = 0;  ///< with markers: where the FPDU begins, modulo 512
    StagePool::Size stage_class_ = StagePool::Size::small;
    std::uint32_t payload_left_ = 0;
    std::uint32_t stage_have_ = 0;
    std::uint32_t stage_total_ = 0;
    wire::Crc32c crc_;
    std::optional<Fault> refusal_;  ///< the sink's, until the CRC was checked
    SegmentSink* sink_;
    std::span<const base::MutableBytes>
        target_;  ///< the rest of the target; `target_at_` bytes of its first piece are full
    std::size_t target_at_ = 0;
    std::uint64_t fpdus_ = 0;
    std::shared_ptr<StagePool> pool_;
    StagePool::Memory stage_;
    StreamMemory::Part stage_part_;
    std::vector<std::byte> held_;  ///< while paused: what came after head_ or stage_, from held_at_ on
    std::size_t held_at_ = 0;
    std::array<std::byte, 24> head_;  ///< holds FPDUs that are too short for a header, and empty messages
    std::array<std::byte, longest_trailer> trailer_;
    std::array<std::byte, longest_trailer + longest_head> ahead_;
    std::array<base::MutableBytes, 8> room_;
};

}  // namespace iwarp::mpa
