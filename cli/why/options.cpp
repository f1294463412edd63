#include "cli/why/options.h"

#include <array>
#include <limits>

#include "text/quantities.h"

namespace cli::why {

namespace {

using Row = analysis::OptionRow<WhyOptions>;
using G = analysis::Group;

constexpr std::array own{
    Row{{0, "flow", "ID", "about this flow and its reverse alone; `rdmascope flows` lists the IDs"},
        G::selection,
        [](WhyOptions& o, const std::string& v) {
            return text::take_number(v, 0, std::numeric_limits<std::uint64_t>::max(), o.flow.emplace());
        }},
    Row{{0, "json", "", "print the answers as one JSON object"},
        G::printing,
        [](WhyOptions& o, const std::string&) { return o.json = true, std::string{}; }},
    Row{{'v', "verbose", "", "all figures of all answers, and how sure each is"},
        G::printing,
        [](WhyOptions& o, const std::string&) { return o.verbose = true, std::string{}; }},
    Row{{0, "color", "WHEN", "auto (the default), never or always"},
        G::printing,
        [](WhyOptions& o, const std::string& v) -> std::string {
            if (v == "auto")
                o.color = Color::automatic;
            else if (v == "never")
                o.color = Color::never;
            else if (v == "always")
                o.color = Color::always;
            else
                return "auto, never or always";
            return {};
        }},
};

}  // namespace

std::span<const analysis::OptionRow<WhyOptions>> own_options() { return own; }

}  // namespace cli::why
