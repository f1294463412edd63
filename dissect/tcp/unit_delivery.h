#pragma once
#include <memory>

#include "dissect/dissector.h"
#include "dissect/tcp/connection_state.h"

namespace dissect::tcp {

/// The frame being worked on, and where its messages go.
struct Arrival {
    const wire::Frame& frame;
    const Dissection& dissection;
    base::Bytes bytes;  ///< what `dissection` describes
    Sink& sink;
};

/// A unit as it lies in the stream: markers still in it, and as many bytes as were captured.
struct RawUnit {
    LayerId id = LayerId::mpa_fpdu;
    base::Bytes octets;
    std::uint32_t stream_length = 0;
    std::uint32_t sequence = 0;
    std::uint64_t first_frame = 0;
    std::int64_t passed_ns = 0;  ///< when the latest of its bytes passed
    bool lost_octets = false;    ///< what is missing was never captured; else the snap length cut it
};

/// Dissections in which plain FPDUs are described one after the other: what they have in common is filled in once.
class PlainFpdu {
public:
    PlainFpdu();
    /// What dissect_unit says of the FPDU that `octets` begin with; valid until the next call. nullptr where it is not
    /// whole or not plain.
    Dissection* describe(base::Bytes octets);

private:
    Dissection tagged_;
    Dissection untagged_;
};

/// Takes units apart and hands them to the sink.
class UnitDelivery {
public:
    UnitDelivery(const ParseOptions& options, DissectorCounters& counters);

    struct Verdict {
        CrcStatus crc = CrcStatus::absent;
        bool marker_wrong = false;
    };
    Verdict deliver(const Arrival& arrival, const Connection& connection, unsigned side, Flow& flow,
                    const RawUnit& raw);
    /// The FPDUs that `octets`, all of a segment's, begin with, as long as each is whole, right and of the plainest
    /// shape: Write, Read Response or Send with a payload, nothing odd about it. What any of them holds is as deliver()
    /// would say it. For a flow in step, without markers. Returns how many bytes they take.
    std::uint32_t deliver_plain(const Arrival& arrival, const Connection& connection, unsigned side, Flow& flow,
                                std::uint32_t sequence, base::Bytes octets);
    /// Whether a complete FPDU's CRC is right, negotiated or not.
    static bool crc_right(const Flow& flow, const RawUnit& raw);

private:
    struct Stripped {
        base::Bytes bytes;         ///< the FPDU, and after it, where it is complete, its markers
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
