#include "cli/fabric/findings_page.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>

#include "base/ascii.h"
#include "base/quantities.h"
#include "cli/fabric/subnet_page.h"

namespace cli::fabric {

namespace {

using ::fabric::NodeLabels;
using ::fabric::PortId;
using ::fabric::Subnet;
using ::fabric::findings::Finding;
using ::fabric::findings::Grade;
using Subnets = std::initializer_list<const Subnet*>;

std::string upper(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](char letter) {
        return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
    });
    return out;
}

std::string end_in(Subnets subnets, PortId id, const NodeLabels& labels) {
    for (const Subnet* const subnet : subnets)
        if (subnet->find(id.node) != nullptr) return end_text(*subnet, id, labels);
    return end_text(**subnets.begin(), id, labels);
}

/// "WRONG: 2 findings, and 3 that are suspected."
std::string summary(const std::vector<Finding>& findings, std::string_view nothing) {
    const auto worst = ::fabric::findings::worst_of(findings);
    if (!worst) return fmt::format("OK: {}.\n", nothing);
    const auto equal = static_cast<std::size_t>(std::ranges::count(findings, *worst, &Finding::grade));
    std::string out = fmt::format("{}: {}", upper(name_of(*worst)), base::format_counted(equal, "finding"));
    if (equal != findings.size()) out += fmt::format(", and {} of less weight", findings.size() - equal);
    return out + ".\n";
}

void append_finding(std::string& out, const Finding& finding, Subnets subnets, const NodeLabels& labels) {
    out += fmt::format("\n{} {}", name_of(finding.grade), name_of(finding.kind));
    if (finding.at) out += fmt::format(": {}", end_in(subnets, *finding.at, labels));
    if (finding.peer) out += fmt::format(" - {}", end_in(subnets, *finding.peer, labels));
    out += fmt::format("\n  {}\n", finding.observed);
    if (!finding.advice.empty()) out += fmt::format("  Do:  {}\n", finding.advice);
}

std::string page_of(const std::vector<Finding>& findings, Subnets subnets, const NodeLabels& labels,
                    std::string_view nothing) {
    std::string out = summary(findings, nothing);
    for (const Finding& finding : findings) append_finding(out, finding, subnets, labels);
    return out;
}

}  // namespace

std::string findings_page(const std::vector<Finding>& problems, const Subnet& subnet, const NodeLabels& labels) {
    return page_of(problems, {&subnet}, labels,
                   "no link is degraded, and no counter of errors speaks against the subnet");
}

std::string changes_page(const std::vector<Finding>& changes, const Subnet& before, const Subnet& after,
                         const NodeLabels& labels) {
    return page_of(changes, {&after, &before}, labels, "nothing changed, and no counter of errors grew");
}

}  // namespace cli::fabric
