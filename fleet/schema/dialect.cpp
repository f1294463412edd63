#include "fleet/schema/dialect.h"

#include <charconv>
#include <fmt/core.h>

#include "fleet/schema/sql.h"

namespace fleet::schema {
namespace {

/// Column codecs, TTL, LowCardinality without a setting, and accounts in SQL.
constexpr unsigned first_major = 20;
constexpr unsigned first_minor = 3;

std::string_view plain_type(rows::Type type) {
    switch (type) {
        case rows::Type::u8: return "UInt8";
        case rows::Type::u16: return "UInt16";
        case rows::Type::u32: return "UInt32";
        case rows::Type::u64: return "UInt64";
        case rows::Type::i64: return "Int64";
        case rows::Type::f64: return "Float64";
        case rows::Type::text:
        case rows::Type::label: return "String";
        case rows::Type::time: return "DateTime";
        case rows::Type::u32_list: return "Array(UInt32)";
        case rows::Type::u64_list: return "Array(UInt64)";
    }
    return "String";
}

/// Rows of a flow lie next to each other, in the order of time: their counters differ little.
std::string_view codec_of(const rows::Column& column) {
    switch (column.type) {
        case rows::Type::u64:
        case rows::Type::i64:
        case rows::Type::u32:
        case rows::Type::time: return " CODEC(Delta, ZSTD(1))";
        default: return " CODEC(ZSTD(1))";
    }
}

}  // namespace

base::Result<Dialect> Dialect::of(std::string_view version) {
    unsigned major = 0;
    unsigned minor = 0;
    const char* const end = version.data() + version.size();
    const auto first = std::from_chars(version.data(), end, major);
    if (first.ec != std::errc{} || first.ptr == end || *first.ptr != '.')
        return base::failure(fmt::format("'{}' is not a version of ClickHouse such as 18.16 or 24.8", version));
    const auto second = std::from_chars(first.ptr + 1, end, minor);
    if (second.ec != std::errc{})
        return base::failure(fmt::format("'{}' is not a version of ClickHouse such as 18.16 or 24.8", version));
    return Dialect{.current = major > first_major || (major == first_major && minor >= first_minor)};
}

std::string Dialect::type_of(const rows::Column& column) const {
    if (!current) return std::string(plain_type(column.type));
    const std::string type =
        column.type == rows::Type::label ? "LowCardinality(String)" : std::string(plain_type(column.type));
    return type + std::string(codec_of(column));
}

std::string Dialect::ttl_clause(std::uint64_t days) const {
    return current ? fmt::format("\nTTL hour + INTERVAL {} DAY", days) : std::string();
}

std::string Dialect::ttl_note(std::string_view database, std::uint64_t days) const {
    if (current) return {};
    return fmt::format(
        "-- This version of ClickHouse has no TTL. Once a day, remove the partitions that are older than {0} days:\n"
        "--   SELECT DISTINCT concat('ALTER TABLE {1}.', table, ' DROP PARTITION ', partition, ';')\n"
        "--   FROM system.parts WHERE database = {2} AND active\n"
        "--     AND toUInt32(partition) < toYYYYMMDD(today() - {0}) FORMAT TSVRaw\n",
        days, database, text(database));
}

std::string Dialect::grants(std::string_view database) const {
    if (current)
        return fmt::format(
            "CREATE USER IF NOT EXISTS rdmascope_sink IDENTIFIED WITH sha256_password BY 'CHANGE ME';\n"
            "GRANT INSERT ON {0}.* TO rdmascope_sink;\n"
            "CREATE USER IF NOT EXISTS rdmascope_reader IDENTIFIED WITH sha256_password BY 'CHANGE ME' "
            "SETTINGS readonly = 2;\n"
            "GRANT SELECT ON {0}.* TO rdmascope_reader;\n",
            database);
    return fmt::format(
        "<!-- /etc/clickhouse-server/users.d/rdmascope.xml. This version of ClickHouse knows no right to INSERT\n"
        "     alone: the sink is kept to its database, and the reader to reading. -->\n"
        "<yandex>\n"
        "  <profiles><rdmascope_reader><readonly>2</readonly></rdmascope_reader></profiles>\n"
        "  <users>\n"
        "    <rdmascope_sink>\n"
        "      <password_sha256_hex>CHANGE ME</password_sha256_hex>\n"
        "      <networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>\n"
        "      <allow_databases><database>{0}</database></allow_databases>\n"
        "    </rdmascope_sink>\n"
        "    <rdmascope_reader>\n"
        "      <password_sha256_hex>CHANGE ME</password_sha256_hex>\n"
        "      <networks><ip>::/0</ip></networks><profile>rdmascope_reader</profile><quota>default</quota>\n"
        "      <allow_databases><database>{0}</database></allow_databases>\n"
        "    </rdmascope_reader>\n"
        "  </users>\n"
        "</yandex>\n",
        database);
}

}  // namespace fleet::schema
