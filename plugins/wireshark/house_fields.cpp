// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/house_fields.h"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <string>
#include <string_view>

#include "dissect/output/frame_fields.h"
#include "dissect/output/value_format.h"

namespace plugins::wireshark {

using dissect::Extent;
using wire::FieldInfo;
using wire::Kind;
using wire::Value;

/// What Wireshark keeps pointers to: lives as long as the process.
struct HouseFields::Own {
    std::deque<std::string> texts;
    std::deque<std::vector<value_string>> names;
    std::deque<std::vector<val64_string>> long_names;
    std::vector<hf_register_info> registrations;

    const char* text(std::string_view view) { return texts.emplace_back(view).c_str(); }
};

namespace {

/// Frame numbers are links.
bool is_frame_number(const FieldInfo& info) {
    constexpr std::array names{"rdma.repeats_frame", "rdma.first_frame",      "rdma.notice.frame",
                               "rdma.io.request_in", "rdma.io.data_in_first", "rdma.io.response_in"};
    return std::ranges::find(names, info.name) != names.end();
}

ftenum field_type(const FieldInfo& info) {
    if (is_frame_number(info)) return FT_FRAMENUM;
    switch (info.kind) {
        case Kind::none: return FT_NONE;
        case Kind::boolean: return FT_BOOLEAN;
        case Kind::uint8: return FT_UINT8;
        case Kind::uint16: return FT_UINT16;
        case Kind::uint24: return FT_UINT24;
        case Kind::uint32: return FT_UINT32;
        case Kind::uint64: return FT_UINT64;
        case Kind::bytes: return FT_BYTES;
        case Kind::ipv4: return FT_IPv4;
        case Kind::ipv6: return FT_IPv6;
        case Kind::ether: return FT_ETHER;
        case Kind::string: return FT_STRING;
        case Kind::time: return FT_RELATIVE_TIME;
    }
    return FT_NONE;
}

bool is_number(ftenum type) { return type >= FT_UINT8 && type <= FT_UINT64; }

/// Other layers are not the plugin's to show: Wireshark has them.
bool is_shown(const dissect::RegisteredField& field) {
    constexpr std::array<std::string_view, 12> protocols{"rdma",      "infiniband", "iwarp_mpa",    "iwarp_ddp_rdmap",
                                                         "rdma.srp",  "rdma.rds",   "rdma.rsocket", "nvme",
                                                         "nvme-rdma", "iser",       "iscsi",        "scsi"};
    return field.info->name != dissect::output::unit_heading.name &&
           std::ranges::find(protocols, field.protocol) != protocols.end();
}

}  // namespace

HouseFields::HouseFields() : ids_(registry_.fields().size(), -1), own_(std::make_unique<Own>()) {}
HouseFields::~HouseFields() = default;

void HouseFields::register_fields(int protocol) {
    own_->registrations.reserve(registry_.fields().size());
    for (const dissect::RegisteredField& field : registry_.fields()) {
        if (!is_shown(field)) continue;
        const FieldInfo& info = *field.info;
        const char* name = own_->text(info.name);
        ids_[field.id] = proto_registrar_get_id_byname(name);
        if (ids_[field.id] >= 0) continue;
        const ftenum type = field_type(info);
        int display = !is_number(type) ? int{BASE_NONE} : info.base == wire::Base::hex ? int{BASE_HEX} : int{BASE_DEC};
        const void* names = nullptr;
        if (is_number(type) && !info.values.empty() && type == FT_UINT64) {
            auto& table = own_->long_names.emplace_back();
            for (const wire::ValueName& each : info.values) table.push_back({each.value, own_->text(each.text)});
            table.push_back({0, nullptr});
            names = table.data();
            display |= BASE_VAL64_STRING;
        } else if (is_number(type) && !info.values.empty()) {
            auto& table = own_->names.emplace_back();
            for (const wire::ValueName& each : info.values)
                table.push_back({static_cast<std::uint32_t>(each.value), own_->text(each.text)});
            table.push_back({0, nullptr});
            names = table.data();
        }
        own_->registrations.push_back(
            {&ids_[field.id], {own_->text(info.label), name, type, display, names, 0, nullptr, HFILL}});
    }
    proto_register_field_array(protocol, own_->registrations.data(), static_cast<int>(own_->registrations.size()));
}

int HouseFields::id_of(const FieldInfo& info) const {
    const dissect::RegisteredField* field = registry_.find(info);
    return field == nullptr ? -1 : ids_[field->id];
}

TreeWriter::TreeWriter(const HouseFields& fields, proto_tree* tree, tvbuff_t* tvb, int fold, std::uint32_t frame_offset)
    : fields_(fields), tvb_(tvb), fold_(fold), frame_offset_(frame_offset), trees_{tree} {}

void TreeWriter::open(const FieldInfo& heading, const Value& value, Extent extent) {
    trees_.push_back(proto_item_add_subtree(add(heading, value, extent), fold_));
}

void TreeWriter::field(const FieldInfo& info, const Value& value, Extent extent) { add(info, value, extent); }

void TreeWriter::close() {
    if (trees_.size() > 1) trees_.pop_back();
}

proto_item* TreeWriter::add_number(int id, const header_field_info& kind, std::uint64_t number, int offset,
                                   int length) {
    // Wireshark reads this field from its bytes by a mask: it masks and shifts once more.
    if (kind.bitmask != 0) number <<= std::countr_zero(kind.bitmask);
    proto_tree* tree = trees_.back();
    switch (kind.type) {
        case FT_BOOLEAN: return proto_tree_add_boolean(tree, id, tvb_, offset, length, static_cast<guint32>(number));
        case FT_CHAR:
        case FT_UINT8:
        case FT_UINT16:
        case FT_UINT24:
        case FT_UINT32:
        case FT_FRAMENUM: return proto_tree_add_uint(tree, id, tvb_, offset, length, static_cast<guint32>(number));
        case FT_UINT40:
        case FT_UINT48:
        case FT_UINT56:
        case FT_UINT64: return proto_tree_add_uint64(tree, id, tvb_, offset, length, number);
        case FT_INT8:
        case FT_INT16:
        case FT_INT24:
        case FT_INT32: return proto_tree_add_int(tree, id, tvb_, offset, length, static_cast<gint32>(number));
        case FT_RELATIVE_TIME: {
            constexpr std::uint64_t second = 1'000'000'000;
            const nstime_t time{static_cast<time_t>(number / second), static_cast<int>(number % second)};
            return proto_tree_add_time(tree, id, tvb_, offset, length, &time);
        }
        default: return nullptr;
    }
}

proto_item* TreeWriter::add(const FieldInfo& info, const Value& value, Extent extent) {
    proto_tree* tree = trees_.back();
    const bool placed = extent.length != 0 && extent.offset >= frame_offset_ &&
                        std::uint64_t{extent.offset} + extent.length - frame_offset_ <= captured_octets(tvb_);
    const int offset = placed ? static_cast<int>(extent.offset - frame_offset_) : 0;
    const int length = placed ? static_cast<int>(extent.length) : 0;
    const int id = fields_.id_of(info);
    proto_item* item = nullptr;
    if (id >= 0) {
        const auto& kind = *proto_registrar_get_nth(static_cast<guint>(id));
        const auto* octets = reinterpret_cast<const guint8*>(value.bytes.data());
        const auto size = static_cast<int>(value.bytes.size());
        if (kind.type == FT_NONE || kind.type == FT_PROTOCOL)
            item = proto_tree_add_item(tree, id, tvb_, offset, length, ENC_NA);
        else if (kind.type == FT_STRING && info.kind == Kind::string)
            item = proto_tree_add_string(tree, id, tvb_, offset, length, std::string(value.text).c_str());
        else if (kind.type == FT_BYTES && info.kind == Kind::bytes)
            item = placed ? proto_tree_add_item(tree, id, tvb_, offset, length, ENC_NA)
                          : proto_tree_add_bytes_with_length(tree, id, tvb_, 0, 0, octets, size);
        else if (info.kind != Kind::bytes && info.kind != Kind::string && info.kind != Kind::none)
            item = add_number(id, kind, value.number, offset, length);
    }
    if (item == nullptr) {
        std::string line;
        dissect::output::append_tree_line(line, info, value);
        item = proto_tree_add_subtree(tree, tvb_, offset, length, fold_, nullptr, line.c_str());
    }
    if (!placed) proto_item_set_generated(item);
    return item;
}

}  // namespace plugins::wireshark
