#include "cli/policy/check_options.h"

#include <array>

#include "cli/options/setters.h"

namespace cli::policy {
namespace {

using options::Section;
using Row = options::Option<CheckOptions>;

constexpr std::array check_rows{
    Row{{0, "rules", "FILE", "the rules that traffic must keep to, as TOML: see rdmascope-policy(1); required"},
        Section::subject,
        options::store_nonempty<"the name of a file", &CheckOptions::rules_path>},
    Row{{0, "json", {}, "print one JSON object"}, Section::printing, options::turn_on<&CheckOptions::json>},
};

}  // namespace

options::OptionTable<CheckOptions> check_option_table() {
    return options::OptionTable<CheckOptions>().add(analysis::shared_options()).without("counters").add(check_rows);
}

}  // namespace cli::policy
