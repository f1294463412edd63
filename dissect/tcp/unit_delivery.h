#pragma once
#include <memory>

#include "dissect/dissector.h"
#include "dissect/tcp/connection_state.h"

namespace dissect::tcp {

/// The present frame, and the sink of its messages.
struct Arrival {
    const wire::Frame& frame;
    const Dissection& dissection;
    base::Bytes bytes;  ///< what `dissection` describes
    Sink& sink;
};

/// A unit as it lies in the stream: with its markers, and with the bytes that were captured.
struct RawUnit {
    LayerId id = LayerId::mpa_fpdu;
    base::Bytes octets;
    std::uint32_t stream_length = 0;
    std::uint32_t sequence = 0;
    std::uint64_t first_frame = 0;
    std::int64_t passed_ns = 0;  ///< when the latest of its bytes passed
    bool lost_octets = false;    ///< missing bytes were never captured; otherwise the snap length cut them
};

/// Dissections in which plain FPDUs are described one after the other: their common values are filled in once.
class PlainFpdu {
public:
    PlainFpdu();
    /// The dissection of the FPDU at the beginning of `octets`, as dissect_unit would make it; valid until the next
    /// call. nullptr if the FPDU is not whole or not plain.
    Dissection* describe(base::Bytes octets);

private:
    Dissection tagged_;
    Dissection untagged_;
};

/// Parses units and passes them to the sink.
class UnitDelivery {
public:
    UnitDelivery(const ParseOptions& options, DissectorCounters& counters);

    struct Verdict {
        CrcStatus crc = CrcStatus::absent;
        bool marker_wrong = false;
    };
    Verdict deliver(const Arrival& arrival, const Connection& connection, unsigned side, Flow& flow,
                    const RawUnit& raw);
    /// Delivers the FPDUs at the beginning of `octets`, all of a segment's bytes, as long as each is whole, right and
    /// of the plainest shape: Write, Read Response or Send with a payload, and nothing odd. The result is the same as
    /// deliver()'s. For a flow in step, without markers. Returns the number of bytes they take.
    std::uint32_t deliver_plain(const Arrival& arrival, const Connection& connection, unsigned side, Flow& flow,
                                std::uint32_t sequence, base::Bytes octets);
    /// Whether a complete FPDU's CRC is right, negotiated or not.
    static bool crc_right(const Flow& flow, const RawUnit& raw);

private:
    struct Stripped {
        base::Bytes bytes;         ///< the FPDU, followed by its markers if it is complete
        std::uint32_t length = 0;  ///< of the FPDU on the wire
        std::uint32_t markers = 0;
        bool wrong = false;
    };
    Stripped strip_markers(const Flow& flow, const RawUnit& raw);
    CrcStatus check_crc(Flow& flow, const RawUnit& raw) const;
    void count(const Dissection& dissection);
    static void hand_over(const Arrival& arrival, const Connection& connection, unsigned side, const RawUnit& raw,
                          const Dissection& dissection, base::Bytes bytes, std::uint32_t markers);

    const ParseOptions options_;
    DissectorCounters& counters_;
    Dissection dissection_;
    PlainFpdu plain_;
    std::unique_ptr<std::byte[]> scratch_;
};

}  // namespace dissect::tcp
