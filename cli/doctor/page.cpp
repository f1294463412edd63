#include "cli/doctor/page.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "base/printable.h"
#include "cli/console.h"
#include "doctor/compare/compare.h"

namespace cli::doctor {

namespace {

using ::doctor::Check;
using ::doctor::Finding;
using ::doctor::Severity;

constexpr unsigned narrowest = 60, widest = 110;
constexpr std::size_t label_column = 10;

/// SGR of a severity; empty if it has none.
std::string_view color_of(Severity severity) {
    switch (severity) {
        case Severity::broken: return "\x1b[1;31m";
        case Severity::warning: return "\x1b[1;33m";
        case Severity::note: return "\x1b[1m";
        case Severity::unseen:
        case Severity::ok:
        case Severity::not_applicable: break;
    }
    return {};
}

std::string_view title_of(std::string_view id) {
    for (const std::span<const Check> table :
         {::doctor::all_checks(), ::doctor::binary_checks(), ::doctor::compare_checks()})
        for (const Check& check : table)
            if (check.id == id) return check.title;
    return {};
}

/// A label and its text, wrapped and indented. A command stays on one line, so that it can be copied.
void append_row(std::string& out, std::string_view label, std::string_view text, const PageStyle& style, bool wrap) {
    if (text.empty()) return;
    const std::string clean = base::printable(text);
    std::string_view rest = clean;
    out += fmt::format("{:<{}}", fmt::format("  {}", label), label_column + 2);
    const std::size_t width = std::clamp(style.columns, narrowest, widest) - label_column - 2;
    while (wrap && rest.size() > width) {
        std::size_t cut = rest.rfind(' ', width);
        if (cut == std::string_view::npos || cut == 0) cut = rest.find(' ');
        if (cut == std::string_view::npos) break;
        out += fmt::format("{}\n{:{}}", rest.substr(0, cut), "", label_column + 2);
        rest.remove_prefix(cut + 1);
    }
    out.append(rest).append("\n");
}

void append_finding(std::string& out, const Finding& finding, const PageStyle& style) {
    const bool applies = finding.severity != Severity::not_applicable;
    const std::string label = fmt::format("{:<{}}", applies ? name_of(finding.severity) : "n/a", label_column);
    if (finding.severity <= Severity::ok) {
        out += fmt::format("\n{}{}: {}  [{}]", label, title_of(finding.check), base::printable(finding.observed),
                           finding.check);
        return;
    }
    const std::string_view color = style.color ? color_of(finding.severity) : std::string_view{};
    out += fmt::format("\n{}{}{}{}  [{}]\n", color, label, color.empty() ? "" : "\x1b[0m",
                       finding.subject.empty() ? "this machine" : base::printable(finding.subject), finding.check);
    append_row(out, "seen", finding.observed, style, true);
    append_row(out, "expected", finding.expected, style, true);
    append_row(out, finding.severity == Severity::unseen ? "shown by" : "mend", finding.command, style, false);
}

/// Why checks are not applicable, each reason once.
std::string reasons(std::span<const Finding> findings) {
    std::vector<std::string> found;
    for (const Finding& finding : findings)
        if (finding.severity == Severity::not_applicable &&
            std::find(found.begin(), found.end(), finding.observed) == found.end())
            found.push_back(finding.observed);
    return fmt::format("{}", fmt::join(found, ", "));
}

std::string summary(std::span<const Finding> findings, const PageStyle& style) {
    std::array<std::size_t, 6> counts{};
    for (const Finding& finding : findings) ++counts[static_cast<std::size_t>(finding.severity)];
    const auto count = [&counts](Severity severity) { return counts[static_cast<std::size_t>(severity)]; };
    const auto plural = [](std::size_t n, std::string_view one) {
        return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
    };
    const bool nothing = count(Severity::broken) + count(Severity::warning) + count(Severity::note) == 0;
    std::string text =
        nothing ? std::string("Nothing is wrong")
                : fmt::format("{} broken, {}, {}", count(Severity::broken), plural(count(Severity::warning), "warning"),
                              plural(count(Severity::note), "note"));
    text += fmt::format("; {} found as {} should be", plural(count(Severity::ok), "check"),
                        count(Severity::ok) == 1 ? "it" : "they");
    if (count(Severity::not_applicable) > 0)
        text += fmt::format(", {} not applicable: {}", count(Severity::not_applicable), reasons(findings));
    if (count(Severity::unseen) > 0)
        text += fmt::format("; {} cannot be checked from here{}", plural(count(Severity::unseen), "thing"),
                            style.verbose ? "" : " (-v lists them)");
    return "\n" + text + ".\n";
}

std::string heading(const ::doctor::Host& host, const PageStyle& style) {
    std::string text = base::printable(host.name);
    if (style.color) text = fmt::format("\x1b[1m{}\x1b[0m", text);
    if (!host.kernel.empty()) text += "  Linux " + base::printable(host.kernel);
    if (!host.system.empty()) text += ", " + base::printable(host.system);
    return text + "\n";
}

void append_findings(std::string& out, std::span<const Finding> findings, const PageStyle& style) {
    for (const Finding& finding : findings)
        if (style.verbose || finding.severity > Severity::unseen) append_finding(out, finding, style);
    if (!out.ends_with('\n')) out += '\n';
}

}  // namespace

PageStyle style_for_terminal(int descriptor) { return {terminal_columns(descriptor), wants_color(descriptor), false}; }

std::string page(const ::doctor::Host& host, std::span<const Finding> findings, const PageStyle& style) {
    std::string out = heading(host, style);
    append_findings(out, findings, style);
    return out + summary(findings, style);
}

std::string binary_page(const ::doctor::Host& host, const ::doctor::BinaryReport& report, const PageStyle& style) {
    std::string out = heading(host, style);
    out += fmt::format("\n{}: {}.\n", base::printable(report.path), base::printable(report.verdict));
    append_findings(out, report.findings, style);
    if (style.verbose && !report.libraries.empty()) {
        out += "\nLibraries:\n";
        for (const auto& [name, path] : report.libraries)
            out +=
                fmt::format("  {:<30}{}\n", base::printable(name), path.empty() ? "not found" : base::printable(path));
    }
    return out + summary(report.findings, style);
}

std::string list_of_checks() {
    std::string out;
    for (const std::span<const Check> table :
         {::doctor::all_checks(), ::doctor::binary_checks(), ::doctor::compare_checks()})
        for (const Check& check : table)
            out += fmt::format("{:<22}{:<9}{} ({})\n", check.id, name_of(check.worst), check.title, check.evidence);
    return out;
}

}  // namespace cli::doctor
