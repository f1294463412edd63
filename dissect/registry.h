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

/// The form of numbers that are compared with a field, if plain numbers are not enough: `1ms`, `64K`, `5%`.
struct NumberForm {
    /// The value in the field's unit; nullopt if `text` is not a value.
    std::optional<std::uint64_t> (*read)(std::string_view text) = nullptr;
    std::string_view wanted;  ///< "a time such as 250us or 1.5ms, or a number of ns"
};

/// A field that no layer declares: the code that visits the collector has its values.
struct FieldOfTable {
    wire::FieldInfo info;
    const NumberForm* form = nullptr;
};

/// A field's name and every place that declares it: `infiniband.reth.va` stands in RETH and in AtomicETH.
struct RegisteredField {
    std::uint32_t id = 0;                   ///< dense, from 0
    const wire::FieldInfo* info = nullptr;  ///< the first declaration
    std::vector<const wire::FieldInfo*> declarations;
    LayerSet layers;            ///< where it can occur
    std::string_view protocol;  ///< outermost heading: `infiniband`
    bool heading = false;       ///< names a layer or protocol, so that a filter can ask for its presence
    bool of_frame = false;      ///< `frame.*` and `rdma.*`: described from the frame, not from a layer
    const NumberForm* form = nullptr;
};

/// Fields by name: all fields of frames, built once, by `main`, from the dispatch table; or those of a table. Immutable
/// afterwards.
class FieldRegistry {
public:
    FieldRegistry();
    /// Fields of other things than frames, for filters over them: the table must outlive the registry. `noun` is the
    /// word for such a field in errors. If a field has a form, Kind::time means a number with decimals, held in parts
    /// of 10^-9.
    FieldRegistry(std::span<const FieldOfTable> table, std::string_view noun);

    /// "field or protocol"
    std::string_view noun() const { return noun_; }
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

    std::string_view noun_ = "field or protocol";
    std::vector<RegisteredField> fields_;
    std::vector<const wire::FieldInfo*> protocols_;
    std::unordered_map<std::string_view, std::uint32_t> by_name_;
    std::unordered_map<const wire::FieldInfo*, std::uint32_t> by_declaration_;
};

}  // namespace dissect
