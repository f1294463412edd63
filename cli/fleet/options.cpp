#include "cli/fleet/options.h"

#include <array>

#include "cli/options/setters.h"

namespace cli::fleet {
namespace {

using options::Section;
using Resolution = ::fleet::schema::Resolution;
using Row = options::Option<FleetOptions>;

constexpr std::array resolutions{
    std::pair<std::string_view, Resolution>{"interval", Resolution::interval},
    std::pair<std::string_view, Resolution>{"minute", Resolution::minute},
    std::pair<std::string_view, Resolution>{"hour", Resolution::hour},
};
std::string take_columns(FleetOptions& options, const std::string& value) {
    options::append_words(options.columns, value);
    return options.columns.empty() ? "a list such as packets,latency_ns.write" : "";
}

constexpr std::array rows{
    Row{{0, "url", "URL", "the HTTP interface of a ClickHouse server: https://clickhouse-1:8443"},
        Section::source,
        options::store_nonempty<"a URL such as https://clickhouse-1:8443", &FleetOptions::url>},
    Row{{0, "database", "NAME", "the database (default rdmascope)"},
        Section::source,
        options::store_nonempty<"the name of a database", &FleetOptions::database>},
    Row{{0, "user", "NAME", "the account (default: the server's)"},
        Section::source,
        options::store<&FleetOptions::user>},
    Row{{0, "password-file", "FILE", "a file whose first line is the account's password"},
        Section::source,
        options::store_nonempty<"the name of a file", &FleetOptions::password_path>},
    Row{{0, "ca-file", "FILE", "certificates (PEM) that are trusted instead of the system's"},
        Section::source,
        options::store_nonempty<"the name of a file", &FleetOptions::ca_path>},
    Row{{0, "no-verify-tls", {}, "do not verify the server's certificate"},
        Section::source,
        options::turn_off<&FleetOptions::verify_tls>},
    Row{{0, "from", "TIME", "what was after TIME: 10:00, '2026-11-21 10:00', -1h (default -1h)"},
        Section::selection,
        options::moment<&FleetOptions::from_ns>},
    Row{{0, "to", "TIME", "what was before TIME (default: now)"},
        Section::selection,
        options::moment<&FleetOptions::to_ns>},
    Row{{0, "resolution", "WHAT",
         "which tables: interval, minute or hour (default: by the length of time); minutes and hours are whole ones"},
        Section::selection,
        options::choice<resolutions, &FleetOptions::resolution>},
    Row{{0, "filter", "TEXT",
         "flows, io: only these, as of rdmascope-flows(1): 'host == \"node-7\" and retransmitted_packets > 0'"},
        Section::selection,
        options::store<&FleetOptions::filter>},
    Row{{0, "racks", "FILE", "why: the racks of addresses, a line `ADDRESS RACK` each; troubles may share a rack"},
        Section::selection,
        options::store_nonempty<"the name of a file", &FleetOptions::racks_path>},
    Row{{0, "by", "WHAT",
         "top: a row for each host (the default), or for each pair of hosts; io: a heading for each pair, initiator, "
         "target, protocol or all, instead of connections"},
        Section::printing,
        options::store_nonempty<"what rows are about, such as pair", &FleetOptions::by>},
    Row{{0, "columns", "LIST", "flows: these columns, as of rdmascope-flows(1)"}, Section::printing, take_columns},
    options::sort<FleetOptions>,
    Row{{0, "paths", "N",
         "paths: the network has N equal paths: what random hashing over N gives (default: 2, 4, 8, 16, 32)"},
        Section::printing,
        options::number<1, 4096, &FleetOptions::path_count>},
    Row{{0, "top", "N", "the first N rows alone (default 20)"},
        Section::printing,
        options::number<1, 1'000'000, &FleetOptions::top>},
    options::json_at_end<FleetOptions>,
    options::no_names<FleetOptions>,
    Row{{0, "cluster", "NAME", "schema: tables for the shards of this cluster, and tables over all of them"},
        Section::work,
        options::store_nonempty<"the name of a cluster", &FleetOptions::cluster>},
    Row{{0, "replicated", {}, "schema: replicated tables; they need ClickHouse Keeper or ZooKeeper"},
        Section::work,
        options::turn_on<&FleetOptions::replicated>},
    Row{{0, "ttl", "DAYS", "schema: remove rows after DAYS days (default: never)"},
        Section::work,
        options::number<1, 36'500, &FleetOptions::ttl_days>},
    Row{{0, "server", "VERSION", "schema: for this version of ClickHouse, such as 18.16 (default: a current one)"},
        Section::work,
        options::store_nonempty<"a version such as 18.16", &FleetOptions::server>},
    Row{{0, "grants", {}, "schema: print the accounts of daemons and readers instead"},
        Section::work,
        options::turn_on<&FleetOptions::grants>},
    Row{{0, "migrate", "FROM",
         "schema: print what brings tables of the schema FROM (a number) to the present one instead; rows stay"},
        Section::work,
        options::number<1, 1'000'000, &FleetOptions::migrate_from>},
    options::help<FleetOptions>,
    options::version<FleetOptions>,
};

}  // namespace

options::OptionTable<FleetOptions> option_table() { return options::OptionTable<FleetOptions>().add(rows); }

}  // namespace cli::fleet
