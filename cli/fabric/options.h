#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "fabric/findings/subnet_finding.h"

namespace cli::fabric {

/// What the first word asks for.
enum class Part : std::uint8_t { list, why, route };

struct FabricOptions : options::HelpOptions {
    Part part = Part::list;
    std::vector<std::string> operands = {};  ///< the ends of a route, or the files of --diff
    std::string adapter = {};
    std::optional<unsigned> port = {};
    std::string read_path = {};
    std::string names_path = {};
    std::uint64_t interval_ns = 0;  ///< 0: counters are read once
    std::uint64_t timeout_ns = 500'000'000;
    unsigned retries = 3;
    unsigned parallel = 4;
    bool read_counters = true;
    bool list_counters = false;
    bool diff = false;
    bool json = false;
    bool dot = false;
    bool names = true;
    std::optional<::fabric::findings::Grade> fail_on = {};
};

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, FabricOptions& out);
options::OptionTable<FabricOptions> option_table();

}  // namespace cli::fabric
