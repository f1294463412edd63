#pragma once
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "fleet/rows/row_table.h"

namespace fleet::rows {

/// The columns of a table that column_list() would list so. Fails on a name that the table does not have.
base::Result<std::vector<Column>> columns_named(const Table& table, std::string_view list);

/// Appends a line for each row in `binary`, which append_row_binary() wrote with these columns: a JSON object with the
/// member `table` and the columns, as ClickHouse's format JSONEachRow reads them. Bytes that are not UTF-8 become
/// U+FFFD. Fails if the rows do not end where the bytes end.
base::Result<void> append_json_lines(std::string& out, std::string_view table, std::span<const Column> columns,
                                     std::string_view binary);

}  // namespace fleet::rows
