#include "dissect/field_collector.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/hash.h"
#include "dissect/layer_table.h"
#include "dissect/packet_end.h"

namespace dissect {

namespace {
constexpr std::uint32_t no_slot = std::numeric_limits<std::uint32_t>::max();

std::size_t hash_of(const wire::FieldInfo* info) {
    // The low bits of an address are zero and the table is small: a multiplication spreads the others.
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(info) >> 3) * base::golden >> 32);
}
}  // namespace

FieldCollector::FieldCollector(const FieldRegistry& registry)
    : slot_of_id_(registry.fields().size(), no_slot), table_(64) {}

std::uint32_t FieldCollector::want(const RegisteredField& field) {
    std::uint32_t& slot = slot_of_id_[field.id];
    if (slot != no_slot) return slot;
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
    slots_with_packets_.push_back(false);
    for (const auto* info : field.declarations) insert(info, slot);
    layers_ |= field.layers;
    wants_frame_fields_ = wants_frame_fields_ || field.of_frame;
    for (unsigned i = 0; i < layer_count; ++i)
        if (field.layers.contains(static_cast<LayerId>(i))) plan(static_cast<LayerId>(i));
    return slot;
}

void FieldCollector::plan(LayerId id) {
    const LayerRow& row = row_of(id);
    Plan& plan = plans_[static_cast<unsigned>(id)];
    plan = {};
    if (const Wanted* heading = find(&row.heading)) {
        plan.has_heading = true;
        plan.heading_slot = heading->slot;
    }
    if (const Wanted* protocol = row.protocol == nullptr ? nullptr : find(row.protocol)) {
        plan.has_protocol = true;
        plan.protocol_slot = protocol->slot;
        wants_protocols_ = true;
    }
    for (const auto& info : row.fields)
        if (const Wanted* wanted = find(&info); wanted != nullptr && (info.bit_width != 0 || row.describe != nullptr))
            plan.fields.push_back(*wanted);
    bool computes = false;
    for (const auto& info : row.computed) computes = computes || find(&info) != nullptr;
    for (const auto& group : row.groups)
        for (const auto& info : group) computes = computes || find(&info) != nullptr;
    plan.describes = row.describe != nullptr && (plan.has_heading || computes || !plan.fields.empty());
    if (plan.describes) describing_.insert(id);
}

void FieldCollector::insert(const wire::FieldInfo* info, std::uint32_t slot) {
    if ((table_used_ + 1) * 2 > table_.size()) {
        std::vector<Wanted> old(table_.size() * 2);
        old.swap(table_);
        table_used_ = 0;
        for (const auto& wanted : old)
            if (wanted.info != nullptr) insert(wanted.info, wanted.slot);
    }
    std::size_t at = hash_of(info) & (table_.size() - 1);
    while (table_[at].info != nullptr) at = (at + 1) & (table_.size() - 1);
    table_[at] = {info, slot};
    ++table_used_;
}

const FieldCollector::Wanted* FieldCollector::find(const wire::FieldInfo* info) const {
    for (std::size_t at = hash_of(info) & (table_.size() - 1); table_[at].info != nullptr;
         at = (at + 1) & (table_.size() - 1))
        if (table_[at].info == info) return &table_[at];
    return nullptr;
}

void FieldCollector::begin_frame(base::Bytes frame) {
    for (auto& slot : slots_) slot.clear();
    frame_ = frame;
    described_ = frame;
    arena_.reset();
    protocol_count_ = 0;
    layer_ = 1;
}

void FieldCollector::add(const Dissection& dissection, base::Bytes described) {
    if (!dissection.present.intersects(layers_) && !dissection.quoted.intersects(layers_)) return;
    described_ = described;
    const bool follows_protocols = wants_protocols_ || numbers_layers_;
    const wire::FieldInfo* protocol = nullptr;
    LayerId opener = LayerId::none;
    for (unsigned i = 0; i < dissection.layer_count; ++i) {
        const LayerRef& layer = dissection.layers[i];
        if (follows_protocols) {
            const wire::FieldInfo* own = row_of(layer.id).protocol;
            if (own != protocol || layer.id == opener) {
                if (own != nullptr) enter_protocol(dissection, i, own);
                protocol = own;
                opener = layer.id;
            }
        }
        if (!layers_.contains(layer.id)) continue;
        read(plans_[static_cast<unsigned>(layer.id)], {dissection, layer, described, describing_});
    }
    described_ = frame_;
    layer_ = 1;
}

/// A protocol spans its consecutive layers, as the heading that they share does.
void FieldCollector::enter_protocol(const Dissection& dissection, unsigned first, const wire::FieldInfo* protocol) {
    if (numbers_layers_) {
        const auto end = protocols_.begin() + static_cast<std::ptrdiff_t>(protocol_count_);
        auto found =
            std::find_if(protocols_.begin(), end, [&](const ProtocolCount& p) { return p.protocol == protocol; });
        if (found == end && protocol_count_ < protocols_.size()) {
            *found = {protocol, 0};
            ++protocol_count_;
        }
        layer_ = found == protocols_.end() ? 1 : ++found->count;
    }
    const Plan& plan = plans_[static_cast<unsigned>(dissection.layers[first].id)];
    if (!plan.has_protocol) return;
    const LayerRef& opener = dissection.layers[first];
    const std::uint32_t begin = opener.offset;
    std::uint32_t end = begin + opener.length;
    for (unsigned i = first + 1; i < dissection.layer_count; ++i) {
        const LayerRef& layer = dissection.layers[i];
        if (layer.id == opener.id || row_of(layer.id).protocol != protocol) break;
        end = std::max(end, layer.offset + layer.length);
    }
    if (!slots_with_packets_[plan.protocol_slot])
        return store(plan.protocol_slot, *protocol, {0, described_.subspan(begin, end - begin), {}});
    auto& values = slots_[plan.protocol_slot];
    if (values.size() == max_values) {
        ++omitted_;
        return;
    }
    const std::uint32_t packet_end = std::max(end, end_of_packet(dissection, first, described_));
    const base::Bytes packet = kept(described_.subspan(begin, packet_end - begin));
    if (packet.size() >= end - begin) values.push_back({protocol, {0, packet.first(end - begin), {}}, layer_, packet});
}

void FieldCollector::read(const Plan& plan, const LayerView& view) {
    if (plan.describes) return row_of(view.layer.id).describe(view, *this);
    const base::Bytes octets = view.octets();
    if (plan.has_heading) store(plan.heading_slot, row_of(view.layer.id).heading, {0, octets, {}});
    for (const auto& wanted : plan.fields)
        if ((wanted.info->bit_offset + wanted.info->bit_width - 1u) / 8u < octets.size())
            store(wanted.slot, *wanted.info, value_of(*wanted.info, octets));
}

void FieldCollector::open(const wire::FieldInfo& heading, const wire::Value& value, Extent extent) {
    const Wanted* wanted = find(&heading);
    if (wanted == nullptr) return;
    wire::Value stored = value;
    if (heading.kind == wire::Kind::none && value.bytes.empty() && extent.offset <= described_.size())
        stored.bytes =
            described_.subspan(extent.offset, std::min<std::size_t>(extent.length, described_.size() - extent.offset));
    store(wanted->slot, heading, stored);
}

void FieldCollector::field(const wire::FieldInfo& info, const wire::Value& value, Extent extent) {
    open(info, value, extent);
}

void FieldCollector::store(std::uint32_t slot, const wire::FieldInfo& info, wire::Value value) {
    auto& values = slots_[slot];
    if (values.size() == max_values) {
        ++omitted_;
        return;
    }
    if (!value.bytes.empty()) {
        value.bytes = kept(value.bytes);
        if (value.bytes.empty()) return;
    }
    if (!value.text.empty()) {
        const base::Bytes copy = kept(std::as_bytes(std::span{value.text}));
        if (copy.empty()) return;
        value.text = {reinterpret_cast<const char*>(copy.data()), copy.size()};
    }
    values.push_back({&info, value, layer_});
}

/// The bytes themselves where they lie in the frame, else a copy: a unit's bytes and scratch space die first.
/// Empty where there is no room for one.
base::Bytes FieldCollector::kept(base::Bytes octets) {
    const std::less_equal<> not_after;
    const bool in_frame = !frame_.empty() && not_after(frame_.data(), octets.data()) &&
                          not_after(octets.data() + octets.size(), frame_.data() + frame_.size());
    if (in_frame) return octets;
    char* copy = arena_.allocate(octets.size());
    if (copy == nullptr) {
        ++omitted_;
        return {};
    }
    std::memcpy(copy, octets.data(), octets.size());
    return {reinterpret_cast<const std::byte*>(copy), octets.size()};
}

}  // namespace dissect
