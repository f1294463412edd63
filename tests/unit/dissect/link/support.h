#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_format.h"
#include "dissect/describe.h"
#include "dissect/dissector.h"
#include "dissect/layer_table.h"
#include "dissect/output/value_format.h"

namespace support {

using Octets = std::vector<std::byte>;

inline Octets from_hex(std::string_view text) {
    const auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
    Octets octets;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
        octets.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
    return octets;
}

inline dissect::Dissection dissect_octets(base::Bytes octets, std::uint32_t wire_length,
                                          wire::LinkType link_type = wire::LinkType::ethernet) {
    wire::Frame frame;
    frame.bytes = octets;
    frame.wire_length = wire_length;
    frame.link_type = link_type;
    dissect::Dissection dissection;
    dissect::dissect_frame(frame, {}, dissection);
    return dissection;
}

/// Every field's values by name, as `-T fields` prints them, several joined by `|`; headings too. Checks on the way
/// that what is opened is closed, and that extents lie within the octets.
class Collected : public dissect::Visitor {
public:
    Collected(const dissect::Dissection& dissection, base::Bytes octets) : octets_(octets) {
        dissect::describe(dissection, octets, *this);
    }
    void open(const wire::FieldInfo& heading, const wire::Value& value, dissect::Extent extent) override {
        ++depth_;
        if (heading.kind == wire::Kind::none)
            headings.emplace_back(heading.name);
        else
            field(heading, value, extent);
    }
    void field(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent) override {
        if (extent.offset + extent.length > octets_.size()) within = false;
        std::string text;
        dissect::output::append_value(text, info, value, base::OctetStyle::plain);
        const auto [at, fresh] = values.try_emplace(std::string{info.name}, text);
        if (!fresh) at->second += "|" + text;
    }
    void close() override { --depth_; }
    bool balanced() const { return depth_ == 0; }

    std::map<std::string, std::string, std::less<>> values;
    std::vector<std::string> headings;
    bool within = true;

private:
    base::Bytes octets_;
    int depth_ = 0;
};

/// The layers in the order of the wire: a payload is recorded after the CRCs that follow it.
inline std::string chain(const dissect::Dissection& dissection) {
    auto layers = dissection.layers;
    std::stable_sort(layers.begin(), layers.begin() + dissection.layer_count,
                     [](const auto& a, const auto& b) { return a.offset < b.offset; });
    std::string text;
    for (unsigned i = 0; i < dissection.layer_count; ++i) {
        if (i != 0) text += ':';
        text += dissect::row_of(layers[i].id).name;
    }
    return text;
}

}  // namespace support
