#pragma once
#include <string>
#include <string_view>

#include "base/error.h"
#include "fleet/rows/row_table.h"

/// What differs between versions of ClickHouse, and nothing else in fleet/ does.
namespace fleet::schema {

struct Dialect {
    bool current = true;  ///< from 20.3 on; else as 18.16, which Debian 12 has

    /// "18.16", "24.8.1"; fails if it is no version.
    static base::Result<Dialect> of(std::string_view version);

    /// The type and, where the server has them, the codec of a column.
    std::string type_of(const rows::Column& column) const;
    /// Begins the part of ALTER TABLE that adds a column. Only current servers let it be repeated.
    std::string_view add_column() const { return current ? "ADD COLUMN IF NOT EXISTS" : "ADD COLUMN"; }
    /// The clause that removes rows after n days; empty where the server has none.
    std::string ttl_clause(std::uint64_t days) const;
    /// What to do instead of that clause; empty where there is one.
    std::string ttl_note(std::string_view database, std::uint64_t days) const;
    /// The accounts of the sink, which only inserts, and of readers.
    std::string grants(std::string_view database) const;
};

}  // namespace fleet::schema
