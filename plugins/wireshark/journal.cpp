// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/journal.h"

#include <algorithm>

namespace plugins::wireshark {

using dissect::Extent;
using wire::FieldInfo;
using wire::Kind;
using wire::Value;

namespace {

bool holds_octets(Kind kind) {
    return kind == Kind::bytes || kind == Kind::ipv4 || kind == Kind::ipv6 || kind == Kind::ether;
}
bool holds_number(Kind kind) { return kind != Kind::none && kind != Kind::string && !holds_octets(kind); }

}  // namespace

void Journal::begin(std::uint64_t frame, base::Bytes frame_octets) {
    frame_octets_ = frame_octets;
    described_ = frame_octets;
    const auto number = static_cast<std::uint32_t>(frame);
    if (entries_.empty() || entries_.back().frame < number) {
        Entry& fresh = entries_.emplace_back();
        fresh.frame = number;
        fresh.begin = octets_.size();
    }
}

bool Journal::keep(const Packet& packet) {
    if (entries_.empty() || entries_.back().begin != octets_.size()) return false;
    entries_.back().packet = true;
    entries_.back().transport = packet.transport;
    put(packet.repeats_frame);
    return true;
}

void Journal::mark_layers() {
    if (!entries_.empty()) entries_.back().layers = true;
}

void Journal::describing(base::Bytes described) { described_ = described; }

Extent Journal::in_frame(Extent extent) const {
    if (frame_octets_.empty() || described_.empty()) return {};
    const std::less_equal<const std::byte*> before;
    const std::byte* const frame_end = frame_octets_.data() + frame_octets_.size();
    const std::byte* const described_end = described_.data() + described_.size();
    if (!before(frame_octets_.data(), described_.data()) || !before(described_end, frame_end)) return {};
    if (extent.offset > described_.size() || extent.length > described_.size() - extent.offset) return {};
    return {static_cast<std::uint32_t>(described_.data() - frame_octets_.data()) + extent.offset, extent.length};
}

void Journal::put(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) octets_.push_back(static_cast<std::uint8_t>(value | 0x80));
    octets_.push_back(static_cast<std::uint8_t>(value));
}

std::uint32_t Journal::index_of(const FieldInfo& info) {
    const auto [at, fresh] = field_index_.try_emplace(&info, static_cast<std::uint32_t>(fields_.size()));
    if (fresh) fields_.push_back(&info);
    return at->second;
}

std::uint32_t Journal::index_of(std::string_view text) {
    const auto [at, fresh] = text_index_.try_emplace(std::string(text), static_cast<std::uint32_t>(texts_.size()));
    if (fresh) texts_.emplace_back(text);
    return at->second;
}

void Journal::put(Step step, const FieldInfo& info, const Value& value, Extent extent) {
    const Extent place = in_frame(extent);
    const bool placed = place.length != 0;
    put(std::uint64_t{index_of(info)} << 3 | (placed ? 4u : 0u) | static_cast<unsigned>(step));
    if (placed) {
        put(place.offset);
        put(place.length);
    }
    if (info.kind == Kind::string) put(index_of(value.text));
    if (holds_number(info.kind)) put(value.number);
    if (!holds_octets(info.kind)) return;
    const base::Bytes kept = value.bytes.first(std::min(value.bytes.size(), max_octets));
    put(kept.size());
    const auto* first = reinterpret_cast<const std::uint8_t*>(kept.data());
    octets_.insert(octets_.end(), first, first + kept.size());
}

void Journal::open(const FieldInfo& heading, const Value& value, Extent extent) {
    put(Step::open, heading, value, extent);
}
void Journal::field(const FieldInfo& info, const Value& value, Extent extent) { put(Step::field, info, value, extent); }
void Journal::close() { put(static_cast<std::uint64_t>(Step::close)); }

/// Reads what put() has written: nothing else can be in the bytes.
class Journal::Reader {
public:
    Reader(const Journal& journal, std::uint64_t begin, std::uint64_t end) : journal_(journal), at_(begin), end_(end) {}

    bool at_end() const { return at_ >= end_; }
    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const std::uint8_t octet = journal_.octets_[at_++];
            value |= std::uint64_t{octet & 0x7fu} << shift;
            if ((octet & 0x80) == 0) return value;
        }
    }

    void step(dissect::Visitor& visitor) {
        const std::uint64_t head = number();
        const auto what = static_cast<Step>(head & 3);
        if (what == Step::close) return visitor.close();
        const FieldInfo& info = *journal_.fields_[head >> 3];
        Extent extent;
        if ((head & 4) != 0) {
            extent.offset = static_cast<std::uint32_t>(number());
            extent.length = static_cast<std::uint32_t>(number());
        }
        const Value found = value(info.kind);
        if (what == Step::open)
            visitor.open(info, found, extent);
        else
            visitor.field(info, found, extent);
    }

private:
    Value value(Kind kind) {
        Value found;
        if (kind == Kind::string) found.text = journal_.texts_[number()];
        if (holds_number(kind)) found.number = number();
        if (!holds_octets(kind)) return found;
        const std::uint64_t size = number();
        found.bytes = std::as_bytes(std::span(journal_.octets_)).subspan(at_, size);
        at_ += size;
        return found;
    }

    const Journal& journal_;
    std::uint64_t at_;
    std::uint64_t end_;
};

std::vector<Journal::Entry>::const_iterator Journal::find(std::uint64_t frame) const {
    const auto entry = std::lower_bound(entries_.begin(), entries_.end(), frame,
                                        [](const Entry& each, std::uint64_t sought) { return each.frame < sought; });
    return entry == entries_.end() || entry->frame != frame ? entries_.end() : entry;
}

std::uint64_t Journal::end_of(std::vector<Entry>::const_iterator entry) const {
    const auto next = std::next(entry);
    return next == entries_.end() ? octets_.size() : next->begin;
}

bool Journal::holds(std::uint64_t frame) const {
    const auto entry = find(frame);
    return entry != entries_.end() && entry->begin != end_of(entry);
}

bool Journal::holds_layers(std::uint64_t frame) const {
    const auto entry = find(frame);
    return entry != entries_.end() && entry->layers;
}

std::optional<Journal::Packet> Journal::packet(std::uint64_t frame) const {
    const auto entry = find(frame);
    if (entry == entries_.end() || !entry->packet) return std::nullopt;
    return Packet{entry->transport, Reader(*this, entry->begin, end_of(entry)).number()};
}

void Journal::replay(std::uint64_t frame, dissect::Visitor& visitor) const {
    const auto entry = find(frame);
    if (entry == entries_.end()) return;
    Reader reader(*this, entry->begin, end_of(entry));
    if (entry->packet) reader.number();
    while (!reader.at_end()) reader.step(visitor);
}

std::size_t Journal::memory_octets() const {
    return octets_.capacity() + entries_.capacity() * sizeof(Entry) + texts_.size() * 64;
}

}  // namespace plugins::wireshark
