#pragma once
#include "dissect/tcp/unit_delivery.h"

namespace dissect::tcp {

/// Cuts the bytes of a stream, in order, into start frames and FPDUs. RFC 5044.
class Framer {
public:
    Framer(UnitDelivery& delivery, BufferPool& pool) : delivery_(delivery), pool_(pool) {}

    enum class Outcome : std::uint8_t {
        done,       ///< all bytes taken
        lost,       ///< the beginning of the next FPDU is unknown: `rest` was not used
        discarded,  ///< the receiver dropped this segment because of its TCP checksum: `rest` was not used
        ended,      ///< the stream leaves MPA here
        not_mpa,    ///< a start frame was required here, and there is none
    };
    struct Result {
        Outcome outcome = Outcome::done;
        Piece rest;
    };
    /// `live`: the piece is the payload of the frame itself, not stored data. A piece without bytes stands for a gap
    /// that will not be filled.
    Result feed(const Arrival& arrival, Connection& connection, unsigned side, Piece piece, bool live);
    /// The same for the payload of a segment that needs no decisions: delivers the plain units at its beginning.
    /// Returns the number of bytes they take; feed() may continue with the rest.
    std::uint32_t feed_plain(const Arrival& arrival, const Connection& connection, unsigned side, Flow& flow,
                             std::uint32_t sequence, base::Bytes octets) {
        if (flow.expect != Expect::fpdu || flow.first_fpdu || flow.markers || flow.partial) return 0;
        return delivery_.deliver_plain(arrival, connection, side, flow, sequence, octets);
    }
    /// Delivers the part of a unit that will never be complete.
    void abandon(const Arrival& arrival, Connection& connection, unsigned side);
    /// Forgets an incomplete unit.
    void drop_partial(Flow& flow);

private:
    struct Measure {
        std::uint32_t total = 0;  ///< of the stream; 0: unknown with the bytes so far
        std::uint32_t need = 0;   ///< bytes that are needed to know it
        bool impossible = false;
    };
    enum class Next : std::uint8_t { go_on, lost, discarded, ended };

    Measure measure(const Connection& connection, unsigned side, Flow& flow, const Piece& at) const;
    Measure measure_start(const Piece& at) const;
    void decide_markers(const Side& side, Flow& flow, const Piece& at) const;
    Next complete(const Arrival& arrival, Connection& connection, unsigned side, const RawUnit& raw, bool direct);
    bool has_markers_after_all(Flow& flow, const RawUnit& raw) const;
    Next complete_start(const Arrival& arrival, Connection& connection, unsigned side, RawUnit raw);
    bool absorb(const Connection& connection, unsigned side, Flow& flow, Piece& piece);
    void begin_partial(Flow& flow, const Piece& piece) const;
    RawUnit partial_unit(const Flow& flow) const;

    UnitDelivery& delivery_;
    BufferPool& pool_;
};

/// Whether the receiver dropped the segment of this frame: its TCP checksum is wrong, and its sender's checksums are
/// otherwise right. (A capture at the sender sees checksums that the adapter has yet to fill in.)
bool dropped_by_receiver(const Side& side, const Arrival& arrival);

}  // namespace dissect::tcp
