#include "cli/why/options.h"

#include <array>
#include <limits>

namespace cli::why {

namespace {

using options::Section;
using Row = options::Option<WhyOptions>;

std::string read_grade(WhyOptions& options, const std::string& value) {
    for (const metrics::Grade grade : {metrics::Grade::wrong, metrics::Grade::minor, metrics::Grade::suspected}) {
        if (value != name_of(grade)) continue;
        options.fail_on = grade;
        return {};
    }
    return "wrong, minor or suspected";
}

constexpr std::array own{
    Row{{0, "flow", "ID", "about this flow and its reverse alone; `rdmascope flows` lists the IDs"},
        Section::selection,
        options::number<0, std::numeric_limits<std::uint64_t>::max(), &WhyOptions::flow>},
    Row{{0,
         "diff",
         {},
         "compare two captures, `why --diff BEFORE AFTER`: findings, latencies and rates of the same hosts side by "
         "side, what got worse first"},
        Section::printing,
        options::turn_on<&WhyOptions::diff>},
    Row{{0, "json", {}, "print the answers as one JSON object"},
        Section::printing,
        options::turn_on<&WhyOptions::json>},
    Row{{0, "fail-on", "GRADE",
         "exit with 3 if something of this grade or worse is found (with --diff: got worse), with 4 if there is "
         "nothing to "
         "judge: wrong, minor, suspected"},
        Section::printing,
        read_grade},
    Row{{0, "policy", "FILE", "ask also whether traffic keeps to these rules: see rdmascope-policy(1)"},
        Section::selection,
        options::store_nonempty<"the name of a file", &WhyOptions::policy_path>},
    Row{{0, "fabric", "FILE",
         "add what a reading of the InfiniBand subnet says of the links of flows with LIDs: the output of rdmascope "
         "fabric --json, best with --interval"},
        Section::selection,
        options::store_nonempty<"the name of a file", &WhyOptions::fabric_path>},
    Row{{'v', "verbose", {}, "all figures of all answers, and how sure each is"},
        Section::printing,
        options::turn_on<&WhyOptions::verbose>},
    options::color<WhyOptions>,
};

}  // namespace

options::OptionTable<WhyOptions> option_table() {
    return options::OptionTable<WhyOptions>().add(analysis::shared_options()).add(own);
}

}  // namespace cli::why
