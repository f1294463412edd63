#include "fleet/schema/schema.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "fleet/rows/flow_rows.h"
#include "fleet/rows/row_tables.h"
#include "fleet/schema/sql.h"

namespace fleet::schema {
namespace {

using rows::Column;
using rows::Table;

/// The roll-up of a table: of each stretch of time, the first and the last row of a thing (`edge` 0 and 1).
struct RollUp {
    std::string_view suffix;
    unsigned seconds;
    unsigned begins;  ///< rows::RollUpBegin
};
constexpr std::array roll_ups{RollUp{"_minute", 60, rows::begins_minute}, RollUp{"_hour", 3600, rows::begins_hour}};

/// The table's own key, with the stretch of time in place of the interval.
std::string roll_up_key(const Table& table) {
    return fmt::format("{},start,edge", table.key.substr(0, table.key.rfind(',')));
}

std::vector<Column> roll_up_columns(const Table& table) {
    std::vector<Column> columns = table.columns;
    columns.push_back({"start", rows::Type::time, rows::Nature::place});
    columns.push_back({"edge", rows::Type::u8, rows::Nature::place});
    columns.push_back({"rank", rows::Type::u32, rows::Nature::place});
    return columns;
}

/// The version of the schema that gave the table its present columns.
std::uint32_t version_of(const Table& table) {
    std::uint32_t version = table.since;
    for (const Column& column : table.columns) version = std::max(version, column.since);
    return version;
}

/// A row's end belongs to the stretch of time that it ends. Hours are those of UTC, as in rows::begins_of() and in the
/// questions: toStartOfHour() would take those of the server's time zone, which may begin half an hour later.
std::string start_of(unsigned seconds) {
    return fmt::format("toDateTime(intDiv(end_ns - 1, {0}000000000) * {0})", seconds);
}

class Writer {
public:
    explicit Writer(const SchemaOptions& options) : options_(options) {}

    std::string text() {
        begin();
        if (options_.ttl_days) out_ += options_.dialect.ttl_note(options_.database, *options_.ttl_days);
        out_ += fmt::format("CREATE DATABASE IF NOT EXISTS {};\n", options_.database);
        for (const Table* table : rows::all_tables()) create(*table);
        add_version();
        return std::move(out_);
    }

    /// New columns do not disturb daemons of the older version. While the old views and the new ones exist together,
    /// rows come to the roll-ups twice, which changes no answer.
    std::string migration(std::uint32_t from) {
        begin();
        out_ += fmt::format("-- From schema {}: the tables keep their rows.\n", from);
        for (const Table* table : rows::all_tables()) {
            if (table->since > from)
                create(*table);
            else if (version_of(*table) > from)
                extend(*table, from);
        }
        add_version();
        return std::move(out_);
    }

private:
    std::string path(std::string_view name) const { return fmt::format("{}.{}", options_.database, name); }
    std::string local(std::string_view name) const {
        return path(options_.cluster.empty() ? std::string(name) : fmt::format("{}_local", name));
    }
    std::string engine(std::string_view name, std::string_view row_version) const {
        if (!options_.replicated) return fmt::format("ReplacingMergeTree({})", row_version);
        return fmt::format("ReplicatedReplacingMergeTree('/clickhouse/tables/{{shard}}/{}/{}', '{{replica}}', {})",
                           options_.database, name, row_version);
    }

    void begin() {
        out_ = fmt::format("-- rdmascope, schema {}. Run it on every server{}.\n", schema_version,
                           options_.cluster.empty() ? "" : " of the cluster");
    }
    void create(const Table& table) {
        add_table(table.name, table.columns, table.key, "sequence");
        if (!table.rolls_up) return;
        for (const RollUp& roll_up : roll_ups) {
            add_table(fmt::format("{}{}", table.name, roll_up.suffix), roll_up_columns(table), roll_up_key(table),
                      "rank");
            add_view(table, roll_up);
        }
    }
    /// Roll-ups before their table, and tables of this server before those of the cluster: a column is there before
    /// anything names it.
    void extend(const Table& table, std::uint32_t from) {
        if (table.rolls_up)
            for (const RollUp& roll_up : roll_ups)
                add_columns(fmt::format("{}{}", table.name, roll_up.suffix), table.columns, from);
        add_columns(table.name, table.columns, from);
        if (!table.rolls_up) return;
        for (const RollUp& roll_up : roll_ups) {
            add_view(table, roll_up);
            out_ += fmt::format("DROP TABLE IF EXISTS {};\n", path(view_name(table, roll_up, from)));
        }
    }
    void add_columns(std::string_view name, const std::vector<Column>& columns, std::uint32_t from) {
        for (std::size_t i = 1; i < columns.size(); ++i) {
            if (columns[i].since <= from) continue;
            const auto add = [&](const std::string& table, const std::string& type) {
                out_ += fmt::format("ALTER TABLE {} {} {} {} AFTER {};\n", table, options_.dialect.add_column(),
                                    columns[i].name, type, columns[i - 1].name);
            };
            add(local(name), options_.dialect.type_of(columns[i]));
            if (!options_.cluster.empty()) add(path(name), options_.dialect.type_of(columns[i]));
        }
    }
    /// Of the views that schema `version` made.
    static std::string view_name(const Table& table, const RollUp& roll_up, std::uint32_t version) {
        std::uint32_t made = table.since;
        for (const Column& column : table.columns)
            if (column.since <= version) made = std::max(made, column.since);
        return fmt::format("{}{}_view{}", table.name, roll_up.suffix,
                           made == table.since ? "" : fmt::format("_{}", made));
    }
    void add_table(std::string_view name, const std::vector<Column>& columns, std::string_view key,
                   std::string_view row_version) {
        out_ += fmt::format("CREATE TABLE IF NOT EXISTS {}\n(\n", local(name));
        for (std::size_t i = 0; i < columns.size(); ++i)
            out_ += fmt::format("    {} {}{}\n", columns[i].name, options_.dialect.type_of(columns[i]),
                                i + 1 < columns.size() ? "," : "");
        out_ +=
            fmt::format(")\nENGINE = {}\nPARTITION BY toYYYYMMDD(hour)\nORDER BY ({})", engine(name, row_version), key);
        if (options_.ttl_days) out_ += options_.dialect.ttl_clause(*options_.ttl_days);
        out_ += ";\n";
        add_distributed(name);
    }
    /// All rows of a host are on one shard: the flows of a host are grouped where they are.
    void add_distributed(std::string_view name) {
        if (options_.cluster.empty()) return;
        out_ += fmt::format(
            "CREATE TABLE IF NOT EXISTS {} AS {}\nENGINE = Distributed({}, {}, {}_local, cityHash64(host));\n",
            path(name), local(name), options_.cluster, options_.database, name);
    }
    void add_view(const Table& table, const RollUp& roll_up) {
        out_ += fmt::format(
            "CREATE MATERIALIZED VIEW IF NOT EXISTS {0} TO {1} AS\nSELECT {2}, {3} AS start,\n"
            "    toUInt8(arrayJoin(if(bitAnd(begins, {5}) != 0, [0, 1], [1]))) AS edge,\n"
            "    toUInt32(if(edge = 1, sequence, 4294967295 - sequence)) AS rank\nFROM {4};\n",
            path(view_name(table, roll_up, schema_version)), local(fmt::format("{}{}", table.name, roll_up.suffix)),
            rows::column_list(table), start_of(roll_up.seconds), local(table.name), roll_up.begins);
    }
    void add_version() {
        out_ += fmt::format(
            "CREATE TABLE IF NOT EXISTS {0} (version UInt32, applied DateTime)\n"
            "ENGINE = ReplacingMergeTree(applied) ORDER BY version;\n"
            "INSERT INTO {0} SELECT toUInt32({1}), now();\n",
            path("schema_version"), schema_version);
    }

    const SchemaOptions& options_;
    std::string out_ = {};
};

}  // namespace

std::string schema_text(const SchemaOptions& options) { return Writer(options).text(); }

base::Result<std::string> migration_text(const SchemaOptions& options, std::uint64_t from) {
    if (from == 0 || from > schema_version)
        return base::failure(
            fmt::format("there is no schema {}; `SELECT max(version) FROM {}.schema_version` says which "
                        "one the tables have",
                        from, options.database));
    if (from == schema_version)
        return base::failure(fmt::format("schema {} is the present one: there is nothing to change", from));
    return Writer(options).migration(static_cast<std::uint32_t>(from));
}

std::string table_name(const rows::Table& table, Resolution resolution) {
    switch (resolution) {
        case Resolution::interval: break;
        case Resolution::minute: return fmt::format("{}_minute", table.name);
        case Resolution::hour: return fmt::format("{}_hour", table.name);
    }
    return std::string(table.name);
}

}  // namespace fleet::schema
