#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "fleet/schema/schema.h"

namespace cli::fleet {

/// The command line of `fleet`, of all its parts.
struct FleetOptions : options::HelpOptions {
    // The engine.
    std::string url = {};
    std::string database = "rdmascope";
    std::string user = {};
    std::string password_path = {};
    std::string ca_path = {};
    bool verify_tls = true;

    // Questions.
    std::optional<std::int64_t> from_ns = {};
    std::optional<std::int64_t> to_ns = {};
    std::optional<::fleet::schema::Resolution> resolution = {};
    std::string filter = {};
    std::string sort = {};
    std::vector<std::string> columns = {};
    std::string by = {};
    std::optional<std::uint64_t> path_count = {};  ///< of the network between the hosts
    std::uint64_t top = 20;
    std::string racks_path = {};
    bool json = false;
    bool names = true;

    // The schema.
    std::string cluster = {};
    bool replicated = false;
    std::optional<std::uint64_t> ttl_days = {};
    std::string server = {};  ///< a version; empty: a current one
    bool grants = false;
    std::optional<std::uint64_t> migrate_from = {};  ///< a version of the schema
};

options::OptionTable<FleetOptions> option_table();

}  // namespace cli::fleet
