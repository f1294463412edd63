#include "cli/fabric/findings_page.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <span>

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
    constexpr char to_upper = 'A' - 'a';
    std::string out(text);
    for (char& letter : out)
        if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter + to_upper);
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

/// Findings of one kind are listed under one heading, with what to do about them once.
constexpr std::size_t most_shown_of_a_kind = 10;

std::string ends_text(const Finding& finding, Subnets subnets, const NodeLabels& labels) {
    if (!finding.at) return {};
    std::string text = end_in(subnets, *finding.at, labels);
    if (finding.peer) text += fmt::format(" - {}", end_in(subnets, *finding.peer, labels));
    return text + ": ";
}

bool are_alike(const Finding& one, const Finding& other) {
    return one.grade == other.grade && one.kind == other.kind && one.advice == other.advice;
}

void append_group(std::string& out, std::span<const Finding> group, Subnets subnets, const NodeLabels& labels) {
    const Finding& first = group.front();
    out += fmt::format("\n{} {}{}\n", name_of(first.grade), name_of(first.kind),
                       group.size() == 1 ? std::string() : fmt::format(", {} times", base::group_digits(group.size())));
    for (const Finding& finding : group.first(std::min(group.size(), most_shown_of_a_kind)))
        out += fmt::format("  {}{}\n", ends_text(finding, subnets, labels), finding.observed);
    if (group.size() > most_shown_of_a_kind)
        out +=
            fmt::format("  and {} more, which --json lists\n", base::group_digits(group.size() - most_shown_of_a_kind));
    if (!first.advice.empty()) out += fmt::format("  Do:  {}\n", first.advice);
}

std::string page_of(const std::vector<Finding>& findings, Subnets subnets, const NodeLabels& labels,
                    std::string_view nothing) {
    std::string out = summary(findings, nothing);
    std::span<const Finding> rest = findings;
    while (!rest.empty()) {
        const auto end = std::ranges::find_if(rest, [&](const Finding& one) { return !are_alike(one, rest.front()); });
        const auto count = static_cast<std::size_t>(end - rest.begin());
        append_group(out, rest.first(count), subnets, labels);
        rest = rest.subspan(count);
    }
    return out;
}

}  // namespace

std::string findings_page(const std::vector<Finding>& problems, const Subnet& subnet, const NodeLabels& labels) {
    return page_of(problems, {&subnet}, labels,
                   has_counters(subnet) ? "no link is degraded, and no counter shows a problem"
                                        : "no link is degraded; counters were not read");
}

std::string changes_page(const std::vector<Finding>& changes, const Subnet& before, const Subnet& after,
                         const NodeLabels& labels) {
    return page_of(changes, {&after, &before}, labels,
                   has_counters(before) && has_counters(after) ? "nothing changed, and no counter of errors grew"
                                                               : "nothing changed; counters were not read both times");
}

}  // namespace cli::fabric
