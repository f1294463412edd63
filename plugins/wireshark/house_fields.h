// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "dissect/describe.h"
#include "dissect/registry.h"
#include "plugins/wireshark/compat.h"

namespace plugins::wireshark {

/// Our dissector's fields among Wireshark's: by Wireshark's own registration if it has one of that name, so that its
/// filters find them, else by one of ours.
class HouseFields {
public:
    HouseFields();
    ~HouseFields();
    /// Call it after Wireshark's protocols are registered, once in a process; our fields belong to `protocol`.
    void register_fields(int protocol);
    /// Returns -1 if the field is not shown, as those of `frame`.
    int id_of(const wire::FieldInfo& info) const;

private:
    struct Own;
    dissect::FieldRegistry registry_;
    std::vector<int> ids_;  ///< by RegisteredField::id
    std::unique_ptr<Own> own_;
};

/// Makes Wireshark's tree of what it visits.
class TreeWriter final : public dissect::Visitor {
public:
    /// `fold` is the subtree type of headings.
    TreeWriter(const HouseFields& fields, proto_tree* tree, tvbuff_t* tvb, int fold, std::uint32_t frame_offset);

    void open(const wire::FieldInfo& heading, const wire::Value& value, dissect::Extent extent) override;
    void field(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent) override;
    void close() override;

private:
    proto_item* add(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent);
    proto_item* add_number(int id, const header_field_info& kind, std::uint64_t number, int offset, int length);

    const HouseFields& fields_;
    tvbuff_t* tvb_;
    int fold_;
    std::uint32_t frame_offset_;  ///< bytes of the frame before the beginning of the tvbuff
    std::vector<proto_tree*> trees_;
};

}  // namespace plugins::wireshark
