#include "metrics/measure/hosts/host_clock.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <map>
#include <span>

#include "base/hash.h"
#include "metrics/measure/hosts/address_table.h"
#include "metrics/measure/hosts/frame_copies.h"
#include "metrics/measure/hosts/frame_print.h"
#include "metrics/measure/hosts/host_listing.h"
#include "metrics/measure/hosts/link_rate.h"
#include "metrics/measure/hosts/pause_timers.h"
#include "metrics/measure/hosts/repeated_frames.h"
#include "metrics/measure/hosts/sender_table.h"
#include "metrics/measure/packet/packet_summary.h"
#include "wire/bth_opcode.h"
#include "wire/mac_control.h"

namespace metrics::inline measure::inline hosts {

namespace {

constexpr std::size_t max_interfaces = 1024;
constexpr std::size_t frames_per_pause = 4;
constexpr std::size_t max_pause_senders = 64;
constexpr std::size_t source_mac_offset = 6;

/// Frames that follow each other inside one message of one host.
struct Run {
    std::int64_t last_ns = 0;
    std::uint32_t peer = 0;
    std::uint32_t selector = 0;
    std::uint32_t next_position = 0;
    std::uint32_t interface = 0;
    std::uint64_t ns = 0;  ///< of the frames since the last sample
    std::uint32_t octets = 0;
    std::uint32_t frame_octets = 0;  ///< of the last frame
    std::uint16_t frames = 0;
    PacketSummary::Kind kind = PacketSummary::Kind::other;
    bool goes_on = false;  ///< the message has not ended
};

/// What a host sent in a stretch of time, whatever it was: its link carries at least that.
struct Carried {
    std::int64_t since_ns = 0;
    std::uint64_t sent = 0;  ///< Host::sent then
    std::uint64_t bits_per_sec = 0;
};

struct Host {
    std::uint32_t number = AddressTable::none;  ///< none: it stands for all that there was no room for
    // Bytes, with what the link adds to each frame: gaps are compared with the time that these took.
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t sent_frames = 0;
    std::uint64_t received_frames = 0;
    std::uint64_t requests = 0;
    std::uint64_t segments = 0;  ///< of TCP, with payload
    std::uint64_t bits_per_sec = 0;
    Run run;
    LinkRate* rate = nullptr;
    std::uint64_t mac = 0;  ///< source of its first frame; 0 = not known
    Carried carried;
    SenderWindow incast;
};

/// Of a host that may be forgotten: what it had done when last it was looked at, and when it was left out.
struct Rest {
    std::uint64_t octets = 0;
    std::int64_t active_ns = 0;
    bool forgotten = false;
    // What is no longer described.
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t sent_frames = 0;
    std::uint64_t received_frames = 0;
    std::uint64_t requests = 0;
};

}  // namespace

/// Two hosts that were met lately, by their IPv4 addresses.
struct KnownPair {
    std::uint64_t addresses = 0;  ///< source, destination; 0 = none
    Host* from = nullptr;
    Host* to = nullptr;
    std::uint32_t shard_hash = 0;
};

struct HostClock::State {
    State(std::optional<std::uint64_t> link_bits_per_sec, std::size_t max_hosts)
        : given(link_bits_per_sec), addresses(max_hosts) {
        beyond.bits_per_sec = given.value_or(0);
    }

    struct Interface {
        PauseSnapshot pauses;
        std::uint32_t holding = 0;  ///< pause frames that ask for a time above zero
        bool seen = false;
        PauseTimers timers;
        std::map<std::uint64_t, PauseSender> senders;  ///< by MAC; at most max_pause_senders
    };

    std::optional<std::uint64_t> given;
    AddressTable addresses;
    std::deque<Host> hosts;   ///< known pairs and senders point to them
    std::vector<Rest> rests;  ///< of hosts, as many as there were at the last forget_idle()
    bool is_forgotten(std::uint32_t number) const {
        if (number >= rests.size() || !rests[number].forgotten) return false;
        return hosts[number].sent + hosts[number].received == rests[number].octets;
    }
    Host beyond;
    std::deque<LinkRate> rates;
    const Host* fastest = nullptr;  ///< the fastest with a learnt link rate
    std::vector<Interface> interfaces = std::vector<Interface>(1);
    static constexpr unsigned pairs_bits = 10;
    std::array<KnownPair, 1u << pairs_bits> pairs;
    SenderTable senders;
    RepeatedFrames repeated;
    FrameCopies copies;
    MirrorCuts cuts;
    dissect::Dissection scratch;
    std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
    std::uint64_t resolution_ns = 1'000'000;  ///< the largest power of ten that divides all times so far
    static constexpr std::uint32_t times_enough = 4096;
    std::uint32_t times = 0;
    std::uint64_t unsorted = 0;
    std::uint64_t twice = 0;
    std::uint64_t beyond_frames = 0;
    wire::CarrierCounts unread;

    /// The rate of the link, 0 while it is not known.
    std::uint64_t link_rate() const { return given ? *given : fastest == nullptr ? 0 : fastest->bits_per_sec; }
    std::uint32_t holding_at(std::uint32_t index) {
        return index == 0 ? interfaces.front().holding : interface_at(index).holding;
    }
    Interface& interface_at(std::uint32_t index) {
        const std::size_t place = std::min<std::size_t>(index, max_interfaces - 1);
        if (place >= interfaces.size()) [[unlikely]]
            interfaces.resize(place + 1);
        return interfaces[place];
    }
    Host& host_of(const Address& address, std::uint64_t hash) {
        const std::uint32_t number = addresses.number(address, hash);
        if (number == AddressTable::none) return beyond;
        if (number == hosts.size()) [[unlikely]] {
            Host& fresh = hosts.emplace_back();
            fresh.number = number;
            fresh.bits_per_sec = given.value_or(0);
        }
        return hosts[number];
    }

    KnownPair& place_of(std::uint64_t ipv4_addresses) {
        return pairs[ipv4_addresses * base::golden >> (64 - pairs_bits)];
    }
    KnownPair pair_of(const Address& source, const Address& destination);
    bool observe_plain(const wire::Frame& frame, FrameContext& context);
    bool observe_segment(const wire::Frame& frame, FrameContext& context);
    void observe_other(const wire::Frame& frame, FrameContext& context);
    void count(const TransportSummary& seen, const wire::Frame& frame, const KnownPair& pair, bool copy,
               FrameContext& context);
    void watch_copies(const wire::Frame& frame);
    void note_time(std::int64_t now_ns);
    bool is_repeated(const TransportSummary& seen, const wire::Frame& frame, std::uint64_t addresses_hash);
    void note_pause(const TransportSummary& seen, const wire::Frame& frame);
    static void note_pause_sender(Interface& interface, std::uint64_t mac, bool holds,
                                  const std::array<bool, 8>& stopped, std::int64_t now_ns);
    void note_mac(const PacketSummary& seen, const wire::Frame& frame, const KnownPair& pair);
    std::vector<PauseSender> senders_of(const Interface& interface) const;
    void note_run(const TransportSummary& seen, Host& source, std::uint32_t peer, const wire::Frame& frame,
                  std::uint32_t wire_octets);
    static bool opens_run(const TransportSummary& segment) {
        constexpr std::uint8_t push = 8;
        constexpr std::uint32_t full_segment = 512;
        return segment.payload >= full_segment && (segment.flags & push) == 0;
    }
    void note_carried(Host& source, std::int64_t now_ns);
    /// Also a host whose later messages have one frame each, and teach nothing, carries at least what it sends.
    void note_sent(Host& source, std::int64_t now_ns) {
        constexpr std::uint64_t frames = 1024;
        if (++source.sent_frames % frames == 0 && source.rate != nullptr) [[unlikely]]
            note_carried(source, now_ns);
    }
    void use_rate(Host& source, std::uint64_t learnt) {
        source.bits_per_sec = learnt == 0 ? 0 : std::max(learnt, source.carried.bits_per_sec);
        if (fastest == nullptr || source.bits_per_sec > fastest->bits_per_sec) fastest = &source;
    }
    void note_sample(Host& source);
    void note_sender(const Host& source, Host& destination, const wire::Frame& frame) {
        senders.note(source.number, destination.number, destination.incast, frame.time_ns, frame.number);
    }
};

KnownPair HostClock::State::pair_of(const Address& source, const Address& destination) {
    std::uint64_t both = 0;
    KnownPair* place = nullptr;
    if (source.family == wire::AddressFamily::ipv4) {
        both = std::uint64_t{base::load_be32(std::as_bytes(std::span(source.octets)).data())} << 32 |
               base::load_be32(std::as_bytes(std::span(destination.octets)).data());
        place = &place_of(both);
        if (place->addresses == both && both != 0) [[likely]]
            return *place;
    }
    const std::uint64_t source_hash = hash_of(source);
    const std::uint64_t destination_hash = hash_of(destination);
    KnownPair pair;
    pair.shard_hash = pair_hash(source_hash, destination_hash);
    pair.from = &host_of(source, source_hash);
    pair.to = &host_of(destination, destination_hash);
    pair.addresses = place != nullptr ? both : source_hash + 3 * destination_hash;
    if (place != nullptr && pair.from != &beyond && pair.to != &beyond) *place = pair;
    return pair;
}

/// Inlined twice: of a plain segment the compiler knows the kind, and keeps what was seen in registers.
[[gnu::always_inline]] inline void HostClock::State::count(const TransportSummary& seen, const wire::Frame& frame,
                                                           const KnownPair& pair, bool copy, FrameContext& context) {
    Host& source = *pair.from;
    Host& destination = *pair.to;
    context.shard_hash = pair.shard_hash;
    context.source_wire_bytes = source.sent;
    context.source_bits_per_sec = source.bits_per_sec;
    context.destination_requests = destination.requests + destination.segments;
    if (copy || is_repeated(seen, frame, pair.addresses)) [[unlikely]] {
        ++twice;
        context.seen_twice = true;
        return;
    }
    const std::uint32_t wire_octets = frame.wire_length + seen.cut_octets + ethernet_overhead;
    source.sent += wire_octets;
    note_sent(source, frame.time_ns);
    destination.received += wire_octets;
    ++destination.received_frames;
    bool data = seen.payload != 0;
    if (seen.kind == PacketSummary::Kind::bth) {
        const wire::BthRole role = wire::bth_opcode(seen.opcode).role;
        destination.requests += role == wire::BthRole::request;
        data = data && (role == wire::BthRole::request || role == wire::BthRole::response);
    } else {
        destination.segments += data;
    }
    if (&source == &beyond || &destination == &beyond) [[unlikely]] {
        ++beyond_frames;
        return;
    }
    if (given)
        ;  // nothing to learn
    else if (seen.kind == PacketSummary::Kind::bth && wire::bth_opcode(seen.opcode).part == wire::MessagePart::only)
        source.run.goes_on = false;  // neither continues a message nor leaves one open
    else if (source.run.goes_on || seen.kind != PacketSummary::Kind::tcp || opens_run(seen))
        note_run(seen, source, destination.number, frame, wire_octets);
    if (data) note_sender(source, destination, frame);
}

/// Plain frames between hosts that were met lately, on the only interface: most of them all. What observe_other() would
/// do to them, in one go; false, with nothing done, where the frame is another.
[[gnu::always_inline]] inline bool HostClock::State::observe_plain(const wire::Frame& frame, FrameContext& context) {
    std::uint32_t payload = 0;
    const OpcodeTraits* const opcode = plain_opcode(frame, payload);
    if (opcode == nullptr || copies.is_on()) return false;
    const std::byte* const bth = frame.bytes.data() + plain_bth_offset;
    const std::uint64_t both = base::load_be64(frame.bytes.data() + plain_addresses_offset);
    const KnownPair& pair = place_of(both);
    if (pair.addresses != both || both == 0) return false;
    const std::uint32_t identification = base::load_be16(frame.bytes.data() + 18);
    const RepeatedFrames::Marks marks{both, base::load_be64(bth), marks_of(bth, identification)};
    if (!repeated.note_on_only(marks, frame.interface, frame.time_ns)) return false;
    if (copies.samples(identification, base::load_be32(bth + 8) & 0xffffff)) [[unlikely]]
        watch_copies(frame);

    Host& source = *pair.from;
    Host& destination = *pair.to;
    context.source_wire_bytes = source.sent;
    context.source_bits_per_sec = source.bits_per_sec;
    context.destination_requests = destination.requests + destination.segments;
    context.source_pauses = holding_at(frame.interface);
    context.shard_hash = pair.shard_hash;
    context.plain_bth = plain_bth_offset;
    context.plain_segment = false;
    context.seen_twice = false;
    const std::uint32_t wire_octets = frame.wire_length + ethernet_overhead;
    source.sent += wire_octets;
    note_sent(source, frame.time_ns);
    destination.received += wire_octets;
    ++destination.received_frames;
    destination.requests += opcode->requests;
    if (opcode->only()) [[likely]]
        source.run.goes_on = false;  // neither continues a message nor leaves one open
    else if (!given)
        note_run(summarize_plain(frame, payload), source, destination.number, frame, wire_octets);
    if (payload != 0 && opcode->has_data) note_sender(source, destination, frame);
    return true;
}

/// The same of a plain segment of TCP, on any interface.
[[gnu::always_inline]] inline bool HostClock::State::observe_segment(const wire::Frame& frame, FrameContext& context) {
    std::uint32_t payload = 0;
    if (!dissect::is_plain_segment(frame, payload)) return false;
    context.plain_segment = true;
    if (copies.is_on()) [[unlikely]]
        return false;
    const std::uint64_t both = base::load_be64(frame.bytes.data() + plain_addresses_offset);
    const KnownPair& pair = place_of(both);
    if (pair.addresses != both || both == 0) return false;
    context.source_pauses = holding_at(frame.interface);
    TransportSummary seen;
    read_plain_segment(frame, payload, seen);
    if (copies.samples(seen.identification, seen.position)) [[unlikely]]
        watch_copies(frame);
    count(seen, frame, pair, false, context);
    return true;
}

inline void HostClock::State::note_time(std::int64_t now_ns) {
    if (now_ns < last_ns) ++unsorted;
    last_ns = now_ns;
    // A division a frame; what a few thousand times have in common, the rest has.
    if (times >= times_enough) return;
    ++times;
    while (static_cast<std::uint64_t>(now_ns) % resolution_ns != 0) [[unlikely]] resolution_ns /= 10;
}

[[gnu::always_inline]] inline bool HostClock::State::is_repeated(const TransportSummary& seen, const wire::Frame& frame,
                                                                 std::uint64_t addresses_hash) {
    if (seen.kind != PacketSummary::Kind::bth && seen.kind != PacketSummary::Kind::tcp) return false;
    if (frame.link_type == wire::LinkType::linux_sll2) repeated.expect_others();  // see interface_of()
    const std::byte* p = frame.bytes.data() + seen.offset;
    RepeatedFrames::Marks marks{addresses_hash, base::load_be64(p), marks_of(p, seen.identification)};
    if (seen.kind == PacketSummary::Kind::tcp)
        marks.addresses = base::mix(marks.addresses, base::load_be64(p + 12) ^ seen.payload);
    return repeated.note(marks, interface_of(frame), frame.time_ns);
}

void HostClock::State::note_pause_sender(Interface& interface, std::uint64_t mac, bool holds,
                                         const std::array<bool, 8>& stopped, std::int64_t now_ns) {
    if (interface.senders.size() >= max_pause_senders && interface.senders.count(mac) == 0) return;
    PauseSender& sender = interface.senders[mac];
    if (!holds) {
        ++sender.resume_frames;
        return;
    }
    if (sender.frames == 0) sender.first_ns = now_ns;
    ++sender.frames;
    sender.last_ns = now_ns;
    for (std::size_t priority = 0; priority < stopped.size(); ++priority)
        sender.priority_frames[priority] += stopped[priority] ? 1 : 0;
}

/// What carries a packet within another has the MAC of a tunnel's end: no host's own.
void HostClock::State::note_mac(const PacketSummary& seen, const wire::Frame& frame, const KnownPair& pair) {
    constexpr std::uint32_t longest_headers = 14 + 8 + 40 + 8;  // two VLAN tags, IPv6 and UDP
    if (pair.from == nullptr || pair.from == &beyond || pair.from->mac != 0) return;
    if (frame.link_type != wire::LinkType::ethernet || frame.bytes.size() < 14) return;
    if (seen.kind == TransportSummary::Kind::other || seen.offset > longest_headers) return;
    pair.from->mac = base::load_be64(frame.bytes.data() + source_mac_offset) >> 16;
}

/// With the hosts that have their MACs.
std::vector<PauseSender> HostClock::State::senders_of(const Interface& interface) const {
    std::vector<PauseSender> out;
    for (const auto& [mac, sender] : interface.senders) {
        PauseSender& listed = out.emplace_back(sender);
        for (std::size_t i = 0; i < listed.mac.size(); ++i)
            listed.mac[i] = static_cast<std::uint8_t>(mac >> (40 - 8 * i));
        for (const Host& host : hosts) {
            if (host.mac != mac) continue;
            const Address& address = addresses[host.number];
            listed.forwards = listed.forwards || listed.host.family != wire::AddressFamily::none;
            listed.host = address;
        }
        if (listed.forwards) listed.host = {};
    }
    return out;
}

void HostClock::State::note_pause(const TransportSummary& seen, const wire::Frame& frame) {
    const base::Bytes control = frame.bytes.subspan(seen.offset);
    if (control.size() < wire::size_of<wire::Pause>) return;
    Interface& interface = interface_at(frame.interface);
    PauseSnapshot& pauses = interface.pauses;
    bool holds = false;
    const bool has_source = frame.link_type == wire::LinkType::ethernet && seen.offset >= source_mac_offset + 6;
    const std::uint64_t sender = has_source ? base::load_be64(frame.bytes.data() + source_mac_offset) >> 16 : 0;
    std::array<bool, 8> stopped{};
    const auto pause = *wire::parse<wire::Pause>(control);
    if (pause.opcode == wire::mac_control_opcode::pause) {
        holds = pause.quanta != 0;
        interface.timers.note(sender, PauseTimers::all, pause.quanta, frame.time_ns, link_rate());
        ++(holds ? pauses.pause_frames : pauses.resume_frames);
    } else if (pause.opcode == wire::mac_control_opcode::priority_pause &&
               control.size() >= wire::size_of<wire::PriorityPause>) {
        constexpr std::size_t enabled_offset = 3;
        constexpr std::size_t quanta_offset = 4;
        const unsigned enabled = base::load_u8(control.data() + enabled_offset);
        for (unsigned priority = 0; priority < 8; ++priority) {
            if ((enabled >> priority & 1) == 0) continue;
            const std::uint16_t quanta = base::load_be16(control.data() + quanta_offset + std::size_t{priority} * 2);
            interface.timers.note(sender, priority, quanta, frame.time_ns, link_rate());
            if (quanta == 0) continue;
            holds = stopped[priority] = true;
            ++pauses.priority_frames[priority];
            pauses.priority_quanta[priority] += quanta;
        }
        ++(holds ? pauses.pfc_frames : pauses.resume_frames);
    } else {
        return;
    }
    interface.seen = true;
    pauses.interface = frame.interface;
    interface.holding += holds;
    if (has_source) note_pause_sender(interface, sender, holds, stopped, frame.time_ns);
    if (holds && pauses.frames.size() < frames_per_pause) pauses.frames.push_back(frame.number);
}

/// Stretches are long enough for stamps that a driver gives to several frames at a time.
void HostClock::State::note_carried(Host& source, std::int64_t now_ns) {
    constexpr std::uint64_t least_ns = 10'000'000;
    Carried& carried = source.carried;
    if (carried.since_ns != 0 && now_ns >= carried.since_ns) {
        const std::uint64_t ns = static_cast<std::uint64_t>(now_ns) - static_cast<std::uint64_t>(carried.since_ns);
        if (ns < least_ns) return;
        const double bits = static_cast<double>(source.sent - carried.sent) * 8;
        const auto bits_per_sec = static_cast<std::uint64_t>(bits * 1e9 / static_cast<double>(ns));
        carried.bits_per_sec = std::max(carried.bits_per_sec, bits_per_sec);
        use_rate(source, source.bits_per_sec);
    }
    carried.since_ns = now_ns;
    carried.sent = source.sent;
}

/// A sample takes eight frames, and long enough that the clock's resolution does not matter.
void HostClock::State::note_sample(Host& source) {
    constexpr std::uint16_t frames = 8;
    constexpr std::uint64_t ticks = 32;
    constexpr std::uint32_t again = 16;
    Run& run = source.run;
    if (run.frames < frames || run.ns < ticks * resolution_ns) return;
    if (source.rate == nullptr) source.rate = &rates.emplace_back();
    source.rate->record(run.ns, run.octets);
    note_carried(source, run.last_ns);
    run.ns = 0;
    run.octets = 0;
    run.frames = 0;
    const std::uint32_t samples = source.rate->samples();
    if (samples > again && samples % again != 0) return;
    use_rate(source, source.rate->bits_per_sec().value_or(0));
}

void HostClock::State::note_run(const TransportSummary& seen, Host& source, std::uint32_t peer,
                                const wire::Frame& frame, std::uint32_t wire_octets) {
    constexpr std::int64_t longest_ns = 1'000'000'000;
    constexpr std::uint32_t most_octets = 1u << 30;
    Run& run = source.run;
    const wire::BthOpcode& opcode = wire::bth_opcode(seen.opcode);
    const bool bth = seen.kind == PacketSummary::Kind::bth;
    const bool continues = bth ? !opcode.starts_message() : seen.payload != 0;
    if (run.goes_on && continues && run.kind == seen.kind && run.peer == peer && run.selector == seen.selector &&
        run.next_position == seen.position && run.interface == frame.interface && frame.time_ns >= run.last_ns) {
        const std::uint64_t ns = static_cast<std::uint64_t>(frame.time_ns) - static_cast<std::uint64_t>(run.last_ns);
        // What a short frame takes longer than its wire time is what handling any frame takes.
        const bool is_tail = wire_octets < run.frame_octets / 2;
        if (ns < longest_ns && run.octets < most_octets) {
            if (!is_tail) {
                run.ns += ns;
                run.octets += wire_octets;
                run.frames = static_cast<std::uint16_t>(std::min(run.frames + 1, 0xffff));
                note_sample(source);
            }
        } else {
            run.ns = 0;
            run.octets = 0;
            run.frames = 0;
        }
    }
    run.last_ns = frame.time_ns;
    run.frame_octets = wire_octets;
    run.peer = peer;
    run.selector = seen.selector;
    run.interface = frame.interface;
    run.kind = seen.kind;
    if (bth) {
        run.goes_on = !opcode.ends_message();
        run.next_position = (seen.position + 1) & 0xffffff;
    } else {
        run.goes_on = seen.kind == PacketSummary::Kind::tcp && opens_run(seen);
        run.next_position = seen.position + seen.payload;
    }
}

HostClock::HostClock(std::optional<std::uint64_t> link_bits_per_sec, std::size_t max_hosts)
    : state_(std::make_unique<State>(link_bits_per_sec, max_hosts)) {}
HostClock::~HostClock() = default;

void HostClock::observe(const wire::Frame& frame, FrameContext& context) {
    State& s = *state_;
    s.note_time(frame.time_ns);
    const bool segment = dissect::may_be_plain_segment(frame);
    if (!segment && s.observe_plain(frame, context)) [[likely]]
        return;
    context = {};
    if (!segment || !s.observe_segment(frame, context)) [[unlikely]]
        s.observe_other(frame, context);
}

void HostClock::State::observe_other(const wire::Frame& frame, FrameContext& context) {
    PacketSummary seen;
    summarize(frame, scratch, seen);
    if (seen.unread) [[unlikely]]
        unread.add(seen.unread);
    if (seen.cut_octets != 0) [[unlikely]]
        cuts.add(frame.wire_length, seen.cut_octets);
    context.source_pauses = holding_at(frame.interface);
    if (seen.kind == PacketSummary::Kind::mac_control) [[unlikely]] {
        note_pause(seen, frame);
        return;
    }
    if (seen.source.family == wire::AddressFamily::none) [[unlikely]]
        return;
    context.plain_bth = seen.plain ? static_cast<std::uint16_t>(seen.offset) : std::uint16_t{0};
    const KnownPair pair = pair_of(seen.source, seen.destination);
    note_mac(seen, frame, pair);
    bool copy = false;
    if (has_print(seen)) {
        if (copies.is_on()) [[unlikely]]
            copy = copies.is_copy(print_of(seen, frame));
        else if (copies.samples(seen.identification, seen.position)) [[unlikely]]
            copies.watch(print_of(seen, frame));
    }
    count(seen, frame, pair, copy, context);
    // An error is for the worker of the flow that it is about.
    if (seen.quoted_source.family != wire::AddressFamily::none) [[unlikely]]
        context.shard_hash = pair_hash(hash_of(seen.quoted_source), hash_of(seen.quoted_destination));
}

/// Apart, so that the frames that are not sampled pay for a test alone.
[[gnu::noinline]] void HostClock::State::watch_copies(const wire::Frame& frame) {
    PacketSummary seen;
    summarize(frame, scratch, seen);
    if (has_print(seen)) copies.watch(print_of(seen, frame));
}

void HostClock::describe(std::vector<HostSnapshot>& hosts, std::vector<PauseSnapshot>& pauses) const {
    HostListing listing{hosts};
    for (std::uint32_t number = 0; number < state_->hosts.size(); ++number) {
        const Host& host = state_->hosts[number];
        if (state_->is_forgotten(number)) continue;
        const Rest rest = number < state_->rests.size() ? state_->rests[number] : Rest{};
        HostSnapshot& out = listing.at(state_->addresses[number]);
        out.sent_packets = host.sent_frames - rest.sent_frames;
        out.received_packets = host.received_frames - rest.received_frames;
        out.sent_wire_bytes = host.sent - rest.sent - out.sent_packets * ethernet_overhead;
        out.received_wire_bytes = host.received - rest.received - out.received_packets * ethernet_overhead;
        out.received_requests = host.requests - rest.requests;
        if (host.bits_per_sec != 0) {
            out.link_bits_per_sec = host.bits_per_sec;
            out.link_is_learnt = !state_->given;
        }
        out.incast_senders_max = host.incast.senders_max;
        out.incast_frame = host.incast.senders_frame;
    }
    describe(pauses);
}

void HostClock::describe(std::vector<PauseSnapshot>& pauses) const {
    for (const State::Interface& interface : state_->interfaces)
        if (interface.seen) {
            PauseSnapshot& out = pauses.emplace_back(interface.pauses);
            out.senders = state_->senders_of(interface);
            if (const auto times = interface.timers.stopped(state_->last_ns, state_->link_rate())) {
                StopTimes& stopped = out.stopped_ns.emplace();
                std::copy_n(times->begin(), stopped.priority_ns.size(), stopped.priority_ns.begin());
                stopped.all_ns = (*times)[PauseTimers::all];
            }
        }
    std::sort(pauses.begin(), pauses.end(),
              [](const PauseSnapshot& a, const PauseSnapshot& b) { return a.interface < b.interface; });
}

void HostClock::forget_idle(std::int64_t before_ns, std::int64_t now_ns) {
    state_->rests.resize(state_->hosts.size());
    for (std::size_t number = 0; number < state_->hosts.size(); ++number) {
        Host& host = state_->hosts[number];
        Rest& rest = state_->rests[number];
        const std::uint64_t octets = host.sent + host.received;
        if (octets != rest.octets) {
            rest.octets = octets;
            rest.active_ns = now_ns;
            rest.forgotten = false;
        } else if (!rest.forgotten && rest.active_ns < before_ns) {
            rest.forgotten = true;
            rest.sent = host.sent;
            rest.received = host.received;
            rest.sent_frames = host.sent_frames;
            rest.received_frames = host.received_frames;
            rest.requests = host.requests;
            state_->senders.forget_most(host.incast);
        }
    }
}

void HostClock::learn_copies(std::span<const wire::Frame> frames) {
    std::vector<FramePrint> prints;
    prints.reserve(frames.size());
    PacketSummary seen;
    for (const wire::Frame& frame : frames) {
        summarize(frame, state_->scratch, seen);
        if (has_print(seen)) prints.push_back(print_of(seen, frame));
    }
    state_->copies.learn(prints);
}

bool HostClock::is_forgotten(const Address& address) const {
    const std::uint32_t number = state_->addresses.find(address);
    return number != AddressTable::none && state_->is_forgotten(number);
}

void HostClock::expect_interfaces(std::size_t count) {
    if (count > 1) state_->repeated.expect_others();
}

std::uint64_t HostClock::unsorted() const { return state_->unsorted; }
std::uint64_t HostClock::seen_twice() const { return state_->twice; }
const FrameCopies& HostClock::copies() const { return state_->copies; }
const MirrorCuts& HostClock::cuts() const { return state_->cuts; }
const wire::CarrierCounts& HostClock::unread() const { return state_->unread; }
std::uint64_t HostClock::beyond_hosts() const { return state_->beyond_frames; }
std::size_t HostClock::octets() const {
    std::size_t timers = 0;
    for (const State::Interface& interface : state_->interfaces) timers += interface.timers.octets();
    return sizeof(State) + state_->addresses.octets() + state_->hosts.size() * sizeof(Host) +
           state_->rests.capacity() * sizeof(Rest) + state_->rates.size() * sizeof(LinkRate) +
           state_->senders.octets() + state_->repeated.octets() + state_->copies.octets() + state_->cuts.octets() +
           state_->interfaces.capacity() * sizeof(State::Interface) + timers;
}

}  // namespace metrics::measure::hosts
