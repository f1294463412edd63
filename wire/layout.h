#pragma once
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "wire/field.h"

/// A header is a plain struct with one constexpr layout; views, parse, emit and the field table all follow
/// from that one declaration. A layout is a specialisation `template <> inline constexpr auto layout_of<Header>`.
namespace wire {

/// Reads `width` bits (1 to 64, spanning at most 8 octets), most significant first; the caller has checked the length.
constexpr std::uint64_t read_bits(const std::byte* p, unsigned offset, unsigned width) {
    const unsigned first = offset / 8;
    const unsigned last = (offset + width - 1) / 8;
    std::uint64_t value = 0;
    for (unsigned i = first; i <= last; ++i) value = value << 8 | std::to_integer<std::uint64_t>(p[i]);
    value >>= (last + 1) * 8 - (offset + width);
    return width == 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

/// Reads bits whose place is known at compile time. The compiler makes one load, one byte swap and one mask of it.
template <unsigned Offset, unsigned Width>
constexpr std::uint64_t read_bits(const std::byte* p) {
    constexpr unsigned first = Offset / 8;
    constexpr unsigned octets = (Offset + Width - 1) / 8 - first + 1;
    static_assert(octets <= 8, "a field may span eight octets at most");
    std::uint64_t value = 0;
    if constexpr (octets <= 4)
        value = base::detail::load_be<octets, std::uint32_t>(p + first);
    else
        value = base::detail::load_be<octets, std::uint64_t>(p + first);
    value >>= (first + octets) * 8 - (Offset + Width);
    if constexpr (Width == 64)
        return value;
    else
        return value & ((std::uint64_t{1} << Width) - 1);
}

/// Writes the `width` low bits of `value`; neighbouring bits keep their value.
constexpr void write_bits(std::byte* p, unsigned offset, unsigned width, std::uint64_t value) {
    for (unsigned bit = offset + width; bit-- > offset; value >>= 1) {
        const auto mask = std::byte{1} << (7 - bit % 8);
        p[bit / 8] = (p[bit / 8] & ~mask) | ((value & 1) != 0 ? mask : std::byte{0});
    }
}

namespace detail {
template <class T>
struct member_traits;
template <class H, class V>
struct member_traits<V H::*> {
    using header = H;
    using value = V;
};

template <class T>
inline constexpr bool is_octet_array = false;
template <std::size_t N>
inline constexpr bool is_octet_array<std::array<std::byte, N>> = true;

template <class V>
constexpr unsigned value_bits() {
    if constexpr (std::is_same_v<V, bool>)
        return 1;
    else
        return sizeof(V) * 8;
}

template <class V, unsigned Width>
constexpr Kind default_kind() {
    if constexpr (is_octet_array<V>) return Kind::bytes;
    if constexpr (std::is_same_v<V, bool>) return Kind::boolean;
    return Width <= 8 ? Kind::uint8 : Width <= 16 ? Kind::uint16 : Width <= 24 ? Kind::uint24 : Width <= 32 ? Kind::uint32 : Kind::uint64;
}

template <auto A, auto B>
inline constexpr bool same_member =
    std::is_same_v<std::integral_constant<decltype(A), A>, std::integral_constant<decltype(B), B>>;
}  // namespace detail

/// One declared field: which member, how many bits, and how people see it.
template <auto Member, unsigned Width>
struct Field {
    using Value = typename detail::member_traits<decltype(Member)>::value;
    static constexpr auto member = Member;
    static constexpr unsigned width = Width;
    static_assert(detail::value_bits<Value>() >= Width, "the member is too narrow for the field");

    std::string_view name;
    std::string_view label;
    std::span<const ValueName> values = {};
    Kind kind = detail::default_kind<Value, Width>();
    Base base = Base::dec;

    constexpr Field hex() const {
        Field f = *this;
        f.base = Base::hex;
        return f;
    }
    /// Shown as another kind than its width suggests, where Wireshark declares a wider type.
    constexpr Field as(Kind k) const {
        Field f = *this;
        f.kind = k;
        return f;
    }
    constexpr Field named(std::span<const ValueName> table) const {
        Field f = *this;
        f.values = table;
        return f;
    }
};

/// Bits that are sent as zero and ignored on receipt, unless the specification gives another value.
template <unsigned Width>
struct Reserved {
    static constexpr unsigned width = Width;
    std::uint64_t sent = 0;
};

template <auto Member, unsigned Width>
constexpr auto bits(std::string_view name, std::string_view label) {
    return Field<Member, Width>{name, label};
}
/// A field that is an array of octets: an address, an identifier, private data of a fixed length.
template <auto Member>
constexpr auto octets(std::string_view name, std::string_view label, Kind kind = Kind::bytes) {
    using V = typename detail::member_traits<decltype(Member)>::value;
    static_assert(detail::is_octet_array<V>);
    return Field<Member, sizeof(V) * 8>{name, label, {}, kind};
}
template <unsigned Width>
constexpr auto reserved(std::uint64_t sent = 0) {
    return Reserved<Width>{sent};
}

template <class... F>
struct Layout {
    std::string_view name;   ///< of the heading in the tree: `infiniband.bth`
    std::string_view label;
    std::tuple<F...> fields;
    static constexpr unsigned bit_count = (0u + ... + F::width);
    static constexpr std::size_t size = bit_count / 8;
    static_assert(bit_count % 8 == 0, "a header is whole octets");
};

template <class... F>
constexpr Layout<F...> layout(std::string_view name, std::string_view label, F... fields) {
    return {name, label, {fields...}};
}

/// Specialised next to every header.
template <class H>
inline constexpr std::nullptr_t layout_of = nullptr;

/// Octets the header takes on the wire.
template <class H>
inline constexpr std::size_t size_of = std::remove_cvref_t<decltype(layout_of<H>)>::size;

namespace detail {
template <class F>
concept HasMember = requires { F::member; };

struct Place {
    unsigned offset = 0;
    unsigned width = 0;
};

template <auto Member, class... F>
consteval Place place_of(const Layout<F...>&) {
    unsigned offset = 0;
    Place found;
    (([&] {
         if constexpr (HasMember<F>) {
             if constexpr (same_member<F::member, Member>) found = {offset, F::width};
         }
         offset += F::width;
     }()),
     ...);
    return found;
}

/// Calls `visit(field, bit offset)` for every field of the layout that has a member.
template <class H, class Visit>
constexpr void for_each_field(Visit&& visit) {
    unsigned offset = 0;
    std::apply(
        [&](const auto&... field) {
            (([&] {
                 if constexpr (HasMember<std::remove_cvref_t<decltype(field)>>) visit(field, offset);
                 offset += std::remove_cvref_t<decltype(field)>::width;
             }()),
             ...);
        },
        layout_of<H>.fields);
}

template <class H>
consteval std::size_t field_count() {
    return std::apply(
        [](const auto&... f) { return (std::size_t{0} + ... + (HasMember<std::remove_cvref_t<decltype(f)>> ? 1u : 0u)); },
        layout_of<H>.fields);
}

template <class H>
consteval auto make_field_table() {
    std::array<FieldInfo, field_count<H>()> table{};
    std::size_t i = 0;
    for_each_field<H>([&](const auto& f, unsigned offset) {
        table[i++] = FieldInfo{f.name, f.label, static_cast<std::uint16_t>(offset),
                               static_cast<std::uint16_t>(std::remove_cvref_t<decltype(f)>::width),
                               f.kind, f.base, false, f.values};
    });
    return table;
}
}  // namespace detail

/// The fields of a header in the order of the wire, for code that is not on the packet path.
template <class H>
inline constexpr auto field_table = detail::make_field_table<H>();

/// A header seen in place. The length was checked when the view was made, so every accessor is total; the octets must
/// outlive the view.
template <class H>
class View {
public:
    static constexpr std::optional<View> at(base::Bytes bytes) {
        if (bytes.size() < size_of<H>) return std::nullopt;
        return View{bytes.data()};
    }
    /// For callers that have already checked the length, as of several headers together.
    static constexpr View unchecked(const std::byte* first) { return View{first}; }

    template <auto Member>
    constexpr auto get() const {
        using V = typename detail::member_traits<decltype(Member)>::value;
        constexpr auto place = detail::place_of<Member>(layout_of<H>);
        static_assert(place.width != 0, "the member is not in the layout");
        if constexpr (detail::is_octet_array<V>) {
            V value{};
            for (std::size_t i = 0; i < value.size(); ++i) value[i] = first_[place.offset / 8 + i];
            return value;
        } else {
            return static_cast<V>(read_bits<place.offset, place.width>(first_));
        }
    }
    constexpr const std::byte* data() const { return first_; }

private:
    constexpr explicit View(const std::byte* first) : first_(first) {}
    const std::byte* first_;
};

/// Copies a header out of `bytes`; nullopt where there are too few octets.
template <class H>
constexpr std::optional<H> parse(base::Bytes bytes) {
    if (bytes.size() < size_of<H>) return std::nullopt;
    H header{};
    detail::for_each_field<H>([&](const auto& field, unsigned offset) {
        using F = std::remove_cvref_t<decltype(field)>;
        auto& member = header.*F::member;
        using V = std::remove_reference_t<decltype(member)>;
        if constexpr (detail::is_octet_array<V>) {
            for (std::size_t i = 0; i < member.size(); ++i) member[i] = bytes[offset / 8 + i];
        } else {
            member = static_cast<V>(read_bits(bytes.data(), offset, F::width));
        }
    });
    return header;
}

/// Writes a header. Asserts that every value fits its field; reserved bits get the value the layout gives them.
template <class H>
constexpr void emit(std::span<std::byte, size_of<H>> out, const H& header) {
    unsigned offset = 0;
    std::apply(
        [&](const auto&... field) {
            (([&] {
                 using F = std::remove_cvref_t<decltype(field)>;
                 if constexpr (detail::HasMember<F>) {
                     const auto& member = header.*F::member;
                     using V = std::remove_cvref_t<decltype(member)>;
                     if constexpr (detail::is_octet_array<V>) {
                         for (std::size_t i = 0; i < member.size(); ++i) out[offset / 8 + i] = member[i];
                     } else {
                         const auto value = static_cast<std::uint64_t>(member);
                         assert(F::width == 64 || value >> (F::width % 64) == 0);
                         write_bits(out.data(), offset, F::width, value);
                     }
                 } else {
                     for (unsigned done = 0; done < F::width; done += 64) {
                         const unsigned width = F::width - done < 64 ? F::width - done : 64;
                         write_bits(out.data(), offset + done, width, done == 0 ? field.sent : 0);
                     }
                 }
                 offset += F::width;
             }()),
             ...);
        },
        layout_of<H>.fields);
}

/// A header as its octets.
template <class H>
constexpr std::array<std::byte, size_of<H>> to_octets(const H& header) {
    std::array<std::byte, size_of<H>> out{};
    emit<H>(out, header);
    return out;
}

}  // namespace wire
