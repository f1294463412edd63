#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/timestamp.h"
#include "dissect/describe.h"
#include "dissect/dissection.h"
#include "dissect/dissector.h"
#include "wire/field.h"
#include "wire/frame.h"

/// `frame.*`, which Wireshark has too, and `rdma.*`, which is ours: values of a frame or of a message in addition to
/// the bytes of its headers. The tables in frame_fields.cpp declare them.
namespace dissect::output {

/// A frame's time relative to other frames. Nanoseconds; 0 if there is no other frame yet.
struct FrameTimes {
    std::int64_t since_first = 0;
    std::int64_t since_previous = 0;
    std::int64_t since_shown = 0;  ///< since the previous frame that was shown
};

/// Remembers what FrameTimes needs of earlier frames.
class FrameClock {
public:
    /// Called once for each frame, in order.
    FrameTimes next(const wire::Frame& frame) {
        const std::int64_t now = frame.time_ns;
        if (!first_) first_ = previous_ = now;
        const FrameTimes times{difference(now, *first_), difference(now, previous_),
                               shown_ ? difference(now, *shown_) : 0};
        previous_ = now;
        return times;
    }
    /// The frame of the last call of `next` is shown.
    void shown() { shown_ = previous_; }

private:
    static std::int64_t difference(std::int64_t later, std::int64_t earlier) {
        return base::time_difference(later, earlier);
    }
    std::optional<std::int64_t> first_;
    std::optional<std::int64_t> shown_;
    std::int64_t previous_ = 0;
};

/// The capture's name for an interface.
struct InterfaceName {
    std::string_view name = {};            ///< empty where it has none
    std::optional<std::uint32_t> id = {};  ///< no value if the capture gives none
};

/// A frame and what is known about it. Values read from it may point into it.
struct FrameView {
    const wire::Frame& frame;
    const Dissection& dissection;
    FrameTimes times = {};
    InterfaceName interface = {};
    std::string_view protocols = {};  ///< `eth:ethertype:ip:udp:infiniband`; empty if not requested
    mutable std::array<char, 64> scratch = {};
};

/// A field of a frame, a unit, a dissection or a notice, and the function that finds it. `read` returns false if it is
/// absent.
template <class Subject>
struct ReadField {
    wire::FieldInfo info;
    bool (*read)(const Subject&, wire::Value&);
};

extern const wire::FieldInfo frame_heading;      ///< `frame`
extern const wire::FieldInfo& frame_time_field;  ///< `frame.time`: text, and nanoseconds since 1970 as its number
extern const wire::FieldInfo unit_heading;       ///< `rdma`
extern const wire::FieldInfo notice_heading;     ///< `rdma.notice`, whose value is a sentence

std::span<const ReadField<FrameView>> frame_fields();
std::span<const ReadField<Unit>> unit_fields();
/// How far a dissection came: part of `rdma` for units, and for frames that hold none.
std::span<const ReadField<Dissection>> outcome_fields();
std::span<const ReadField<Notice>> notice_fields();

/// `frame` and all below it.
void describe_frame(const FrameView& view, Visitor& visitor);
/// `rdma` and all below it, for a message.
void describe_unit(const Unit& unit, Visitor& visitor);
/// `rdma` for a frame without units that could not be read to its end, or is odd; nothing for other frames.
void describe_outcome(const Dissection& dissection, Visitor& visitor);
void describe_notice(const Notice& notice, Visitor& visitor);

/// Appends what a dissection adds to `frame.protocols`: `eth:ethertype:ip:udp:infiniband`.
void append_protocols(std::string& out, const Dissection& dissection);

/// Wireshark's number for a link type (`frame.encap_type`); 0 for an unknown one.
unsigned encapsulation_number(wire::LinkType link_type);

/// `Nov 21, 2026 01:40:49.473152000 UTC`, as tshark prints with TZ=UTC; the text lies in `scratch`.
std::string_view utc_text(std::int64_t time_ns, std::span<char, 64> scratch);
/// `Nov 21, 2026 02:40:49.473152000 CET`: local time, as tshark prints.
std::string_view local_text(std::int64_t time_ns, std::span<char, 64> scratch);

}  // namespace dissect::output
