#include "cli/why/options.h"

#include <array>
#include <limits>

namespace cli::why {

namespace {

using options::Section;
using Row = options::Option<WhyOptions>;

constexpr std::array own{
    Row{{0, "flow", "ID", "about this flow and its reverse alone; `rdmascope flows` lists the IDs"},
        Section::selection,
        options::number<0, std::numeric_limits<std::uint64_t>::max(), &WhyOptions::flow>},
    Row{{0, "json", {}, "print the answers as one JSON object"},
        Section::printing,
        options::turn_on<&WhyOptions::json>},
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
