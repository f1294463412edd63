#include "cli/policy/check_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/options/setters.h"

namespace cli::policy {
namespace {

using options::Section;
using Row = options::Option<CheckOptions>;

std::string read_fail_on(CheckOptions& options, const std::string& value) {
    constexpr std::array<std::string_view, 4> names{"wrong", "minor", "unruled", "never"};
    const auto* const found = std::ranges::find(names, value);
    if (found == names.end()) return "wrong, minor, unruled or never";
    options.fail_on = static_cast<FailOn>(found - names.begin());
    return {};
}

constexpr std::array check_rows{
    Row{{0, "rules", "FILE",
         "check: the rules that traffic must keep to, as TOML: see rdmascope-policy(1) (default with --connect: the "
         "daemon's)"},
        Section::subject,
        options::store_nonempty<"the name of a file", &CheckOptions::rules_path>},
    Row{{0, "json", {}, "check: print one JSON object"}, Section::printing, options::turn_on<&CheckOptions::json>},
    Row{{0, "fail-on", "WHAT",
         "check: exit with 3 if rules are broken by 1 % of the bytes and more (wrong), at all (minor, the default), or "
         "if no rule is about a flow (unruled); never"},
        Section::printing,
        read_fail_on},
};

}  // namespace

options::OptionTable<CheckOptions> check_option_table() {
    return options::OptionTable<CheckOptions>().add(analysis::shared_options()).without("counters").add(check_rows);
}

}  // namespace cli::policy
