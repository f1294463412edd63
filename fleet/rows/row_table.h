#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The tables of the fleet, each declared once: the schema, the rows that a daemon sends and the questions read these
/// declarations.
///
/// Rows hold states, not differences: a counter is its value since the daemon began. What happened between two moments
/// is the last state minus the first, so a row that arrives twice changes no answer, with or without a merge by the
/// engine. See docs/fleet.md.
namespace fleet::rows {

/// The types of columns. `label` is a text with few different values.
enum class Type : std::uint8_t { u8, u16, u32, u64, i64, f64, text, label, time, u32_list, u64_list };

/// What a column says, and therefore how rows of one flow are brought together.
enum class Nature : std::uint8_t {
    place,       ///< of the row: daemon, interval
    identity,    ///< the same in all rows of a flow, or 0 until it is known: the greatest value
    state,       ///< of this moment: the value of the last row
    counter,     ///< never decreases: greatest value minus that at the beginning
    estimate,    ///< a counter that later packets may correct downwards: last state minus that at the beginning, at
                 ///< least 0
    restarting,  ///< a figure that may begin at 0 again, as after a change of routes: the last state, and that at the
                 ///< beginning
    amounts,     ///< a list of keys, or of the values to them; last state minus first, key by key
    note,        ///< about the interval of the row alone
};

struct Column {
    std::string_view name;
    Type type;
    Nature nature;
    std::uint32_t since = 1;  ///< the version of the schema that added it
};

using Numbers = std::vector<std::uint64_t>;
/// One value; Numbers is for lists.
using Cell = std::variant<std::uint64_t, std::int64_t, double, std::string, Numbers>;

/// The cells of a row, by the order of the table's columns.
using Row = std::vector<Cell>;

struct Table {
    std::string_view name;
    std::vector<Column> columns;
    std::string_view key;     ///< the columns, with commas between, that tell rows apart; they also sort the rows. The
                              ///< last one is `sequence`, or the rows are of one interval
    bool rolls_up = false;    ///< its last column is `begins`
    std::uint32_t since = 1;  ///< the version of the schema that added it
};

/// Which daemon a row comes from, and the interval whose end it shows.
struct Place {
    std::string host;
    std::uint64_t boot = 0;      ///< distinguishes the runs of a daemon: ns since 1970 at its start
    std::uint32_t sequence = 0;  ///< of the interval, from 1; 0 is the state at the beginning
    std::int64_t end_ns = 0;     ///< since 1970-01-01 UTC
};

/// Columns that every table begins with; their cells.
std::vector<Column> place_columns();
/// The columns that every table begins with, and the table's own.
std::vector<Column> columns_with_place(std::initializer_list<Column> own);
void append_place(Row& row, const Place& place);
/// Changes these cells of a row.
void set_place(Row& row, const Place& place);

/// The row of the same thing when nothing of it had been seen: counters, what restarts, and amounts are zero.
Row before_its_first(const Table& table, Row row);
/// Empties the cells that are about the interval of the row alone.
void clear_notes(const Table& table, Row& row);
/// Sets the column `begins` of a table that rolls up.
void set_begins(const Table& table, Row& row, std::uint8_t begins);

/// The row in ClickHouse's format RowBinary: numbers little-endian, texts and lists with their length.
void append_row_binary(std::string& out, const Table& table, const Row& row);

/// `hour,host,boot`: the columns' names.
std::string column_list(const Table& table);

}  // namespace fleet::rows
