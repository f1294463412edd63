#include "metrics/figures/snapshot_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <fmt/core.h>
#include <limits>
#include <type_traits>

/// Every member is named once, in members(): Writer and Reader walk the same list, over a const snapshot or over one
/// that is being filled. A member of a later version goes to the end of its list, after `if (c.version() >= N)`.
namespace metrics::inline figures {
namespace {

constexpr std::size_t longest_text = 4096;  ///< bytes; a longer text is cut

/// The least number of bytes of one element: a count reserves no more memory than the bytes that follow it can fill.
template <class T>
constexpr std::size_t least_octets = 1;
template <>
constexpr std::size_t least_octets<FlowSnapshot> = 100;
template <>
constexpr std::size_t least_octets<HostSnapshot> = 20;
template <>
constexpr std::size_t least_octets<PauseSnapshot> = 20;
template <>
constexpr std::size_t least_octets<ConnectionAttempt> = 12;
template <>
constexpr std::size_t least_octets<ReuseBin> = 3;
template <>
constexpr std::size_t least_octets<EventSummary> = 5;
template <>
constexpr std::size_t least_octets<AddressName> = 4;
template <>
constexpr std::size_t least_octets<PauseSender> = 21;
template <>
constexpr std::size_t least_octets<OperationWaits> = 7;
template <>
constexpr std::size_t least_octets<StatusCount> = 2;
template <>
constexpr std::size_t least_octets<CommandKindFigures> = 32;
template <>
constexpr std::size_t least_octets<CommandRecord> = 25;

/// Small numbers of either sign become small numbers.
constexpr std::uint64_t zigzag(std::uint64_t value) { return value << 1 ^ (value >> 63 != 0 ? ~std::uint64_t{0} : 0); }
constexpr std::uint64_t unzigzag(std::uint64_t value) {
    return value >> 1 ^ ((value & 1) != 0 ? ~std::uint64_t{0} : 0);
}
static_assert(unzigzag(zigzag(0x8000000000000000)) == 0x8000000000000000 && zigzag(~std::uint64_t{0}) == 1);

/// Round numbers have zeros at the end of their mantissa: with the exponent last, they are short.
std::uint64_t short_bits(double value) { return __builtin_bswap64(std::bit_cast<std::uint64_t>(value)); }

class Writer {
public:
    static constexpr bool reading = false;
    Writer(std::vector<std::byte>& out, unsigned version) : out_(out), version_(version) {}

    unsigned version() const { return version_; }
    bool good() const { return true; }

    void number(std::uint64_t value, std::uint64_t = 0) {
        while (value >= 0x80) {
            out_.push_back(static_cast<std::byte>(value | 0x80));
            value >>= 7;
        }
        out_.push_back(static_cast<std::byte>(value));
    }
    template <class T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
    void item(T value) { number(static_cast<std::uint64_t>(value)); }
    /// What lies near `base`, below or above it.
    template <std::integral T, std::integral B>
    void near(T value, B base) {
        number(zigzag(static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(base)));
    }
    void item(double value) { number(short_bits(std::isfinite(value) ? value : 0)); }
    void item(const std::string& text) {
        const std::size_t length = std::min(text.size(), longest_text);
        number(length);
        for (std::size_t i = 0; i < length; ++i) out_.push_back(static_cast<std::byte>(text[i]));
    }
    void item(AttemptOutcome outcome) {
        item(outcome == AttemptOutcome::unknown ? std::string() : std::string(name_of(outcome)));
    }
    void item(const Address& address) {
        item(address.family);
        std::size_t used = address.octets.size();
        while (used != 0 && address.octets[used - 1] == 0) --used;
        number(used);
        for (std::size_t i = 0; i < used; ++i) out_.push_back(static_cast<std::byte>(address.octets[i]));
    }
    void item(const Histogram& histogram) {
        number(histogram.buckets().size());
        unsigned next = 0;
        for (const Histogram::Bucket& bucket : histogram.buckets()) {
            number(bucket.index - next);
            number(bucket.count - 1);
            next = bucket.index + 1u;
        }
        if (histogram.empty()) return;
        number(histogram.sum());
        number(*histogram.min());
        number(*histogram.max() - *histogram.min());
    }
    template <class T>
    std::size_t count_of(const std::vector<T>& list) {
        number(list.size());
        return list.size();
    }
    /// Which of the members are there, as bits, the first lowest.
    template <class... T>
    std::uint64_t presence(const T&... members) {
        std::uint64_t bits = 0;
        unsigned place = 0;
        ((bits |= std::uint64_t{members.has_value()} << place++), ...);
        number(bits);
        return bits;
    }

private:
    std::vector<std::byte>& out_;
    unsigned version_;
};

/// After the first error every number is 0 and every list empty, so that walking on ends soon.
class Reader {
public:
    static constexpr bool reading = true;
    Reader(base::Bytes octets, std::size_t at, unsigned version) : octets_(octets), at_(at), version_(version) {}

    unsigned version() const { return version_; }
    bool good() const { return error_.message.empty(); }
    const CodecError& error() const { return error_; }
    std::size_t left() const { return octets_.size() - at_; }
    void fail(std::string message) {
        if (good()) error_ = {std::move(message), at_};
    }

    std::uint64_t number(std::uint64_t = 0, std::uint64_t most = ~std::uint64_t{0}) {
        std::uint64_t value = 0;
        for (unsigned shift = 0; good(); shift += 7) {
            if (at_ == octets_.size()) {
                fail("ends in the middle");
                break;
            }
            const auto octet = std::to_integer<std::uint64_t>(octets_[at_++]);
            if (shift == 63 && octet > 1) {
                fail("a number of more than 64 bits");
                break;
            }
            value |= (octet & 0x7f) << shift;
            if (octet < 0x80) break;
        }
        if (good() && value > most) fail(fmt::format("{} where {} is the most", value, most));
        return good() ? value : 0;
    }
    template <std::integral T>
    void item(T& into) {
        into = static_cast<T>(number(0, static_cast<std::uint64_t>(std::numeric_limits<T>::max())));
    }
    void item(std::int64_t&) = delete;  // is written by near()
    template <class T>
    requires std::is_enum_v<T>
    void item(T& into) { into = static_cast<T>(number(0, static_cast<std::uint64_t>(last_of(into)))); }
    template <std::integral T, std::integral B>
    void near(T& into, B base) {
        into = static_cast<T>(unzigzag(number()) + static_cast<std::uint64_t>(base));
    }
    void item(double& into) {
        const auto value = std::bit_cast<double>(__builtin_bswap64(number()));
        if (!std::isfinite(value)) fail("a number that is not finite");
        into = good() ? value : 0;
    }
    void item(std::string& into) {
        const base::Bytes text = take(number(0, longest_text));
        into.assign(reinterpret_cast<const char*>(text.data()), text.size());
    }
    /// By name, as the first version wrote it. A name of a later version is unknown here.
    void item(AttemptOutcome& into) {
        std::string name;
        item(name);
        into = attempt_outcome_named(name);
    }
    void item(Address& into) {
        item(into.family);
        const base::Bytes octets = take(number(0, into.octets.size()));
        if (!octets.empty()) std::memcpy(into.octets.data(), octets.data(), octets.size());
    }
    void item(Histogram& into) {
        const std::uint64_t count = number(0, HistogramBuckets::count);
        if (count == 0) return;
        std::vector<Histogram::Bucket> buckets;
        buckets.reserve(std::min<std::size_t>(count, left() / 2));
        std::uint64_t next = 0;
        for (std::uint64_t i = 0; i < count && good(); ++i) {
            const std::uint64_t index = next + number(0, HistogramBuckets::count);
            if (index >= HistogramBuckets::count) fail("a histogram's bucket that does not exist");
            buckets.push_back({static_cast<std::uint16_t>(index), number(0, ~std::uint64_t{0} - 1) + 1});
            next = index + 1;
        }
        const std::uint64_t sum = number();
        const std::uint64_t least = number(0, HistogramBuckets::max_value);
        const std::uint64_t greatest = least + number(0, HistogramBuckets::max_value - least);
        auto restored = good() ? Histogram::restore(std::move(buckets), sum, least, greatest) : std::nullopt;
        if (restored)
            into = std::move(*restored);
        else
            fail("a histogram that contradicts itself");
    }
    template <class T>
    std::size_t count_of(std::vector<T>& list) {
        const std::uint64_t count = number();
        if (count > left() / least_octets<T>) fail(fmt::format("{} more entries than its bytes can hold", count));
        if (good()) list.reserve(count);
        return good() ? count : 0;
    }
    template <class... T>
    std::uint64_t presence(T&... members) {
        const std::uint64_t bits = number(0, (std::uint64_t{1} << sizeof...(members)) - 1);
        unsigned place = 0;
        ((bits >> place++ & 1 ? static_cast<void>(members.emplace()) : members.reset()), ...);
        return bits;
    }

private:
    static constexpr wire::Transport last_of(wire::Transport) { return wire::Transport::iwarp; }
    static constexpr wire::AddressFamily last_of(wire::AddressFamily) { return wire::AddressFamily::gid; }
    static constexpr Operation last_of(Operation) { return Operation::compare_swap; }
    static constexpr Service last_of(Service) { return Service::xrc; }
    static constexpr PairingMethod last_of(PairingMethod) { return PairingMethod::psn; }
    static constexpr Vantage last_of(Vantage) { return Vantage::mid_path; }
    static constexpr EndKind last_of(EndKind) { return EndKind::ports_reused; }
    static constexpr RejectReason last_of(RejectReason) { return RejectReason::stale_connection; }
    static constexpr EventKind last_of(EventKind) { return EventKind::icmp_error; }

    base::Bytes take(std::size_t length) {
        if (length > left()) {
            fail("ends in the middle");
            return {};
        }
        at_ += length;
        return octets_.subspan(at_ - length, length);
    }

    base::Bytes octets_;
    std::size_t at_;
    unsigned version_;
    CodecError error_;
};

/// Versions before the eighth have the words alone.
std::optional<EndKind> end_kind_of(std::string_view words) {
    if (words.starts_with("REJ: ")) return EndKind::rejected;
    const auto found = std::ranges::find(end_kind_names, words);
    if (found == end_kind_names.end()) return std::nullopt;
    return static_cast<EndKind>(found - end_kind_names.begin());
}
std::optional<RejectReason> reject_reason_of(std::string_view words) {
    constexpr std::array<std::string_view, 5> names{"No QP available", "No resources available", "Timeout",
                                                    "Invalid Service ID", "Stale connection"};
    const auto found = std::ranges::find(names, words);
    if (found == names.end()) return std::nullopt;
    return static_cast<RejectReason>(found - names.begin());
}

/// T itself or const T: what a Reader and what a Writer is given.
template <class Member, class T>
concept Of = std::same_as<std::remove_const_t<Member>, T>;

template <class C, class T>
void value(C& c, T& member);
template <class C, class... T>
void all(C& c, T&... values) {
    (value(c, values), ...);
}

/// Absent ones cost a bit.
template <class C, class... T>
void optionals(C& c, T&... values) {
    static_assert(sizeof...(values) < 64);
    c.presence(values...);
    ((values ? value(c, *values) : void()), ...);
}

/// Frames' numbers, mostly ascending.
template <class C, class List>
void frames(C& c, List& list) {
    const std::size_t count = c.count_of(list);
    if constexpr (C::reading) list.resize(count);
    std::uint64_t last = 0;
    for (auto& frame : list) {
        c.near(frame, last);
        last = frame;
    }
}

template <class C>
void members(C& c, Of<Endpoint> auto& e) {
    value(c, e.address);
    optionals(c, e.qpn, e.port);
}
template <class C>
void members(C& c, Of<OperationFigures> auto& o) {
    all(c, o.count, o.bytes, o.latency_ns, o.first_response_ns);
}
template <class C>
void members(C& c, Of<AddressName> auto& n) {
    all(c, n.address, n.guid, n.name);
}
template <class C>
void members(C& c, Of<EventSummary> auto& e) {
    all(c, e.kind, e.count);
    frames(c, e.frames);
    all(c, e.value_max, e.value_sum);
}
template <class C>
void members(C& c, Of<RecoveryFigures> auto& r) {
    all(c, r.count, r.nak_generation_ns, r.nak_reaction_ns, r.total_ns);
}
template <class C>
void members(C& c, Of<ConnectionFigures> auto& f) {
    optionals(c, f.setup_ns, f.initiator_depth, f.responder_resources, f.path_mtu, f.ack_timeout_ns, f.retry_count,
              f.rnr_retry_count, f.starting_psn, f.mpa_revision, f.mpa_crc, f.mpa_markers);
    all(c, f.setup_frame, f.end, f.end_frame);
    if (c.version() >= 8) optionals(c, f.end_kind);
    if constexpr (C::reading)
        if (c.version() < 8) f.end_kind = end_kind_of(f.end);
    if (c.version() >= 8) all(c, f.refused_peer_to_peer_frame);
    if (c.version() >= 11) optionals(c, f.service_id);
    if (c.version() < 14) return;
    c.presence(f.end_ns);
    if (f.end_ns) c.near(*f.end_ns, 0);
}
template <class C>
void members(C& c, Of<TcpFigures> auto& t) {
    all(c, t.segments, t.retransmitted_segments, t.retransmitted_bytes, t.out_of_order_segments, t.duplicate_acks,
        t.sack_blocks, t.zero_windows, t.ece_acks, t.cwr_segments, t.round_trip_ns, t.window_limited_ns);
    optionals(c, t.handshake_ns, t.mss, t.receive_window_min, t.receive_window_max);
    if (c.version() >= 4) all(c, t.connection_bytes, t.unread_bytes);
    if (c.version() >= 8) all(c, t.fpdu_bytes_max);
}
template <class C>
void members(C& c, Of<IcmpFigures::Errors> auto& e) {
    all(c, e.count, e.sender);
}
template <class C>
void members(C& c, Of<IcmpFigures> auto& i) {
    all(c, i.kinds);
    optionals(c, i.mtu);
}
template <class C>
void members(C& c, Of<RequestFigures> auto& r) {
    all(c, r.operation, r.message_bytes, r.packet_bytes, r.frame);
}
template <class C>
void members(C& c, Of<RetryFigures> auto& r) {
    all(c, r.request, r.is_first, r.repeats, r.rnr_naks, r.refused_last);
    c.near(r.first_ns, 0);
    c.near(r.last_ns, r.first_ns);
    all(c, r.repeat_frame, r.last_frame, r.interval_min_ns, r.interval_max_ns, r.rnr_timer_ns);
    optionals(c, r.acknowledged_bytes_max);
}
template <class C>
void members(C& c, Of<RepeatAnswerFigures> auto& r) {
    all(c, r.repeats, r.repeated_answers, r.first_repeat_min_ns, r.first_answer_ns);
}
template <class C>
void members(C& c, Of<PauseSender> auto& s) {
    all(c, s.mac, s.host, s.forwards, s.frames, s.resume_frames, s.priority_frames);
    c.near(s.first_ns, 0);
    c.near(s.last_ns, s.first_ns);
}
template <class C>
void members(C& c, Of<Process> auto& p) {
    all(c, p.pid, p.command, p.container);
}
template <class C>
void members(C& c, Of<LevelFigures> auto& l) {
    optionals(c, l.capacity);
    all(c, l.mean, l.max, l.observed_ns, l.empty_ns, l.full_ns);
}
template <class C>
void members(C& c, Of<DelayFigures> auto& d) {
    all(c, d.post_to_wire_ns, d.wire_ns, d.wire_to_ack_ns, d.ack_to_poll_ns, d.whole_ns);
}
template <class C>
void members(C& c, Of<OperationWaits> auto& w) {
    all(c, w.operation, w.completion_ns, w.delays);
}
template <class C>
void members(C& c, Of<StatusCount> auto& s) {
    all(c, s.status, s.count);
}
template <class C>
void members(C& c, Of<VerbsFigures> auto& v) {
    all(c, v.process, v.device, v.queue_pair, v.posts, v.posts_refused, v.receives, v.receives_used, v.completions,
        v.completion_errors, v.statuses, v.records_lost, v.completions_missed, v.midway, v.send_queue, v.receive_queue,
        v.receive_queue_shared, v.post_interval_ns, v.operations, v.messages_matched, v.messages_unmatched,
        v.polled_early, v.held_ns, v.unpolled_ns);
}
template <class C>
void members(C& c, Of<ReuseBin> auto& bin) {
    all(c, bin.count, bin.distance, bin.turnaround_ns);
}
template <class C>
void members(C& c, Of<ReuseFigures> auto& r) {
    all(c, r.accesses, r.distinct, r.bins, r.working_set_mean, r.working_set_max);
}
template <class C>
void members(C& c, Of<HostSnapshot> auto& h) {
    all(c, h.address, h.sent_wire_bytes, h.received_wire_bytes, h.received_requests, h.senders, h.incast_senders_max,
        h.incast_frame, h.queue_pairs, h.remote_keys, h.pages);
    optionals(c, h.link_bits_per_sec);
    if (c.version() >= 8) all(c, h.sent_packets, h.received_packets);
    if (c.version() >= 10) all(c, h.link_is_learnt);
}
template <class C>
void members(C& c, Of<StopTimes> auto& s) {
    all(c, s.all_ns, s.priority_ns);
}
template <class C>
void members(C& c, Of<PauseSnapshot> auto& p) {
    all(c, p.interface, p.pause_frames, p.resume_frames, p.priority_frames, p.priority_quanta);
    frames(c, p.frames);
    if (c.version() >= 5) all(c, p.pfc_frames);
    if (c.version() >= 6) optionals(c, p.stopped_ns);
    if (c.version() >= 8) all(c, p.senders);
    // What is certain of former versions: the frames that stop one priority may be those that stop another.
    if constexpr (C::reading)
        if (c.version() < 5) p.pfc_frames = *std::max_element(p.priority_frames.begin(), p.priority_frames.end());
}
/// The table is its own: rows cannot be walked over while it is filled.
void carriers(Writer& c, const wire::CarrierCounts& counts) {
    c.number(counts.rows().size());
    for (const wire::CarrierCounts::Row& row : counts.rows()) {
        c.item(row.carrier.kind);
        c.number(row.carrier.number);
        c.number(row.frames);
    }
    c.number(counts.others());
}
void carriers(Reader& c, wire::CarrierCounts& counts) {
    const std::uint64_t rows = c.number(0, wire::CarrierCounts::most_rows);
    for (std::uint64_t i = 0; i < rows && c.good(); ++i) {
        wire::Carrier carrier;
        carrier.kind = static_cast<wire::CarrierKind>(c.number(0, wire::carrier_kinds - 1));
        carrier.number = static_cast<std::uint16_t>(c.number(0, 0xffff));
        counts.add(carrier, c.number());
    }
    counts.add_others(c.number());
}

template <class C>
void members(C& c, Of<CaptureFigures> auto& f) {
    all(c, f.packets, f.bytes, f.rdma_units, f.truncated, f.malformed, f.unsorted, f.seen_twice, f.icrc_bad,
        f.flows_evicted, f.flows_seen, f.streams_evicted, f.stream_octets_lost, f.stream_octets_skipped);
    optionals(c, f.kernel_dropped);
    c.near(f.first_ns, 0);
    c.near(f.last_ns, f.first_ns);
    if (c.version() >= 3) all(c, f.values_misplaced);
    if (c.version() >= 4) all(c, f.beyond_hosts);
    if (c.version() >= 8) carriers(c, f.unread);
    if (c.version() >= 8) all(c, f.copies, f.copies_elsewhere, f.copy_distance_ns);
    if (c.version() >= 8) all(c, f.management);
    if (c.version() >= 8) all(c, f.cut_by_mirror, f.headers_cut);
}

template <class C>
void members(C& c, Of<CommandRecord> auto& r) {
    all(c, r.number, r.id, r.kind, r.target, r.end, r.status, r.error);
    optionals(c, r.bytes, r.first_block, r.block_count, r.latency_ns, r.request_ack_ns);
    all(c, r.advertised_bytes, r.inline_bytes, r.moved_in_bytes, r.moved_out_bytes, r.operations, r.open_with_it,
        r.housekeeping, r.waits_for_event);
    c.near(r.request_first_frame, 0);
    c.near(r.request_last_frame, r.request_first_frame);
    c.near(r.data_first_frame, r.request_last_frame);
    c.near(r.data_last_frame, r.data_first_frame);
    c.near(r.response_frame, r.request_first_frame);
    c.near(r.begin_ns, 0);
    all(c, r.parts_ns, r.repair_own_ns, r.repair_behind_ns);
}
void statuses(Writer& c, const std::map<std::string, std::uint64_t>& counts) {
    c.number(counts.size());
    for (const auto& [status, count] : counts) {
        c.item(status);
        c.number(count);
    }
}
void statuses(Reader& c, std::map<std::string, std::uint64_t>& counts) {
    const std::uint64_t rows = c.number(0, CommandKindFigures::most_statuses + 1);
    for (std::uint64_t i = 0; i < rows && c.good(); ++i) {
        std::string status;
        c.item(status);
        counts[status] = c.number();
    }
}
template <class C>
void members(C& c, Of<CommandKindFigures> auto& k) {
    all(c, k.kind, k.commands, k.errors, k.bytes, k.inline_bytes, k.moved_in_bytes, k.moved_out_bytes, k.operations,
        k.orphans, k.replaced, k.unanswered, k.given_up, k.request_ack_ns, k.repair_own_ns, k.repair_behind_ns,
        k.housekeeping, k.latency_ns, k.size_bytes, k.parts_ns, k.think_ns, k.error_classes);
    statuses(c, k.statuses);
    all(c, k.slowest, k.failed, k.waiting, k.hurt);
    if (c.version() >= 11) all(c, k.unanswered_long);
}
/// The ends are the flow's.
template <class C>
void members(C& c, Of<CommandConnectionFigures> auto& f) {
    all(c, f.of_target, f.protocol, f.heading, f.evidence, f.confidence);
    if (f.of_target) return;
    optionals(c, f.queue, f.limit);
    all(c, f.number, f.target_name, f.initiator_name, f.operations, f.unbound_operations, f.late_operations, f.probes,
        f.events, f.overtaken, f.at_limit_ns, f.open_max, f.open_now);
    c.near(f.first_ns, 0);
    c.near(f.last_ns, f.first_ns);
    constexpr std::size_t former_states = 6;  // before version 13
    for (std::size_t i = 0; i < former_states; ++i) value(c, f.states_ns[i]);
    all(c, f.kinds);
    if (c.version() >= 11) all(c, f.open_long);
    bool is_open = f.oldest_open_ns.has_value();
    value(c, is_open);
    if (is_open) {
        std::int64_t oldest_ns = f.oldest_open_ns.value_or(0);
        c.near(oldest_ns, f.last_ns);
        if constexpr (C::reading) f.oldest_open_ns = oldest_ns;
    }
    if (c.version() < 12) return;
    optionals(c, f.limit_asked);
    all(c, f.congested_ports);
    if (c.version() < 13) return;
    for (std::size_t i = former_states; i < f.states_ns.size(); ++i) value(c, f.states_ns[i]);
    all(c, f.host_next_ns);
}

void classes(Writer& c, const FlowSnapshot& f) {
    c.number(f.packet_class.number());
    c.number(f.class_changes);
    c.number(f.other_classes.size());
    for (const ClassFigures& one : f.other_classes) {
        c.number(one.packet_class.number());
        all(c, one.packets, one.wire_bytes);
        c.near(one.first_frame, f.id);
        c.near(one.first_ns, f.first_ns);
    }
}
void classes(Reader& c, FlowSnapshot& f) {
    constexpr std::uint64_t greatest = std::numeric_limits<std::uint32_t>::max();
    f.packet_class = PacketClass(static_cast<std::uint32_t>(c.number(0, greatest)));
    f.class_changes = c.number();
    const std::uint64_t rows = c.number(0, most_flow_classes);
    for (std::uint64_t i = 0; i < rows && c.good(); ++i) {
        ClassFigures& one = f.other_classes.emplace_back();
        one.packet_class = PacketClass(static_cast<std::uint32_t>(c.number(0, greatest)));
        all(c, one.packets, one.wire_bytes);
        c.near(one.first_frame, f.id);
        c.near(one.first_ns, f.first_ns);
    }
}

template <class C>
void members(C& c, Of<HoleOutcomes> auto& h) {
    all(c, h.in_order, h.selective, h.placing);
}
void entropy(Writer& c, const Entropy& e) { c.number(e.number()); }
void entropy(Reader& c, Entropy& e) { e = Entropy(c.number()); }
template <class C>
void members(C& c, Of<EntropyFigures> auto& e) {
    entropy(c, e.entropy);
    all(c, e.packets, e.wire_bytes, e.ecn_ce_packets, e.late_packets, e.repeated_packets, e.loss_episodes);
}
template <class C>
void members(C& c, Of<SignCounts> auto& s) {
    all(c, s.more, s.less);
}
template <class C>
void members(C& c, Of<LossTimes> auto& l) {
    all(c, l.packets, l.episodes, l.packets_since, l.widest_gap);
    c.near(l.last_ns, 0);
}
template <class C>
void members(C& c, Of<EntropyWindows> auto& w) {
    entropy(c, w.entropy);
    all(c, w.marks, w.delays, w.longer_ns);
    if (c.version() < 13) return;
    all(c, w.losses, w.losses_before);
    c.near(w.rerouted_ns, 0);
}
template <class C>
void members(C& c, Of<PathWindowFigures> auto& w) {
    all(c, w.source, w.destination, w.dscp, w.max_over_mean_permille, w.rows);
}
template <class C>
void members(C& c, Of<PathFigures> auto& p) {
    all(c, p.entropies, p.entropy_changes, p.rows, p.hop_limits, p.loss_episodes, p.late_refused, p.outcomes,
        p.late_depth);
    if (c.version() >= 13) value(c, p.late_ns);
}

/// Flows and attempts are close to one another and to the capture's beginning: `id` and time are written as
/// differences.
template <class C>
void members(C& c, Of<FlowSnapshot> auto& f, std::uint64_t last_id, std::int64_t begin_ns) {
    c.near(f.id, last_id);
    c.near(f.first_ns, begin_ns);
    c.near(f.last_ns, f.first_ns);
    optionals(c, f.reverse, f.retransmitted_packets, f.duplicate_packets, f.reordered_packets, f.missing_packets,
              f.credits_last, f.link_bits_per_sec, f.round_trip_min_ns, f.reaction_min_ns, f.rate_drop_after_cnp,
              f.tcp);
    all(c, f.transport, f.service, f.source, f.destination, f.pairing.method, f.pairing.confidence, f.vantage,
        f.confidence, f.traffic_class, f.interface, f.finished);
    all(c, f.packets, f.wire_bytes, f.payload_bytes, f.acknowledgement_packets, f.timeouts,
        f.unseen_acknowledged_packets, f.operations, f.message_bytes, f.message_duration_ns);
    all(c, f.messages_mean, f.bytes_mean, f.messages_max, f.bytes_max, f.responses_max, f.at_max_ns, f.merged_messages);
    all(c, f.naks, f.rnr_naks, f.rnr_timer_ns, f.credits_exhausted, f.ecn_ce_packets, f.ecn_capable_packets,
        f.cnp_packets, f.cnp_interval_ns, f.icrc_bad, f.crc_bad, f.terminates);
    all(c, f.state_ns, f.state_unsure_ns, f.reaction_tolerance_ns, f.queueing_ns, f.recovery, f.connection,
        f.event_summaries);
    if (c.version() >= 2) optionals(c, f.verbs);
    if (c.version() >= 8) {
        optionals(c, f.retries, f.refused, f.repeat_answers, f.udp_port);
        all(c, f.last_answer_frame, f.udp_ports);
    }
    if (c.version() >= 8) all(c, f.icrc_zero, f.icrc_taken, f.crc_bad_checksum_right);
    if (c.version() >= 8) optionals(c, f.icmp);
    if (c.version() >= 9) optionals(c, f.commands);
    if (c.version() >= 11) classes(c, f);
    if (c.version() >= 12) entropy(c, f.entropy);
    if (c.version() >= 12) optionals(c, f.path);
    if constexpr (C::reading)
        if (c.version() < 11 && f.packets != 0) f.packet_class = PacketClass::of(f.traffic_class);
}
template <class C>
void members(C& c, Of<ConnectionAttempt> auto& a, std::uint64_t last_frame, std::int64_t begin_ns) {
    c.near(a.request_frame, last_frame);
    c.near(a.request_ns, begin_ns);
    all(c, a.transport, a.client, a.server, a.requests, a.end_frame, a.outcome, a.reason);
    if (c.version() >= 7) all(c, a.by_client);
    if (c.version() >= 8) optionals(c, a.reject_reason);
    if constexpr (C::reading)
        if (c.version() < 8) a.reject_reason = reject_reason_of(a.reason);
    if (c.version() >= 8) optionals(c, a.icmp);
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsArray : std::false_type {};
template <class T, std::size_t size>
struct IsArray<std::array<T, size>> : std::true_type {};

template <class T>
struct IsCompactValue : std::false_type {};
template <class T>
struct IsCompactValue<base::CompactValue<T>> : std::true_type {};
template <class T>
struct IsCompactArray : std::false_type {};
template <class T, std::size_t size>
struct IsCompactArray<base::CompactArray<T, size>> : std::true_type {};
template <class T>
struct IsSparseArray : std::false_type {};
template <class T, std::size_t size>
struct IsSparseArray<base::SparseArray<T, size>> : std::true_type {};

/// What holds nothing takes no memory after it is read either.
template <class T>
void compact_value(Reader& c, base::CompactValue<T>& member) {
    T one;
    value(c, one);
    member = std::move(one);
}
template <class T>
void compact_value(Writer& c, const base::CompactValue<T>& member) {
    value(c, *member);
}
template <class T, std::size_t size>
void compact_values(Reader& c, base::CompactArray<T, size>& member) {
    std::array<T, size> values{};
    for (T& one : values) value(c, one);
    member = values;
}
template <class T, std::size_t size>
void compact_values(Writer& c, const base::CompactArray<T, size>& member) {
    for (const T& one : member) value(c, one);
}
void sparse_values(Reader& c, OperationTable& member) {
    for (std::size_t i = 0; i < member.size(); ++i) {
        OperationFigures one;
        value(c, one);
        if (!one.empty()) member[i] = std::move(one);
    }
}
void sparse_values(Writer& c, const OperationTable& member) {
    for (const OperationFigures& one : member) value(c, one);
}

template <class C, class List>
auto& element(List& list, std::size_t i) {
    if constexpr (C::reading)
        return list.emplace_back();
    else
        return list[i];
}

template <class C, class T>
void value(C& c, T& member) {
    if constexpr (requires { c.item(member); }) {
        c.item(member);
    } else if constexpr (IsArray<std::remove_const_t<T>>::value) {
        for (auto& one : member) value(c, one);
    } else if constexpr (IsCompactValue<std::remove_const_t<T>>::value) {
        compact_value(c, member);
    } else if constexpr (IsCompactArray<std::remove_const_t<T>>::value) {
        compact_values(c, member);
    } else if constexpr (IsSparseArray<std::remove_const_t<T>>::value) {
        sparse_values(c, member);
    } else if constexpr (IsVector<std::remove_const_t<T>>::value) {
        const std::size_t count = c.count_of(member);
        for (std::size_t i = 0; i < count && c.good(); ++i) value(c, element<C>(member, i));
    } else {
        members(c, member);
    }
}

template <class C, class List>
void in_order(C& c, List& list, std::uint64_t List::value_type::*number, std::int64_t begin_ns) {
    const std::size_t count = c.count_of(list);
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < count && c.good(); ++i) {
        auto& one = element<C>(list, i);
        members(c, one, last, begin_ns);
        last = one.*number;
    }
}

template <class C>
void members(C& c, Of<Snapshot> auto& s) {
    value(c, s.capture);
    in_order(c, s.flows, &FlowSnapshot::id, s.capture.first_ns);
    all(c, s.hosts, s.pauses);
    in_order(c, s.attempts, &ConnectionAttempt::request_frame, s.capture.first_ns);
    value(c, s.memory_octets);
    if (c.version() >= 12) value(c, s.path_windows);
    if (c.version() >= 13) value(c, s.names);
}

}  // namespace

void encode(const Snapshot& snapshot, std::vector<std::byte>& out, std::uint16_t version) {
    out.push_back(static_cast<std::byte>(version & 0xff));
    out.push_back(static_cast<std::byte>(version >> 8));
    Writer writer(out, version);
    members(writer, snapshot);
}

base::Result<Snapshot, CodecError> decode_snapshot(base::Bytes octets) {
    if (octets.size() < 2) return base::Failure{CodecError{"ends before its version", octets.size()}};
    const auto version = static_cast<unsigned>(base::load_u8(&octets[0]) | base::load_u8(&octets[1]) << 8);
    if (version == 0) return base::Failure{CodecError{"is no encoded snapshot (version 0)", 0}};
    if (version > snapshot_version)
        return base::Failure{CodecError{
            fmt::format("made by a later version ({}; this one reads up to {})", version, snapshot_version), 0}};
    Reader reader(octets, 2, version);
    Snapshot snapshot;
    members(reader, snapshot);
    if (reader.left() != 0) reader.fail(fmt::format("{} bytes too many", reader.left()));
    if (!reader.good()) return base::Failure{reader.error()};
    return snapshot;
}

}  // namespace metrics::figures
