#pragma once
#include <array>
#include <cstdint>

#include "dissect/tcp/fpdu_head.h"
#include "dissect/tcp/segment_store.h"

namespace dissect::tcp {

/// What is known about a stream whose FPDU boundaries are searched for.
struct HuntRules {
    bool known_rdma = false;  ///< it was in step before, or its other direction is: less evidence suffices
    bool markers_known = false;
    bool markers_likely = false;  ///< unknown, but reading FPDUs without markers failed
    bool markers = false;
    std::uint32_t marker_origin = 0;
    bool crc_on = false;   ///< a complete FPDU with a wrong CRC, other than zero, is not an FPDU
    bool crc_off = false;  ///< do not compute CRCs
    bool hurry = false;    ///< nothing more will come: decide with what there is
    FpduHead before;       ///< of the last FPDU in step
};

/// Finds FPDU boundaries in the stored segments of a stream by length, versions, opcode against queue and tag,
/// continuity, and CRC over consecutive FPDUs. Evidence is counted in bits: chance finds a tagged head once in 8192
/// bytes, so a stream is accepted only when several heads in a row, or a CRC, agree.
class Hunter {
public:
    struct Found {
        bool any = false;
        std::uint32_t start = 0;  ///< of the first FPDU
        bool markers = false;
        std::uint32_t marker_origin = 0;
        bool markers_certain = false;  ///< a marker was seen, or the FPDUs reach beyond where one would have been
        bool crc_good = false;         ///< a CRC was right on the way
    };

    void begin(std::uint32_t sequence);
    /// Examines what has come since the last call.
    Found advance(const SegmentStore& store, const HuntRules& rules);
    /// Everything before it is no longer needed.
    std::uint32_t floor() const;
    /// Starts over after a gap.
    void skip_to(std::uint32_t sequence) {
        count_ = 0;
        scan_ = sequence;
    }
    /// The end of the examined part.
    std::uint32_t scanned() const { return scan_; }
    /// Drops the candidate that holds the floor back; false if absent.
    bool drop_oldest();
    std::uint64_t examined_octets() const { return examined_; }
    /// Whether two heads in a row have been found somewhere.
    bool warm() const;

private:
    struct Candidate {
        std::uint32_t start = 0;
        std::uint32_t next = 0;      ///< where the next head is expected
        std::uint32_t body_end = 0;  ///< of the FPDU whose CRC is still to be checked; valid if `open`
        std::uint32_t proven = 0;    ///< up to there the bytes are whole FPDUs
        unsigned evidence = 0;
        unsigned count = 0;
        bool open = false;
        bool crc_good = false;
        bool broken = false;  ///< fits no stream without markers; perhaps one with markers
        bool markers = false;
        unsigned markers_seen = 0;
        std::uint32_t marker_origin = 0;
        std::uint32_t marker_next = 0;  ///< the next to be checked of the FPDU that is open
        FpduHead last;
    };
    enum class Step : std::uint8_t { wait, dead, found };

    Step step(Candidate& candidate, const SegmentStore& store, const HuntRules& rules, std::uint32_t run_end) const;
    bool check_body(Candidate& candidate, const SegmentStore& store, const HuntRules& rules) const;
    bool check_markers(Candidate& candidate, const SegmentStore& store, std::uint32_t run_end) const;
    Step try_markers(Candidate& candidate, const SegmentStore& store, const HuntRules& rules,
                     std::uint32_t run_end) const;
    Step follow(Candidate& candidate, const SegmentStore& store, const HuntRules& rules, std::uint32_t run_end) const;
    Found scan(const SegmentStore& store, const HuntRules& rules, std::uint32_t run_end);
    Step consider(std::uint32_t at, const SegmentStore& store, const HuntRules& rules, std::uint32_t run_end);
    Step waiting(const Candidate& candidate, const HuntRules& rules) const;
    bool enough(const Candidate& candidate, const HuntRules& rules) const;
    static Found found(const Candidate& candidate, const SegmentStore& store);

    std::array<Candidate, 6> candidates_;
    unsigned count_ = 0;
    std::uint32_t scan_ = 0;
    std::uint32_t disproved_ = 0;  ///< candidates that turned out wrong
    std::uint64_t examined_ = 0;
};

}  // namespace dissect::tcp
