#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_format.h"
#include "dissect/describe.h"
#include "dissect/dissector.h"
#include "dissect/layer_table.h"
#include "dissect/output/value_format.h"

/// A packet taken apart, with its fields by name as they would be printed.
class Described : dissect::Visitor {
public:
    Described(std::vector<std::byte> octets, dissect::LayerId first, std::uint32_t wire_length = 0)
        : octets_(std::move(octets)) {
        dissect::dissect_unit(first, octets_, wire_length != 0 ? wire_length : size(), {}, found);
        dissect::describe(found, octets_, *this);
    }

    dissect::Dissection found;

    /// Occurrences joined by commas, as `-T fields` does; "-" where there is none.
    std::string operator[](std::string_view name) const {
        const auto at = values_.find(std::string{name});
        return at == values_.end() ? "-" : at->second;
    }
    /// The layers' names in the order of the wire.
    std::string layers() const {
        std::vector<dissect::LayerRef> sorted{found.layers.begin(), found.layers.begin() + found.layer_count};
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const auto& a, const auto& b) { return a.offset < b.offset; });
        std::string names;
        for (const auto& layer : sorted) {
            if (!names.empty()) names += ' ';
            names += dissect::row_of(layer.id).name;
        }
        return names;
    }
    std::uint32_t size() const { return static_cast<std::uint32_t>(octets_.size()); }

private:
    void open(const wire::FieldInfo& heading, const wire::Value& value, dissect::Extent extent) override {
        if (heading.kind != wire::Kind::none) field(heading, value, extent);
    }
    void field(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent) override {
        std::string& joined = values_[std::string{info.name}];
        if (!joined.empty()) joined += ',';
        dissect::output::append_value(joined, info, value, base::OctetStyle::plain);
    }
    void close() override {}

    std::vector<std::byte> octets_;
    std::map<std::string, std::string> values_;
};
