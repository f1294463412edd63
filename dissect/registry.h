#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dissect/layer_id.h"
#include "wire/field.h"

namespace dissect {

/// A field's name and every place it is declared in: `infiniband.reth.va` stands in RETH and in AtomicETH.
struct RegisteredField {
    std::uint32_t id = 0;                   ///< dense, from 0
    const wire::FieldInfo* info = nullptr;  ///< the first declaration
    std::vector<const wire::FieldInfo*> declarations;
    LayerSet layers;            ///< where it can occur
    std::string_view protocol;  ///< outermost heading: `infiniband`
    bool heading = false;       ///< names a layer or protocol, so that its presence can be asked for
    bool of_frame = false;      ///< `frame.*` and `rdma.*`: described from the frame, not from a layer
};

/// Every field the program knows, by name. Built once, in `main`, from the dispatch table; immutable afterwards.
class FieldRegistry {
public:
    FieldRegistry();

    const RegisteredField* find(std::string_view name) const;
    const RegisteredField* find(const wire::FieldInfo& info) const;
    std::span<const RegisteredField> fields() const { return fields_; }
    /// Outermost headings in the order of the dispatch table.
    std::span<const wire::FieldInfo* const> protocols() const { return protocols_; }
    /// Names close to a misspelt one, best first, at most `count`.
    std::vector<std::string_view> similar(std::string_view name, std::size_t count) const;

private:
    void add(const wire::FieldInfo& info, std::string_view protocol, const LayerSet& layers, bool heading,
             bool of_frame);
    void add_of_frame();

    std::vector<RegisteredField> fields_;
    std::vector<const wire::FieldInfo*> protocols_;
    std::unordered_map<std::string_view, std::uint32_t> by_name_;
    std::unordered_map<const wire::FieldInfo*, std::uint32_t> by_declaration_;
};

}  // namespace dissect
