#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "dissect/layers/describing.h"
#include "wire/little_endian.h"

/// Fields of little-endian structures: wire::FieldInfo places its bits in the order of big-endian ones.
namespace dissect::inline layers::little_endian {

/// Where a field stands, from the beginning of its structure. `bits` 0: all of the bytes.
struct Place {
    std::uint16_t at = 0;
    std::uint8_t bytes = 0;
    std::uint8_t shift = 0;
    std::uint8_t bits = 0;

    constexpr std::uint64_t read(const std::byte* structure) const {
        const std::uint64_t value = wire::load_le(structure + at, bytes) >> shift;
        return bits == 0 || bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
    }
};

struct Row {
    wire::FieldInfo info;
    Place place;
};

constexpr Row number(std::string_view name, std::string_view label, Place place, wire::Base base = wire::Base::dec,
                     std::span<const wire::ValueName> values = {}) {
    const wire::Kind kind = place.bytes == 1   ? wire::Kind::uint8
                            : place.bytes == 2 ? wire::Kind::uint16
                            : place.bytes == 4 ? wire::Kind::uint32
                                               : wire::Kind::uint64;
    return {{name, label, 0, 0, kind, base, false, values}, place};
}
constexpr Row hex(std::string_view name, std::string_view label, Place place,
                  std::span<const wire::ValueName> values = {}) {
    return number(name, label, place, wire::Base::hex, values);
}
constexpr Row flag(std::string_view name, std::string_view label, Place place) {
    return {{name, label, 0, 0, wire::Kind::boolean}, place};
}
constexpr Row octets(std::string_view name, std::string_view label, Place place = {}) {
    return {{name, label, 0, 0, wire::Kind::bytes}, place};
}
constexpr Row heading(std::string_view name, std::string_view label) { return {{name, label}, {}}; }
constexpr Row text(std::string_view name, std::string_view label, Place place = {}) {
    return {{name, label, 0, 0, wire::Kind::string}, place};
}

/// Rows with the declarations that are visited and listed.
template <std::size_t N>
struct Table {
    std::array<Row, N> rows;
    std::array<wire::FieldInfo, N> infos;

    consteval std::size_t find(std::string_view name) const {
        std::size_t at = 0;
        while (rows[at].info.name != name) ++at;  // beyond the table's end it does not compile
        return at;
    }
};
template <std::size_t N>
consteval Table<N> table_of(const std::array<Row, N>& rows) {
    Table<N> table{rows, {}};
    for (std::size_t i = 0; i < N; ++i) table.infos[i] = rows[i].info;
    return table;
}

/// Visits fields of a structure that begins at the tree's first byte; those that were not captured are left out.
template <std::size_t N>
class Structure {
public:
    Structure(const Tree& tree, const Table<N>& table) : tree_(tree), table_(table) {}

    const Tree& tree() const { return tree_; }
    const wire::FieldInfo& info(std::size_t index) const { return table_.infos[index]; }
    bool has(std::size_t index) const {
        const Place& place = table_.rows[index].place;
        return std::uint32_t{place.at} + place.bytes <= tree_.size();
    }
    std::uint64_t value(std::size_t index) const { return table_.rows[index].place.read(tree_.at(0)); }

    void show(std::size_t index) const {
        const Place& place = table_.rows[index].place;
        if (!has(index)) return;
        if (info(index).kind == wire::Kind::bytes)
            tree_.octets(info(index), place.at, place.bytes);
        else
            tree_.number(info(index), value(index), place.at, place.bytes);
    }
    /// From one row to another.
    void show_all(std::size_t first, std::size_t last) const {
        for (std::size_t i = first; i <= last; ++i) show(i);
    }
    /// The first row as the heading of those up to the last.
    void show_below(std::size_t first, std::size_t last) const {
        if (!has(first)) return;
        tree_.open_number(info(first), value(first), table_.rows[first].place.at, table_.rows[first].place.bytes);
        show_all(first + 1, last);
        tree_.close();
    }

private:
    const Tree& tree_;
    const Table<N>& table_;
};

}  // namespace dissect::layers::little_endian
