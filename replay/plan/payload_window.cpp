#include "replay/plan/payload_window.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "metrics/measure/packet/opcode_traits.h"

namespace replay::inline plan {

namespace {

constexpr std::size_t beside = 256;  ///< bytes of memory that a packet or direction takes in addition to its payload
constexpr std::uint32_t psn_mask = 0xff'ffff;

enum RdmapOpcode : std::uint8_t { rdmap_write = 0, rdmap_send_first = 3, rdmap_send_last = 6 };  // RFC 5040, 4.1

bool is_send_or_write(metrics::Operation operation) {
    using metrics::Operation;
    return operation == Operation::send || operation == Operation::send_immediate ||
           operation == Operation::send_invalidate || operation == Operation::write ||
           operation == Operation::write_immediate;
}

bool is_write(metrics::Operation operation) {
    return operation == metrics::Operation::write || operation == metrics::Operation::write_immediate;
}

/// The payload of the unit; no value if the snap length cut it or a header before it.
std::optional<base::Bytes> payload_of(const dissect::Unit& unit, dissect::LayerId id) {
    const dissect::LayerRef* const layer = unit.dissection.find(id);
    if (layer == nullptr)
        return unit.dissection.stop.outcome == dissect::Outcome::complete ? std::optional(base::Bytes()) : std::nullopt;
    if (layer->length != layer->wire_length || layer->offset > unit.bytes.size() ||
        layer->length > unit.bytes.size() - layer->offset)
        return std::nullopt;
    return unit.bytes.subspan(layer->offset, layer->length);
}

std::uint64_t key_of(std::uint32_t stream, bool from_client) {
    return std::uint64_t{stream} << 1 | (from_client ? 1U : 0U);
}

}  // namespace

void PayloadWindow::take(std::uint64_t octets) {
    const std::lock_guard lock(mutex_);
    held_ += octets;
}

void PayloadWindow::give_back(std::uint64_t octets) {
    const std::lock_guard lock(mutex_);
    held_ -= octets;
    changed_.notify_all();
}

bool PayloadWindow::wait_for_room() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || held_ < most; });
    return !closed_;
}

void PayloadWindow::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
}

Payload::Payload(std::vector<std::byte> octets, std::shared_ptr<PayloadWindow> window)
    : octets_(std::move(octets)), window_(std::move(window)) {
    window_->take(octets_.size());
}

Payload::~Payload() { window_->give_back(octets_.size()); }

void PayloadCollector::begin_run() {
    packets_.clear();
    by_psn_.clear();
    directions_.clear();
    by_stream_.clear();
    ended_ = {};
    held_ = 0;
}

void PayloadCollector::on_unit(const dissect::Unit& unit) {
    ended_ = {};
    if (unit.transport == wire::Transport::iwarp)
        keep_segment(unit);
    else
        keep_packet(unit);
    stay_bounded(unit.frame.number);
}

void PayloadCollector::keep_packet(const dissect::Unit& unit) {
    if (!unit.dissection.has(dissect::LayerId::bth)) return;
    const dissect::BthSummary& bth = unit.dissection.bth;
    const metrics::OpcodeTraits& traits = metrics::opcode_traits[bth.opcode];
    if (!traits.known || !traits.requests || !traits.has_payload || !is_send_or_write(traits.operation)) return;
    const auto payload = payload_of(unit, dissect::LayerId::payload);
    if (!payload || bth.icrc == dissect::CrcStatus::bad || bth.vcrc == dissect::CrcStatus::bad) return;
    const auto [at, is_new] = packets_.try_emplace(unit.frame.number);
    if (!is_new) return;
    at->second.psn = bth.psn & psn_mask;
    at->second.starts = traits.starts;
    at->second.ends = traits.ends;
    at->second.octets.assign(payload->begin(), payload->end());
    held_ += payload->size() + beside;
}

void PayloadCollector::packet(std::uint64_t flow, std::uint64_t frame) {
    const auto at = packets_.find(frame);
    if (at == packets_.end() || at->second.named) return;
    at->second.flow = flow;
    at->second.named = true;
    std::uint64_t& known = by_psn_[flow][at->second.psn];
    // What is sent again takes the place of what was sent first.
    if (const auto before = packets_.find(known); known != 0 && known != frame && before != packets_.end()) {
        before->second.named = false;
        erase(before);
    }
    known = frame;
}

void PayloadCollector::taken_back(std::uint64_t flow, std::uint64_t frame) {
    const auto at = packets_.find(frame);
    if (at == packets_.end() || !at->second.named || at->second.flow != flow) return;
    by_psn_[flow].erase(at->second.psn);
    at->second.named = false;
}

PayloadCollector::Packets::iterator PayloadCollector::erase(Packets::iterator packet) {
    const Packet& gone = packet->second;
    held_ -= gone.octets.size() + beside;
    if (gone.named)
        if (const auto flow = by_psn_.find(gone.flow); flow != by_psn_.end()) {
            flow->second.erase(gone.psn);
            if (flow->second.empty()) by_psn_.erase(flow);
        }
    return packets_.erase(packet);
}

/// From the packet that ends a message back to the one that begins it, PSN by PSN; nothing where one is missing.
std::vector<std::byte> PayloadCollector::of_packets(std::uint64_t flow, std::uint64_t frame) {
    std::vector<Packets::iterator> parts;
    auto part = packets_.find(frame);
    if (part == packets_.end() || !part->second.ends || !part->second.named || part->second.flow != flow) return {};
    const auto& frames = by_psn_[flow];
    bool whole = false;
    while (parts.size() < packets_.size()) {
        parts.push_back(part);
        whole = part->second.starts;
        if (whole) break;
        const auto before = frames.find((part->second.psn - 1) & psn_mask);
        if (before == frames.end()) break;
        part = packets_.find(before->second);
        if (part == packets_.end() || part->second.ends) break;
    }
    std::vector<std::byte> out;
    if (whole)
        for (auto at = parts.rbegin(); at != parts.rend(); ++at)
            out.insert(out.end(), (*at)->second.octets.begin(), (*at)->second.octets.end());
    for (const auto& at : parts) erase(at);
    return out;
}

PayloadCollector::Direction& PayloadCollector::direction(std::uint64_t key, std::uint64_t frame) {
    const auto found = by_stream_.find(key);
    if (found != by_stream_.end()) {
        directions_.splice(directions_.end(), directions_, found->second);
    } else {
        directions_.push_back({.key = key});
        by_stream_[key] = std::prev(directions_.end());
        held_ += beside;
    }
    directions_.back().frame = frame;
    return directions_.back();
}

void PayloadCollector::keep_segment(const dissect::Unit& unit) {
    const std::uint64_t key = key_of(unit.stream, unit.from_client);
    const auto& ddp = unit.dissection.ddp;
    if (!unit.dissection.has(dissect::LayerId::ddp_tagged) && !unit.dissection.has(dissect::LayerId::ddp_untagged)) {
        // A start frame, or what could not be read: the message of that part is not known.
        if (by_stream_.contains(key)) break_off(key, unit.frame.number);
        return;
    }
    const bool write = ddp.tagged && ddp.opcode == rdmap_write;
    const bool send = !ddp.tagged && ddp.queue == 0 && ddp.opcode >= rdmap_send_first && ddp.opcode <= rdmap_send_last;
    if (!write && !send) return;
    Direction& one = direction(key, unit.frame.number);
    Growing& into = write ? one.write : one.send;
    grow(into, unit);
    if (ddp.last) {
        if (!into.broken) ended_ = {unit.frame.number, write, std::move(into.octets)};
        held_ -= into.broken ? std::size_t{0} : ended_.octets.size();
        into = {};
    }
    if (!one.send.open && !one.write.open) forget(std::prev(directions_.end()));
}

/// Segments of a message follow one another without gaps: RFC 5041, 5.
void PayloadCollector::grow(Growing& into, const dissect::Unit& unit) {
    const auto& ddp = unit.dissection.ddp;
    const std::uint64_t offset = ddp.tagged ? ddp.tagged_offset : ddp.message_offset;
    const std::uint32_t key = ddp.tagged ? ddp.stag : ddp.msn;
    // Where a Write begins, its segments do not say.
    if (!ddp.tagged && offset == 0) {
        held_ -= into.octets.size();
        into = {};
    }
    if (!into.open) {
        into.open = true;
        into.key = key;
        into.next = ddp.tagged ? offset : 0;
    }
    const auto payload = payload_of(unit, dissect::LayerId::ulp_payload);
    if (into.key != key || into.next != offset || !payload || ddp.crc == dissect::CrcStatus::bad) into.broken = true;
    if (into.broken) {
        held_ -= into.octets.size();
        into.octets = {};
        return;
    }
    into.next += payload->size();
    into.octets.insert(into.octets.end(), payload->begin(), payload->end());
    held_ += payload->size();
}

/// What was under way may have ended, and something else begun: whatever ends next is not known to be whole.
void PayloadCollector::break_off(std::uint64_t key, std::uint64_t frame) {
    Direction& one = direction(key, frame);
    held_ -= one.send.octets.size() + one.write.octets.size();
    one.send = {.open = true, .broken = true};
    one.write = {.open = true, .broken = true};
}

void PayloadCollector::on_notice(const dissect::Notice& notice) {
    using NoticeKind = dissect::Notice::Kind;
    // Which direction's bytes they were, the notice does not say.
    if (notice.kind == NoticeKind::stream_gap || notice.kind == NoticeKind::stream_skipped ||
        notice.kind == NoticeKind::stream_unread)
        for (const bool from_client : {false, true}) break_off(key_of(notice.stream, from_client), notice.frame.number);
    if (notice.kind == NoticeKind::stream_not_rdma || notice.kind == NoticeKind::stream_evicted)
        for (const bool from_client : {false, true})
            if (const auto found = by_stream_.find(key_of(notice.stream, from_client)); found != by_stream_.end())
                forget(found->second);
}

void PayloadCollector::forget(Directions::iterator direction) {
    held_ -= direction->send.octets.size() + direction->write.octets.size() + beside;
    by_stream_.erase(direction->key);
    directions_.erase(direction);
}

void PayloadCollector::stay_bounded(std::uint64_t frame) {
    while (!packets_.empty() && packets_.begin()->first + most_frames < frame) erase(packets_.begin());
    while (held_ > most) {
        const bool packet =
            !packets_.empty() && (directions_.empty() || packets_.begin()->first <= directions_.front().frame);
        if (packet)
            erase(packets_.begin());
        else
            forget(directions_.begin());
    }
}

std::shared_ptr<Payload> PayloadCollector::message(std::uint64_t flow, const metrics::FrameObserver::Message& message,
                                                   std::uint64_t frame) {
    if (!is_send_or_write(message.operation)) return nullptr;
    std::vector<std::byte> octets;
    if (packets_.contains(frame))
        octets = of_packets(flow, frame);
    else if (ended_.frame == frame && ended_.write == is_write(message.operation))
        octets = std::exchange(ended_, {}).octets;
    // The engine knows which parts of a message were not captured at all, and shows it by its length, or by a missing
    // first frame.
    if (message.first_frame == 0 || octets.empty() || octets.size() != message.bytes) return nullptr;
    return std::make_shared<Payload>(std::move(octets), window_);
}

}  // namespace replay::plan
