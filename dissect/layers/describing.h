#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "dissect/describe.h"
#include "wire/layout.h"

/// Helpers for the `describe` functions of the layers.
namespace dissect::inline layers {

/// `wire::size_of` as the type of offsets.
template <class Header>
inline constexpr auto octets_of = static_cast<std::uint32_t>(wire::size_of<Header>);

namespace detail {
template <auto Member>
consteval std::size_t index_of() {
    using Header = typename wire::detail::member_traits<decltype(Member)>::header;
    std::size_t index = 0;
    auto found = static_cast<std::size_t>(-1);
    wire::detail::for_each_field<Header>([&](const auto& field, unsigned) {
        if constexpr (wire::detail::same_member<std::remove_cvref_t<decltype(field)>::member, Member>) found = index;
        ++index;
    });
    return found;
}
}  // namespace detail

/// A header member's entry in its `field_table`.
template <auto Member>
constexpr const wire::FieldInfo& info_of() {
    using Header = typename wire::detail::member_traits<decltype(Member)>::header;
    return wire::field_table<Header>[detail::index_of<Member>()];
}

/// A field without a fixed place, for `computed` of a row.
constexpr wire::FieldInfo floating(std::string_view name, std::string_view label, wire::Kind kind = wire::Kind::none,
                                   wire::Base base = wire::Base::dec, std::span<const wire::ValueName> values = {}) {
    return {name, label, 0, 0, kind, base, false, values};
}
/// A field for filters and `-e` that the tree does not show.
constexpr wire::FieldInfo hidden(wire::FieldInfo info) {
    info.hidden = true;
    return info;
}

/// The table's entry of this name, found at compile time. Visiting code then passes the same object that the row lists.
template <std::size_t N>
consteval const wire::FieldInfo& pick(const wire::FieldInfo (&table)[N], std::string_view name) {
    std::size_t at = 0;
    while (table[at].name != name) ++at;  // a name that the table lacks does not compile
    return table[at];
}

/// Visits fields of one layer, or of a part of it. Positions count from the part's first byte; bytes that were not
/// captured are left out.
class Tree {
public:
    Tree(const LayerView& view, Visitor& visitor)
        : octets_(view.octets()), offset_(view.layer.offset), visitor_(visitor) {}
    Tree(base::Bytes octets, std::uint32_t offset, Visitor& visitor)
        : octets_(octets), offset_(offset), visitor_(visitor) {}

    /// The part that begins at `first`.
    Tree part(std::uint32_t first, std::uint32_t length) const {
        const auto begin = std::min<std::size_t>(first, octets_.size());
        return {octets_.subspan(begin, std::min<std::size_t>(length, octets_.size() - begin)),
                offset_ + static_cast<std::uint32_t>(begin), visitor_};
    }

    /// Whether the bytes of a field at its fixed place are there.
    bool has(const wire::FieldInfo& info) const {
        const Extent local = place_in(info);
        return local.offset + local.length <= size();
    }

    std::uint32_t size() const { return static_cast<std::uint32_t>(octets_.size()); }
    const std::byte* at(std::uint32_t position) const { return octets_.data() + position; }
    base::Bytes octets() const { return octets_; }

    /// A field at its fixed place.
    void field(const wire::FieldInfo& info) const {
        if (has(info)) visitor_.field(info, value_of(info, octets_), place(info));
    }
    template <auto Member>
    void field() const {
        field(info_of<Member>());
    }
    /// Several fields, in this order.
    template <auto... Member>
    void fields() const {
        (field<Member>(), ...);
    }
    void number(const wire::FieldInfo& info, std::uint64_t value, std::uint32_t first, std::uint32_t length) const {
        if (first + length <= size()) visitor_.field(info, {value, {}, {}}, {offset_ + first, length});
    }
    void octets(const wire::FieldInfo& info, std::uint32_t first, std::uint32_t length) const {
        if (first + length <= size())
            visitor_.field(info, {0, octets_.subspan(first, length), {}}, {offset_ + first, length});
    }
    void text(const wire::FieldInfo& info, std::string_view value, std::uint32_t first, std::uint32_t length) const {
        visitor_.field(info, {0, {}, value}, {offset_ + first, length});
    }

    /// A heading with the value at its fixed place. Fields that follow are below the heading until `close`.
    void open(const wire::FieldInfo& info) const {
        visitor_.open(info, has(info) ? value_of(info, octets_) : wire::Value{}, place(info));
    }
    /// A heading whose value is a range of bytes.
    void open(const wire::FieldInfo& info, std::uint32_t first, std::uint32_t length) const {
        visitor_.open(info, {0, octets_.subspan(first, length), {}}, {offset_ + first, length});
    }
    /// A heading with a number, for bytes that have no fields.
    void open_number(const wire::FieldInfo& info, std::uint64_t number, std::uint32_t first,
                     std::uint32_t length) const {
        visitor_.open(info, {number, {}, {}}, {offset_ + first, length});
    }
    void close() const { visitor_.close(); }

private:
    static Extent place_in(const wire::FieldInfo& info) {
        const unsigned first = info.bit_offset / 8u;
        return {first, (info.bit_offset + info.bit_width - 1u) / 8u - first + 1};
    }
    Extent place(const wire::FieldInfo& info) const {
        const Extent local = place_in(info);
        return {offset_ + local.offset, local.length};
    }

    base::Bytes octets_;
    std::uint32_t offset_;
    Visitor& visitor_;
};

}  // namespace dissect::layers
