#include "dissect/output/frame_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>

#include "dissect/layer_table.h"
#include "dissect/output/unit_names.h"
#include "wire/comments.h"

namespace dissect::output {

using wire::Base;
using wire::FieldInfo;
using wire::Kind;
using wire::Value;

namespace {

constexpr FieldInfo number(std::string_view name, std::string_view label, Kind kind = Kind::uint32) {
    return {name, label, 0, 0, kind, Base::dec};
}
constexpr FieldInfo text(std::string_view name, std::string_view label) { return {name, label, 0, 0, Kind::string}; }
constexpr FieldInfo time(std::string_view name, std::string_view label) { return {name, label, 0, 0, Kind::time}; }

/// Words of a text, for filters and lists.
constexpr FieldInfo text_with_words(std::string_view name, std::string_view label,
                                    std::span<const wire::ValueName> values) {
    return {name, label, 0, 0, Kind::string, Base::dec, false, values};
}
constexpr wire::ValueName transport_words[] = {{0, "roce2"}, {1, "roce1"}, {2, "infiniband"}, {3, "iwarp"}};
constexpr wire::ValueName service_words[] = {{0, "RC"}, {1, "UC"}, {2, "RD"}, {3, "UD"}, {4, "XRC"}};
constexpr wire::ValueName operation_words[] = {
    {0, "send"},         {1, "send_immediate"}, {2, "send_invalidate"},  {3, "write"},         {4, "write_immediate"},
    {5, "read"},         {6, "read_response"},  {7, "acknowledge"},      {8, "nak"},           {9, "rnr_nak"},
    {10, "fetch_add"},   {11, "compare_swap"},  {12, "atomic_response"}, {13, "atomic_write"}, {14, "flush"},
    {15, "resync"},      {16, "cnp"},           {17, "management"},      {18, "immediate"},    {19, "terminate"},
    {20, "mpa_request"}, {21, "mpa_reply"}};
constexpr wire::ValueName position_words[] = {{0, "first"}, {1, "middle"}, {2, "last"}, {3, "only"}};
constexpr wire::ValueName crc_words[] = {{0, "good"}, {1, "bad"}};
constexpr wire::ValueName outcome_words[] = {
    {0, "complete"}, {1, "truncated"}, {2, "malformed"}, {3, "odd"}, {4, "unsupported"}};

bool set(Value& value, std::uint64_t found) {
    value.number = found;
    return true;
}
bool set_time(Value& value, std::int64_t nanoseconds) { return set(value, static_cast<std::uint64_t>(nanoseconds)); }
bool set_text(Value& value, std::string_view found) {
    value.text = found;
    return !found.empty();
}

bool read_time(const FrameView& view, Value& value) {
    value.number = static_cast<std::uint64_t>(view.frame.time_ns);
    return set_text(value, local_text(view.frame.time_ns, view.scratch));
}

constexpr wire::ValueName encapsulations[] = {{1, "Ethernet"},
                                              {7, "Raw IP"},
                                              {15, "NULL/Loopback"},
                                              {25, "Linux cooked-mode capture v1"},
                                              {97, "Per-Packet Information header"},
                                              {98, "Extensible Record Format"},
                                              {141, "NFLOG"},
                                              {129, "Raw IPv4"},
                                              {130, "Raw IPv6"},
                                              {150, "InfiniBand"},
                                              {174, "OpenBSD loopback"},
                                              {180, "IP over IB"},
                                              {210, "Linux cooked-mode capture v2"}};

// Named as Wireshark names them; in its order. It calls an interface that has a number and no name unknown.
constexpr ReadField<FrameView> frame_table[] = {
    {{"frame.encap_type", "Encapsulation type", 0, 0, Kind::uint16, Base::dec, false, encapsulations},
     [](const FrameView& f, Value& v) { return set(v, encapsulation_number(f.frame.link_type)); }},
    {number("frame.interface_id", "Interface id"),
     [](const FrameView& f, Value& v) { return set(v, f.interface.id.value_or(0)) && f.interface.id.has_value(); }},
    {text("frame.interface_name", "Interface name"),
     [](const FrameView& f, Value& v) {
         const bool unknown = f.interface.name.empty() && f.interface.id;
         return set_text(v, unknown ? "unknown" : f.interface.name);
     }},
    {text("frame.time", "Arrival Time"), read_time},
    {time("frame.time_epoch", "Epoch Time"), [](const FrameView& f, Value& v) { return set_time(v, f.frame.time_ns); }},
    {time("frame.time_delta", "Time delta from previous captured frame"),
     [](const FrameView& f, Value& v) { return set_time(v, f.times.since_previous); }},
    {time("frame.time_delta_displayed", "Time delta from previous displayed frame"),
     [](const FrameView& f, Value& v) { return set_time(v, f.times.since_shown); }},
    {time("frame.time_relative", "Time since first frame"),
     [](const FrameView& f, Value& v) { return set_time(v, f.times.since_first); }},
    {number("frame.number", "Frame Number"), [](const FrameView& f, Value& v) { return set(v, f.frame.number); }},
    {number("frame.len", "Frame Length"), [](const FrameView& f, Value& v) { return set(v, f.frame.wire_length); }},
    {number("frame.cap_len", "Capture Length"),
     [](const FrameView& f, Value& v) { return set(v, f.frame.bytes.size()); }},
    {text("frame.protocols", "Protocols in frame"),
     [](const FrameView& f, Value& v) { return set_text(v, f.protocols); }},
    // Any number of them: describe_frame() has each.
    {text("frame.comment", "Comment"), [](const FrameView&, Value&) { return false; }},
};

// Ours. What a unit of iWARP alone has comes last.
constexpr ReadField<Unit> unit_table[] = {
    {text_with_words("rdma.transport", "Transport", transport_words),
     [](const Unit& u, Value& v) { return set_text(v, key_of(u.transport)); }},
    {text_with_words("rdma.service", "Service", service_words),
     [](const Unit& u, Value& v) { return set_text(v, service_of(u)); }},
    {text_with_words("rdma.operation", "Operation", operation_words),
     [](const Unit& u, Value& v) { return set_text(v, operation_of(u)); }},
    {text_with_words("rdma.position", "Position in the message", position_words),
     [](const Unit& u, Value& v) { return set_text(v, position_of(u)); }},
    {number("rdma.length", "Payload bytes"), [](const Unit& u, Value& v) { return set(v, length_of(u)); }},
    {text_with_words("rdma.crc", "CRC", crc_words), [](const Unit& u, Value& v) { return set_text(v, crc_of(u)); }},
    {number("rdma.repeats_frame", "Retransmission of frame"),
     [](const Unit& u, Value& v) { return set(v, u.repeats_frame) && u.repeats_frame != 0; }},
    {number("rdma.first_frame", "Begins in frame"),
     [](const Unit& u, Value& v) { return set(v, u.first_frame) && u.first_frame != u.frame.number; }},
    {number("rdma.stream", "TCP connection"),
     [](const Unit& u, Value& v) { return set(v, u.stream) && u.transport == Transport::iwarp; }},
    {{"rdma.from_client", "From the side that opened the connection", 0, 0, Kind::boolean},
     [](const Unit& u, Value& v) { return set(v, u.from_client ? 1 : 0) && u.transport == Transport::iwarp; }},
    {number("rdma.tcp_sequence", "TCP sequence number"),
     [](const Unit& u, Value& v) { return set(v, u.sequence) && u.transport == Transport::iwarp; }},
    {number("rdma.tcp_octets", "Bytes of the TCP stream"),
     [](const Unit& u, Value& v) { return set(v, u.stream_length) && u.transport == Transport::iwarp; }},
    {number("rdma.markers", "MPA markers"),
     [](const Unit& u, Value& v) { return set(v, u.markers) && u.markers != 0; }},
    {number("rdma.exceeds_mss", "Longer than a segment, whose MSS is"),
     [](const Unit& u, Value& v) {
         return set(v, u.mss) && u.mss != 0 && u.stream_length > u.mss && u.dissection.has(LayerId::mpa_fpdu);
     }},
};

bool stopped(const Dissection& d) { return d.stop.outcome != Outcome::complete; }
bool lacks_octets(const Dissection& d) { return stopped(d) && d.stop.needed > d.stop.available; }

constexpr ReadField<Dissection> outcome_table[] = {
    {text_with_words("rdma.outcome", "Outcome", outcome_words),
     [](const Dissection& d, Value& v) { return set_text(v, name_of(d.stop.outcome)); }},
    {text("rdma.reason", "Reason"),
     [](const Dissection& d, Value& v) { return set_text(v, dissect::text(d.stop.reason)); }},
    {text("rdma.layer", "Layer"),
     [](const Dissection& d, Value& v) {
         return stopped(d) && d.stop.layer != LayerId::none && set_text(v, row_of(d.stop.layer).name);
     }},
    {number("rdma.offset", "Offset"),
     [](const Dissection& d, Value& v) { return set(v, d.stop.offset) && stopped(d); }},
    {number("rdma.needed", "Bytes needed"),
     [](const Dissection& d, Value& v) { return set(v, d.stop.needed) && lacks_octets(d); }},
    {number("rdma.available", "Bytes available"),
     [](const Dissection& d, Value& v) { return set(v, d.stop.available) && lacks_octets(d); }},
    {text("rdma.odd", "Odd"),
     [](const Dissection& d, Value& v) { return d.odd_count != 0 && set_text(v, dissect::text(d.odd.reason)); }},
    {number("rdma.odd_count", "Odd things"),
     [](const Dissection& d, Value& v) { return set(v, d.odd_count) && d.odd_count != 0; }},
};

constexpr ReadField<Notice> notice_table[] = {
    {number("rdma.notice.stream", "TCP connection"), [](const Notice& n, Value& v) { return set(v, n.stream); }},
    {number("rdma.notice.octets", "Bytes", Kind::uint64),
     [](const Notice& n, Value& v) { return set(v, n.octets) && n.octets != 0; }},
    {number("rdma.notice.frame", "Frame"),
     [](const Notice& n, Value& v) { return set(v, n.related_frame) && n.related_frame != 0; }},
};

template <class Subject>
void visit(std::span<const ReadField<Subject>> table, const Subject& subject, Visitor& visitor) {
    for (const auto& row : table) {
        Value value;
        if (row.read(subject, value)) visitor.field(row.info, value, {});
    }
}

}  // namespace

constinit const FieldInfo frame_heading{"frame", "Frame"};
constinit const FieldInfo unit_heading{"rdma", "RDMA packet"};
constinit const FieldInfo notice_heading{"rdma.notice", "Notice", 0, 0, Kind::string};
const FieldInfo& frame_time_field = frame_table[3].info;
static const FieldInfo& repeats_field = unit_table[6].info;
static_assert(unit_table[6].info.name == "rdma.repeats_frame");
static const FieldInfo& comment_field = std::end(frame_table)[-1].info;

std::span<const ReadField<FrameView>> frame_fields() { return frame_table; }
std::span<const ReadField<Unit>> unit_fields() { return unit_table; }
std::span<const ReadField<Dissection>> outcome_fields() { return outcome_table; }
std::span<const ReadField<Notice>> notice_fields() { return notice_table; }

void describe_frame(const FrameView& view, Visitor& visitor) {
    visitor.open(frame_heading, {}, {0, static_cast<std::uint32_t>(view.frame.bytes.size())});
    visit(frame_fields(), view, visitor);
    wire::for_each_comment(view.frame.comment, [&](std::string_view comment) {
        Value value;
        value.text = comment;
        visitor.field(comment_field, value, {});
    });
    visitor.close();
}

void describe_unit(const Unit& unit, Visitor& visitor) {
    visitor.open(unit_heading, {}, {0, static_cast<std::uint32_t>(unit.bytes.size())});
    visit(unit_fields(), unit, visitor);
    visit(outcome_fields(), unit.dissection, visitor);
    visitor.close();
}

void describe_outcome(const Dissection& dissection, Visitor& visitor) {
    if (!stopped(dissection) && dissection.odd_count == 0) return;
    visitor.open(unit_heading, {}, {});
    visit(outcome_fields(), dissection, visitor);
    visitor.close();
}

void describe_notice(const Notice& notice, Visitor& visitor) {
    visitor.open(unit_heading, {}, {});
    // A segment whose bytes all passed before holds no new unit: the notice is all that a frame shows of it.
    if (notice.kind == Notice::Kind::tcp_retransmission && notice.related_frame != 0) {
        Value value;
        set(value, notice.related_frame);
        visitor.field(repeats_field, value, {});
    }
    visitor.open(notice_heading, {0, {}, text_of(notice.kind)}, {});
    visit(notice_fields(), notice, visitor);
    visitor.close();
    visitor.close();
}

namespace {
/// Link layers whose next header is named by an EtherType: Wireshark counts that as a protocol of its own.
bool names_ethertype(std::string_view protocol) {
    constexpr std::string_view naming[] = {"eth", "vlan", "sll", "avsp", "vntag", "etag", "cmd", "macsec"};
    return std::find(std::begin(naming), std::end(naming), protocol) != std::end(naming);
}
}  // namespace

void append_protocols(std::string& out, const Dissection& dissection) {
    const FieldInfo* previous = nullptr;
    for (unsigned i = 0; i < dissection.layer_count; ++i) {
        const FieldInfo* protocol = row_of(dissection.layers[i].id).protocol;
        const bool stacked = protocol != nullptr && names_ethertype(protocol->name);
        if (protocol == nullptr || (protocol == previous && !stacked)) continue;
        const bool llc = dissection.layers[i].id == LayerId::llc;
        if (previous != nullptr && names_ethertype(previous->name) && !llc) out += ":ethertype";
        if (!out.empty()) out += ':';
        out += protocol->name;
        previous = protocol;
    }
}

unsigned encapsulation_number(wire::LinkType link_type) {
    switch (link_type) {
        case wire::LinkType::null: return 15;
        case wire::LinkType::ethernet: return 1;
        case wire::LinkType::raw: return 7;
        case wire::LinkType::loop: return 174;
        case wire::LinkType::linux_sll: return 25;
        case wire::LinkType::ppi: return 97;
        case wire::LinkType::erf: return 98;
        case wire::LinkType::ipv4: return 129;
        case wire::LinkType::ipv6: return 130;
        case wire::LinkType::nflog: return 141;
        case wire::LinkType::ipoib: return 180;
        case wire::LinkType::infiniband: return 150;
        case wire::LinkType::linux_sll2: return 210;
    }
    return 0;
}

std::string_view utc_text(std::int64_t time_ns, std::span<char, 64> scratch) {
    using namespace std::chrono;
    if (base::is_out_of_range(time_ns)) return base::out_of_range;
    constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    // The first day began before what nanoseconds can count.
    const auto whole = floor<seconds>(nanoseconds{time_ns});
    const auto day = floor<days>(whole);
    const year_month_day date{sys_days{day}};
    const hh_mm_ss clock{(whole - day) + (nanoseconds{time_ns} - whole)};
    char* at = scratch.data();
    const auto put = [&at](std::string_view piece) {
        for (const char c : piece) *at++ = c;
    };
    const auto put_number = [&](std::int64_t value, unsigned width, char fill) {
        std::array<char, 24> digits;
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        for (auto have = static_cast<unsigned>(end - digits.data()); have < width; ++have) *at++ = fill;
        put({digits.data(), static_cast<std::size_t>(end - digits.data())});
    };
    put(months[static_cast<unsigned>(date.month()) - 1]);
    put(" ");
    put_number(static_cast<unsigned>(date.day()), 2, ' ');
    put(", ");
    put_number(static_cast<int>(date.year()), 4, '0');
    put(" ");
    put_number(clock.hours().count(), 2, '0');
    put(":");
    put_number(clock.minutes().count(), 2, '0');
    put(":");
    put_number(clock.seconds().count(), 2, '0');
    put(".");
    put_number(clock.subseconds().count(), 9, '0');
    put(" UTC");
    return {scratch.data(), static_cast<std::size_t>(at - scratch.data())};
}

std::string_view local_text(std::int64_t time_ns, std::span<char, 64> scratch) {
    using namespace std::chrono;
    constexpr std::string_view utc = "UTC";
    const std::time_t when = floor<seconds>(nanoseconds{time_ns}).count();
    std::tm local{};
    std::int64_t shifted_ns = 0;
    const bool known = !base::is_out_of_range(time_ns) && ::localtime_r(&when, &local) != nullptr &&
                       !__builtin_add_overflow(time_ns, nanoseconds{seconds{local.tm_gmtoff}}.count(), &shifted_ns);
    if (!known || base::is_out_of_range(shifted_ns)) return utc_text(time_ns, scratch);
    const std::string_view text = utc_text(shifted_ns, scratch);
    const std::size_t clock = text.size() - utc.size();
    const std::string_view zone = std::string_view(local.tm_zone).substr(0, scratch.size() - clock);
    std::copy(zone.begin(), zone.end(), scratch.begin() + static_cast<std::ptrdiff_t>(clock));
    return {scratch.data(), clock + zone.size()};
}

}  // namespace dissect::output
