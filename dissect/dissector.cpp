#include "dissect/dissector.h"

#include <algorithm>

#include "dissect/fragments.h"
#include "dissect/icmp_error.h"
#include "dissect/plain_segment.h"
#include "dissect/repeats.h"
#include "dissect/rmpp_transfers.h"
#include "dissect/tcp/stream_table.h"
#include "dissect/tcp_flags.h"

namespace dissect {

namespace {}

struct Dissector::State {
    explicit State(const DissectorOptions& settings)
        : options(settings),
          repeats(settings.find_repeats ? settings.repeat_packets : 0),
          fragments({settings.max_datagrams}),
          streams(options, counters) {}

    void count(const wire::Frame& frame, const Dissection& found);
    FragmentTable::Added reassemble(const wire::Frame& frame);
    void deliver(const wire::Frame& frame, const Dissection& whole, const Unit& unit, Sink& sink);
    void deliver_datagram(const wire::Frame& frame, const FragmentTable::Added& added, Sink& sink);
    void report_lost(const wire::Frame& frame, Sink& sink);
    void report_icmp_error(const wire::Frame& frame, Sink& sink);
    void keep_last(const wire::Frame& frame) {
        last.wire_length = frame.wire_length;
        last.link_type = frame.link_type;
        last.direction = frame.direction;
        last.interface = frame.interface;
        last.time_ns = frame.time_ns;
        last.number = frame.number;
    }

    DissectorOptions options;
    DissectorCounters counters;
    RepeatTable repeats;
    FragmentTable fragments;
    tcp::StreamTable streams;
    RmppTransfers transfers;
    Dissection dissection;  ///< of the frame
    Dissection datagram;    ///< of a datagram put together from fragments
    PlainSegment segment;
    wire::Frame last;  ///< the latest frame, without its bytes
};

Dissector::Dissector(const DissectorOptions& options) : state_(std::make_unique<State>(options)) {}
Dissector::~Dissector() = default;
const DissectorCounters& Dissector::counters() const { return state_->counters; }

void Dissector::State::count(const wire::Frame& frame, const Dissection& found) {
    switch (found.stop.outcome) {
        case Outcome::complete:
        case Outcome::odd: break;
        case Outcome::truncated:
            ++counters.truncated;
            if (cuts_headers(found.stop) && (found.has(LayerId::bth) || found.stop.layer == LayerId::bth)) {
                ++counters.headers_cut;
                counters.headers_cut_before += frame.bytes.size() >= frame.wire_length;
            }
            break;
        case Outcome::malformed: ++counters.malformed; break;
        case Outcome::unsupported: ++counters.unsupported; break;
    }
    if (found.odd_count != 0) ++counters.odd;
}

namespace {
Transport transport_of(const Dissection& dissection) {
    if (dissection.has(LayerId::udp)) {
        if (!dissection.has(LayerId::grh)) return Transport::roce2;
        // The UDP may be that of a tunnel around RoCEv1.
        const LayerRef* bth = dissection.find(LayerId::bth);
        if (bth == nullptr || bth[-1].id == LayerId::udp) return Transport::roce2;
    }
    return dissection.has(LayerId::lrh) ? Transport::infiniband : Transport::roce1;
}
}  // namespace

namespace {
bool is_fragment(const LayerRef& layer, base::Bytes bytes) {
    constexpr std::uint32_t flags_at = 6;
    constexpr std::uint16_t more_or_offset = 0x3fff;
    if (layer.id == LayerId::ipv6_fragment) return true;
    return layer.id == LayerId::ipv4 && (base::load_be16(bytes.data() + layer.offset + flags_at) & more_or_offset) != 0;
}

/// What lies above the fragmented IP header belongs to the datagram, which shows it once it is whole.
void end_at_fragment(Dissection& dissection, base::Bytes bytes) {
    unsigned kept = 0;
    while (kept < dissection.own_layer_count() && !is_fragment(dissection.layers[kept], bytes)) ++kept;
    if (kept == dissection.own_layer_count()) return;
    dissection.layer_count = static_cast<std::uint8_t>(kept + 1);
    dissection.present.clear();
    dissection.quoted.clear();
    for (unsigned i = 0; i <= kept; ++i) dissection.present.insert(dissection.layers[i].id);
}
}  // namespace

/// Adds a fragment, and those of the datagrams that it completes where a tunnel's datagram is itself a fragment.
FragmentTable::Added Dissector::State::reassemble(const wire::Frame& frame) {
    constexpr unsigned max_nesting = 4;
    FragmentTable::Added added = fragments.add(dissection, frame.bytes, frame.time_ns, frame.number);
    for (unsigned depth = 1; added.result == FragmentTable::Result::complete; ++depth) {
        dissect_unit(added.first, added.bytes, added.wire_length, options.parse, datagram);
        if (!datagram.fragmented || depth == max_nesting) break;
        added = fragments.add(datagram, added.bytes, frame.time_ns, frame.number);
    }
    if (added.result != FragmentTable::Result::refused) end_at_fragment(dissection, frame.bytes);
    if (added.result == FragmentTable::Result::complete) dissection.stop = {};
    if (added.result == FragmentTable::Result::refused) dissection.stop = added.problem;
    counters.datagrams_evicted = fragments.counters().evicted + fragments.counters().timed_out;
    return added;
}

void Dissector::State::report_lost(const wire::Frame& frame, Sink& sink) {
    for (const FragmentTable::Lost& lost : fragments.lost())
        sink.on_notice({Notice::Kind::fragments_evicted, frame, dissection, 0, lost.octets, lost.first_frame});
}

/// Of packets that have nothing to do with RDMA no notice is given.
void Dissector::State::report_icmp_error(const wire::Frame& frame, Sink& sink) {
    const auto error = icmp_error(dissection, frame.bytes);
    if (!error || error->transport == IcmpError::Transport::other) return;
    std::optional<std::uint32_t> stream;
    if (error->transport == IcmpError::Transport::tcp) {
        if (options.follow_streams) stream = streams.quoted_stream(dissection, frame.bytes);
        if (!stream) return;
    }
    sink.on_notice({Notice::Kind::icmp_error, frame, dissection, stream.value_or(0)});
}

/// Hands on what a frame, or a datagram as if it were one, has above IP.
void Dissector::State::deliver(const wire::Frame& frame, const Dissection& whole, const Unit& unit, Sink& sink) {
    if (whole.has(LayerId::bth)) {
        ++counters.units;
        Unit packet = unit;
        if (options.find_repeats) packet.repeats_frame = repeats.note(whole, packet.bytes, frame.number);
        if (whole.has(LayerId::mad)) [[unlikely]]
            packet.rmpp = transfers.note(whole, packet.bytes);
        sink.on_unit(packet);
    } else if (options.follow_streams && whole.has(LayerId::tcp)) {
        streams.segment(frame, whole, frame.bytes, Ipv4Ends(whole, frame.bytes), sink);
    }
}

void Dissector::State::deliver_datagram(const wire::Frame& frame, const FragmentTable::Added& added, Sink& sink) {
    // The fragment's frame has shown the IP header already: what is described is what lies above it.
    const auto end = datagram.layers.begin() + datagram.layer_count;
    const auto above = std::find_if(datagram.layers.begin(), end, [](const LayerRef& layer) {
        return layer.id == LayerId::udp || layer.id == LayerId::tcp || layer.id == LayerId::gre;
    });
    datagram.layer_count =
        static_cast<std::uint8_t>(std::copy(above, end, datagram.layers.begin()) - datagram.layers.begin());
    for (std::uint16_t i = 0; i < datagram.layer_count; ++i) datagram.layers[i].depth = i;
    wire::Frame whole = frame;
    whole.bytes = added.bytes;
    whole.wire_length = added.wire_length;
    deliver(whole, datagram,
            {frame, dissection, datagram, added.bytes, false, transport_of(datagram), added.first_frame}, sink);
}

void Dissector::dissect(const wire::Frame& frame, Sink& sink) {
    State& state = *state_;
    Dissection& dissection = state.dissection;
    dissect_frame(frame, state.options.parse, dissection);
    ++state.counters.frames;

    FragmentTable::Added added;
    if (dissection.fragmented) [[unlikely]]
        added = state.reassemble(frame);
    state.count(frame, dissection);
    if (dissection.has(LayerId::tcp) && (dissection.tcp.flags & tcp_rst) != 0 && !dissection.fragmented) [[unlikely]]
        dissection.tcp.stray_reset = state.options.follow_streams && state.streams.drops_reset(dissection, frame.bytes);
    sink.on_frame(frame, dissection);
    if (!dissection.quoted.empty() && !dissection.fragmented) [[unlikely]]
        state.report_icmp_error(frame, sink);

    if (!dissection.fragmented) [[likely]] {
        state.deliver(frame, dissection,
                      {frame, dissection, dissection, frame.bytes, true, transport_of(dissection), frame.number}, sink);
    } else {
        state.report_lost(frame, sink);
        if (added.result == FragmentTable::Result::complete) state.deliver_datagram(frame, added, sink);
    }
    state.keep_last(frame);
}

void Dissector::dissect_plain(const wire::Frame& frame, Sink& sink) {
    State& state = *state_;
    const Dissection& dissection = state.segment.describe(frame);
    if ((dissection.tcp.flags & tcp_rst) != 0) [[unlikely]]
        return dissect(frame, sink);
    ++state.counters.frames;
    sink.on_frame(frame, dissection);
    if (state.options.follow_streams)
        state.streams.segment(frame, dissection, frame.bytes, plain_segment_ends(frame.bytes), sink);
    state.keep_last(frame);
}

void Dissector::fetch(std::span<const Ipv4Ends> ends, unsigned pass) { state_->streams.fetch(ends, pass); }

void Dissector::finish(Sink& sink) {
    state_->streams.finish(sink);
    state_->fragments.finish();
    state_->dissection.reset();
    state_->report_lost(state_->last, sink);
}

}  // namespace dissect
