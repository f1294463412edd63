#include "capture/live/packet_ring.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fmt/core.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <pcap/bpf.h>
#include <sstream>
#include <sys/socket.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "capture/files/file_source.h"
#include "capture/filter/kernel_filter.h"
#include "capture/live/packet_socket.h"

namespace capture::inline live {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t addresses_octets = 12;  // of Ethernet; a VLAN tag follows
constexpr auto loopback_copy = static_cast<unsigned char>(PACKET_LOOPBACK);

std::uint64_t limited(std::uint32_t snaplen) { return snaplen == 0 ? max_snaplen : std::min(snaplen, max_snaplen); }

std::optional<std::uint64_t> number_in(const std::string& path) {
    std::istringstream file(base::first_line(path));
    std::uint64_t number = 0;
    if (!(file >> number)) return std::nullopt;
    return number;
}

/// What the driver and the adapter lost; no value if the interface is gone. `rx_dropped` is not included: it counts
/// frames that the stack had no use for, after the tap has seen them.
std::optional<std::uint64_t> lost_by(const std::string& interface) {
    std::optional<std::uint64_t> sum;
    for (const char* each : {"rx_missed_errors", "rx_fifo_errors"})
        if (const auto count = number_in(fmt::format("/sys/class/net/{}/statistics/{}", interface, each)))
            sum = sum.value_or(0) + *count;
    return sum;
}

std::optional<std::uint64_t> link_speed(const std::string& interface) {
    std::istringstream file(base::first_line(fmt::format("/sys/class/net/{}/speed", interface)));
    std::int64_t megabits = 0;
    if (!(file >> megabits) || megabits <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(megabits) * 1'000'000;
}

/// An IP packet with its link header and tags. Larger ones, which some kernels join (BIG TCP), may be cut to a block.
constexpr std::uint32_t whole_segment_octets = 65536 + 64;

/// What no frame is longer than.
std::uint32_t longest(std::uint32_t snaplen, const PacketRingOptions& options) {
    const std::uint32_t segment = options.iwarp_snaplen == 0 ? whole_segment_octets : options.iwarp_snaplen;
    return std::max({snaplen, options.management_octets, options.kernel ? segment : 0U});
}

/// For people, and for the description of a capture file.
std::string filter_text(const PacketRingOptions& options) {
    if (!options.rdma) return options.filter;
    std::string text = options.kernel && options.other_carriers ? "not tcp" : text_of(*options.rdma);
    if (options.kernel) text += " or TCP connections that the kernel finds to speak MPA";
    return text;
}

InterfaceInfo describe(const PacketRingOptions& options, wire::LinkType link_type, std::uint32_t snaplen) {
    utsname system = {};
    ::uname(&system);
    return {
        .name = options.interface,
        .filter = filter_text(options),
        .os = fmt::format("{} {}", system.sysname, system.release),
        .link_type = link_type,
        .snaplen = longest(snaplen, options),
        .ticks_per_sec = 1'000'000'000,
        .speed_bits_per_sec = link_speed(options.interface),
    };
}

const sockaddr_ll& origin_of(const tpacket3_hdr* header) {
    return *reinterpret_cast<const sockaddr_ll*>(reinterpret_cast<const std::byte*>(header) +
                                                 TPACKET_ALIGN(sizeof(tpacket3_hdr)));
}

bool has_tag(const tpacket3_hdr* header) {
    return header->hv1.tp_vlan_tci != 0 || (header->tp_status & TP_STATUS_VLAN_VALID) != 0;
}

}  // namespace

struct PacketRing::Ring {
    PacketSocket socket;
    PacketRingOptions options;
    std::uint32_t snaplen;
    std::vector<InterfaceInfo> interfaces = {};
    base::Error problem = {};

    tpacket_block_desc* block = nullptr;  // ours until the next call
    std::uint32_t turn = 0;               // the block after it
    std::uint32_t left = 0;               // frames of `block` still to be delivered
    std::byte* at = nullptr;
    std::uint64_t frames = 0;
    std::optional<Clock::time_point> removed = {};
    std::optional<std::uint16_t> group = {};

    std::uint64_t passed = 0;
    std::uint64_t dropped = 0;
    std::optional<std::uint64_t> lost_before = {};
    std::optional<std::uint64_t> lost = {};

    tpacket_block_desc* block_at(std::uint32_t place) const {
        return reinterpret_cast<tpacket_block_desc*>(socket.memory + std::size_t{place} * socket.shape.block_octets);
    }
    tpacket_block_desc* block_in_turn() const { return block_at(turn); }
    bool block_ready(std::uint32_t place) const {
        auto& status = block_at(place)->hdr.bh1.block_status;
        return (std::atomic_ref(status).load(std::memory_order_acquire) & TP_STATUS_USER) != 0;
    }
    bool block_ready() const { return block_ready(turn); }
    void release();
    bool take();
    bool fill(wire::Frame& frame, tpacket3_hdr* header);
    void restore_tag(wire::Frame& frame, const tpacket3_hdr* header) const;
    ReadStatus nothing();
    void count();
    base::Result<void> use_filter();
    base::Result<void> start();
};

void PacketRing::Ring::release() {
    if (block == nullptr) return;
    std::atomic_ref(block->hdr.bh1.block_status).store(TP_STATUS_KERNEL, std::memory_order_release);
    block = nullptr;
}

bool PacketRing::Ring::take() {
    if (!block_ready()) return false;
    block = block_in_turn();
    turn = turn + 1 == socket.shape.blocks ? 0 : turn + 1;
    left = block->hdr.bh1.num_pkts;
    at = reinterpret_cast<std::byte*>(block) + block->hdr.bh1.offset_to_first_pkt;
    return true;
}

/// The tag goes where it was: between the addresses and the EtherType, for which the addresses move into the room that
/// was reserved before the frame.
void PacketRing::Ring::restore_tag(wire::Frame& frame, const tpacket3_hdr* header) const {
    auto* const octets = const_cast<std::byte*>(frame.bytes.data()) - vlan_tag_octets;
    std::memmove(octets, octets + vlan_tag_octets, addresses_octets);
    const bool has_tpid = header->hv1.tp_vlan_tpid != 0 || (header->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
    base::store_be16(octets + addresses_octets, has_tpid ? header->hv1.tp_vlan_tpid : std::uint16_t{ETH_P_8021Q});
    base::store_be16(octets + addresses_octets + 2, static_cast<std::uint16_t>(header->hv1.tp_vlan_tci));
    // Of some kinds of frames more than the snap length is kept; of a cut one, the tag replaces the last bytes.
    // Of a filter without lengths of its own, one of just the snap length is as long as any other.
    const bool whole = header->tp_snaplen == header->tp_len && (options.kernel || header->tp_snaplen > snaplen);
    const std::size_t most = std::max<std::size_t>(whole ? longest(snaplen, options) : snaplen, frame.bytes.size());
    frame.bytes = {octets, std::min<std::size_t>(frame.bytes.size() + vlan_tag_octets, most)};
    frame.wire_length += vlan_tag_octets;
}

bool PacketRing::Ring::fill(wire::Frame& frame, tpacket3_hdr* header) {
    const unsigned char kind = origin_of(header).sll_pkttype;
    const bool leaves = kind == PACKET_OUTGOING;
    if ((leaves && socket.loopback) || kind >= loopback_copy) return false;
    frame.bytes = {reinterpret_cast<const std::byte*>(header) + header->tp_mac, header->tp_snaplen};
    frame.wire_length = header->tp_len;
    frame.link_type = socket.link_type;
    frame.direction = leaves ? wire::Direction::outbound : wire::Direction::inbound;
    frame.interface = 0;
    frame.time_ns = std::int64_t{header->tp_sec} * 1'000'000'000 + header->tp_nsec;
    frame.number = ++frames;
    frame.comment = {};
    if (has_tag(header) && socket.link_type == wire::LinkType::ethernet && header->tp_snaplen >= addresses_octets)
        restore_tag(frame, header);
    return true;
}

/// Which kind of nothing there is. The last frames of an interface that goes lie in a block that the kernel closes only
/// when its time is over.
ReadStatus PacketRing::Ring::nothing() {
    if (!removed) {
        if (socket.interface_removed()) {
            removed = Clock::now();
        } else {
            int why = 0;
            socklen_t length = sizeof why;
            ::getsockopt(socket.descriptor.number(), SOL_SOCKET, SO_ERROR, &why,
                         &length);  // down: reading the error also clears it
            return ReadStatus::timeout;
        }
    }
    const std::chrono::milliseconds closing(2 * std::max(options.block_timeout_ms, 1U) + 20);
    return Clock::now() - *removed < closing || block_ready() ? ReadStatus::timeout : ReadStatus::end;
}

void PacketRing::Ring::count() {
    tpacket_stats_v3 counts = {};
    socklen_t length = sizeof counts;
    if (::getsockopt(socket.descriptor.number(), SOL_PACKET, PACKET_STATISTICS, &counts, &length) == 0) {
        passed += counts.tp_packets;  // those dropped among them; reading sets both to 0
        dropped += counts.tp_drops;
    }
    // Another interface of the same name would count from the beginning.
    if (!removed && lost_before && !socket.interface_removed())
        if (const auto now = lost_by(options.interface)) {
            // A driver that was restarted counts from 0.
            lost = lost.value_or(0) + (*now < *lost_before ? *now : *now - *lost_before);
            lost_before = now;
        }
}

base::Result<void> PacketRing::Ring::use_filter() {
    if (options.rdma && options.kernel) return options.kernel->attach(socket.descriptor.number(), socket.link_type);
    BpfProgram program;
    if (options.rdma) {
        program = compile(*options.rdma, socket.link_type, snaplen);
    } else {
        auto compiled = compile_for_socket(options.filter, options.interface, socket.link_type, snaplen);
        if (!compiled) {
            base::Error error = compiled.error();
            if (error.path.empty()) error.path = options.interface;
            return base::Failure{std::move(error)};
        }
        program = std::move(compiled).value();
    }
    program = keep_management(std::move(program), socket.link_type, snaplen, options.management_octets);
    auto attached = attach(socket.descriptor.number(), socket.loopback ? without_leaving(program) : program);
    if (attached) return {};
    base::Error error = attached.error();
    error.path = options.interface;
    return base::Failure{std::move(error)};
}

/// A socket that joins a group gets every frame until it has joined: they are dropped, for the others of the group
/// have them.
base::Result<void> PacketRing::Ring::start() {
    if (!options.fanout) {
        if (auto used = use_filter(); !used) return used;
        return socket.bind(options);
    }
    const BpfProgram drop_all{{BPF_RET | BPF_K, 0, 0, 0}};
    if (auto attached = attach(socket.descriptor.number(), drop_all); !attached) return attached;
    if (auto bound = socket.bind(options); !bound) return bound;
    auto joined = socket.join_fanout(options);
    if (!joined) return base::Failure{joined.error()};
    group = *joined;
    return use_filter();
}

PacketRing::PacketRing(std::unique_ptr<Ring> ring) : ring_(std::move(ring)) {}
PacketRing::~PacketRing() = default;

base::Result<std::unique_ptr<PacketRing>> PacketRing::open(const PacketRingOptions& options) {
    const auto snaplen = static_cast<std::uint32_t>(limited(options.snaplen));
    auto opened = PacketSocket::open(options, longest(snaplen, options));
    if (!opened) return base::Failure{opened.error()};
    std::unique_ptr<Ring> ring(new Ring{.socket = std::move(opened).value(), .options = options, .snaplen = snaplen});
    ring->problem.path = options.interface;
    ring->interfaces.push_back(describe(options, ring->socket.link_type, snaplen));
    ring->lost_before = lost_by(options.interface);
    if (auto started = ring->start(); !started) return base::Failure{started.error()};
    return std::unique_ptr<PacketRing>(new PacketRing(std::move(ring)));
}

ReadStatus PacketRing::next(wire::Frame& frame) { return next_batch({&frame, 1}).status; }

Batch PacketRing::next_batch(std::span<wire::Frame> frames) {
    Ring& ring = *ring_;
    if (frames.empty()) return {.status = ReadStatus::timeout};
    for (;;) {
        if (ring.left == 0) {
            ring.release();
            if (!ring.take()) return {.status = ring.nothing()};
        }
        std::size_t count = 0;
        while (ring.left > 0 && count < frames.size()) {
            auto* const header = reinterpret_cast<tpacket3_hdr*>(ring.at);
            ring.at += header->tp_next_offset;
            --ring.left;
            __builtin_prefetch(ring.at);
            if (ring.fill(frames[count], header)) ++count;
        }
        if (count > 0) return {.count = count};
    }
}

const std::vector<InterfaceInfo>& PacketRing::interfaces() const { return ring_->interfaces; }
const base::Error& PacketRing::error() const { return ring_->problem; }
int PacketRing::descriptor() const { return ring_->socket.descriptor.number(); }
int PacketRing::interface_index() const { return ring_->socket.interface_index; }
bool PacketRing::ready() const { return ring_->block != nullptr || ring_->block_ready(); }
bool PacketRing::half_full() const {
    const Ring& ring = *ring_;
    return ring.block_ready((ring.turn + ring.socket.shape.blocks / 2) % ring.socket.shape.blocks);
}
bool PacketRing::ending() const { return ring_->removed.has_value(); }
std::optional<std::uint16_t> PacketRing::fanout_group() const { return ring_->group; }

base::Result<void> PacketRing::deal_to(unsigned rings) {
    auto dealt = ring_->socket.deal_to(rings);
    if (dealt) return dealt;
    base::Error error = dealt.error();
    error.path = ring_->options.interface;
    return base::Failure{std::move(error)};
}

bool PacketRing::hardware_timestamps() const { return ring_->socket.hardware_timestamps; }
const std::vector<std::string>& PacketRing::warnings() const { return ring_->socket.warnings; }

Statistics PacketRing::statistics(std::size_t) const {
    ring_->count();
    return {.received = ring_->passed, .kernel_dropped = ring_->dropped, .interface_dropped = ring_->lost};
}

base::Result<void> PacketRing::set_filter(const std::string& expression) {
    PacketRingOptions before = ring_->options;
    ring_->options.filter = expression;
    ring_->options.rdma.reset();
    auto used = ring_->use_filter();
    if (used)
        ring_->interfaces.front().filter = expression;
    else
        ring_->options = std::move(before);
    return used;
}

base::Result<void> PacketRing::set_filter(const RdmaFilter& filter) {
    PacketRingOptions before = ring_->options;
    ring_->options.filter.clear();
    ring_->options.rdma = filter;
    auto used = ring_->use_filter();
    if (used)
        ring_->interfaces.front().filter = filter_text(ring_->options);
    else
        ring_->options = std::move(before);
    return used;
}

base::Result<void> PacketRing::set_snaplen(std::uint32_t snaplen) {
    const std::uint32_t before = ring_->snaplen;
    const auto fits = ring_->socket.shape.block_octets - frame_overhead;
    ring_->snaplen = static_cast<std::uint32_t>(std::min<std::uint64_t>(limited(snaplen), fits));
    auto used = ring_->use_filter();
    if (!used) ring_->snaplen = before;
    ring_->interfaces.front().snaplen = longest(ring_->snaplen, ring_->options);
    return used;
}

}  // namespace capture::live
