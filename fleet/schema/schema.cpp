#include "fleet/schema/schema.h"

#include <array>
#include <fmt/core.h>

#include "fleet/rows/flow_rows.h"
#include "fleet/rows/row_tables.h"
#include "fleet/schema/sql.h"

namespace fleet::schema {
namespace {

using rows::Column;
using rows::Table;

/// The roll-up of a table: of each stretch of time, the first and the last row of a flow (`edge` 0 and 1).
struct RollUp {
    std::string_view suffix;
    unsigned seconds;
    unsigned begins;  ///< rows::RollUpBegin
};
constexpr std::array roll_ups{RollUp{"_minute", 60, rows::begins_minute}, RollUp{"_hour", 3600, rows::begins_hour}};

constexpr std::string_view roll_up_key = "hour,host,boot,flow,start,edge";

/// A row's end belongs to the stretch of time that it ends. Hours are those of UTC, as in rows::begins_of() and in the
/// questions: toStartOfHour() would take those of the server's time zone, which may begin half an hour later.
std::string start_of(unsigned seconds) {
    return fmt::format("toDateTime(intDiv(end_ns - 1, {0}000000000) * {0})", seconds);
}

class Writer {
public:
    explicit Writer(const SchemaOptions& options) : options_(options) {}

    std::string text() {
        out_ = fmt::format("-- rdmascope, schema {}. Run it on every server{}.\n", schema_version,
                           options_.cluster.empty() ? "" : " of the cluster");
        if (options_.ttl_days) out_ += options_.dialect.ttl_note(options_.database, *options_.ttl_days);
        out_ += fmt::format("CREATE DATABASE IF NOT EXISTS {};\n", options_.database);
        for (const Table* table : rows::all_tables()) {
            add_table(table->name, table->columns, table->key, "sequence");
            if (table->rolls_up)
                for (const RollUp& roll_up : roll_ups) add_roll_up(*table, roll_up);
        }
        add_version();
        return out_;
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
    void add_roll_up(const Table& table, const RollUp& roll_up) {
        const std::string name = fmt::format("{}{}", table.name, roll_up.suffix);
        std::vector<Column> columns = table.columns;
        columns.push_back({"start", rows::Type::time, rows::Nature::place});
        columns.push_back({"edge", rows::Type::u8, rows::Nature::place});
        columns.push_back({"rank", rows::Type::u32, rows::Nature::place});
        add_table(name, columns, roll_up_key, "rank");
        out_ += fmt::format(
            "CREATE MATERIALIZED VIEW IF NOT EXISTS {0}_view TO {1} AS\nSELECT {2}, {3} AS start,\n"
            "    toUInt8(arrayJoin(if(bitAnd(begins, {5}) != 0, [0, 1], [1]))) AS edge,\n"
            "    toUInt32(if(edge = 1, sequence, 4294967295 - sequence)) AS rank\nFROM {4};\n",
            path(name), local(name), rows::column_list(table), start_of(roll_up.seconds), local(table.name),
            roll_up.begins);
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

std::string flows_table_name(Resolution resolution) {
    switch (resolution) {
        case Resolution::interval: break;
        case Resolution::minute: return "flows_minute";
        case Resolution::hour: return "flows_hour";
    }
    return "flows";
}

}  // namespace fleet::schema
