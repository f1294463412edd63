#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "fleet/rows/row_table.h"
#include "fleet/schema/dialect.h"

namespace fleet::schema {

/// Of the tables. A later version only adds columns and tables, so that daemons of both versions can insert.
inline constexpr std::uint32_t schema_version = 2;

struct SchemaOptions {
    Dialect dialect = {};
    std::string database = "rdmascope";
    std::string cluster = {};  ///< empty: one server
    bool replicated = false;
    std::optional<std::uint64_t> ttl_days = {};
};

/// The statements that make the tables, each ended by a semicolon at the end of a line. They can be repeated.
std::string schema_text(const SchemaOptions& options);
/// The statements that bring tables of the schema `from` to the present one; rows stay. Fails if there is no such
/// schema, or nothing to do.
base::Result<std::string> migration_text(const SchemaOptions& options, std::uint64_t from);

/// How finely a table tells time.
enum class Resolution : std::uint8_t { interval, minute, hour };

/// "flows", "flows_minute", "flows_hour": of a table that rolls up.
std::string table_name(const rows::Table& table, Resolution resolution);

}  // namespace fleet::schema
