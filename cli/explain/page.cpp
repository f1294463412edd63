#include "cli/explain/page.h"

#include <algorithm>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/moment.h"
#include "base/printable.h"
#include "base/quantities.h"
#include "base/shell_word.h"

namespace cli::explain {

namespace {

using ::explain::Cause;
using ::explain::Explanation;
using ::explain::Facts;
using ::explain::join::Found;

constexpr std::size_t label_width = 12;

/// Wraps the text to the width. The label stands before the first line, blanks before the next lines.
void append_paragraph(std::string& out, std::string_view label, std::string_view text, unsigned columns) {
    if (text.empty()) return;
    const std::size_t width = std::clamp(columns, 50U, 110U);
    std::string line = fmt::format("  {:<{}}", label, label_width - 2);
    std::size_t used = line.size();
    out += line;
    bool begun = false;
    const std::string clean = base::printable(text);
    for (std::size_t at = 0; at < clean.size();) {
        const std::size_t end = std::min(clean.find(' ', at), clean.size());
        if (begun && used + 1 + (end - at) > width) {
            out.append(1, '\n').append(label_width, ' ');
            used = label_width;
            begun = false;
        }
        if (begun) out += ' ';
        out.append(clean, at, end - at);
        used += end - at + (begun ? 1 : 0);
        begun = true;
        at = end + 1;
    }
    out += '\n';
}

/// "IBV_WC_RETRY_EXC_ERR (12)", "reject 8, invalid service ID", "RDMA_CM_EVENT_UNREACHABLE"; else the pattern's name.
std::string title_of(const Explanation& explanation) {
    const Facts& facts = explanation.facts;
    if (facts.status != nullptr) return fmt::format("{} ({})", facts.status->name, facts.status->number);
    if (facts.reject != nullptr) return fmt::format("reject {}, {}", facts.reject->number, facts.reject->name);
    if (facts.event != nullptr) return "RDMA_CM_EVENT_" + facts.event->name;
    if (facts.error_number != nullptr)
        return fmt::format("error {}, {}", facts.error_number->number, facts.error_number->name);
    return explanation.pattern;
}

std::string give_up_text(const ::explain::GiveUp& give_up) {
    if (!give_up.ns) return give_up.formula;
    const std::string time = base::format_duration(static_cast<double>(*give_up.ns));
    return give_up.formula.empty() ? time : fmt::format("{}: {}", time, give_up.formula);
}

std::string since_text(const Explanation& explanation) {
    const Facts& facts = explanation.facts;
    if (!facts.time_ns || !explanation.give_up.ns) return {};
    return fmt::format("The line is of {}; the first attempt was about {} earlier.", base::moment(*facts.time_ns),
                       base::format_duration(static_cast<double>(*explanation.give_up.ns)));
}

std::string frames_text(const std::vector<std::uint64_t>& frames) {
    std::string text = frames.size() == 1 ? "Frame " : "Frames ";
    for (std::size_t i = 0; i < frames.size(); ++i) text += fmt::format("{}{}", i == 0 ? "" : ", ", frames[i]);
    return frames.empty() ? std::string() : text + ".";
}

std::string flow_command(const Found& found, const PageStyle& style) {
    if (!found.flow || style.read_paths.size() != 1 || style.read_paths.front() == "-") return {};
    return fmt::format("rdmascope dump -# -r {} --flow {}", base::shell_word(style.read_paths.front()), *found.flow);
}

void append_found(std::string& out, const ExplainedCause& explained, const PageStyle& style) {
    if (!explained.searched) return;
    if (!explained.search.found) return append_paragraph(out, "Packets:", explained.search.reason + ".", style.columns);
    const Found& found = *explained.search.found;
    std::string text = found.summary;
    if (found.verdict) text = fmt::format("{}: {}", *found.verdict, text);
    append_paragraph(out, "Packets:", text, style.columns);
    append_paragraph(out, "", frames_text(found.frames), style.columns);
    append_paragraph(out, "", flow_command(found, style), style.columns);
}

nlohmann::ordered_json code_json(unsigned number, const std::string& name) {
    return {{"number", number}, {"name", name}};
}

nlohmann::ordered_json found_json(const Found& found) {
    nlohmann::ordered_json out;
    out["flow"] = found.flow ? nlohmann::ordered_json(*found.flow) : nullptr;
    out["candidates"] = found.candidates;
    out["frames"] = found.frames;
    out["verdict"] = found.verdict ? nlohmann::ordered_json(*found.verdict) : nullptr;
    out["network"] = found.network ? nlohmann::ordered_json(*found.network) : nullptr;
    out["summary"] = found.summary;
    return out;
}

}  // namespace

std::string cause_text(const ExplainedCause& explained, const PageStyle& style) {
    const Cause& cause = explained.cause;
    const Explanation& explanation = cause.explanation;
    std::string out = title_of(explanation);
    if (style.numbers_lines)
        out += cause.lines == 1
                   ? fmt::format(", line {}", cause.first_line)
                   : fmt::format(", {} lines from line {}", base::group_digits(cause.lines), cause.first_line);
    if (explanation.consequence) out += ": a consequence";
    out += '\n';
    if (explanation.pattern != "code") append_paragraph(out, "Line:", explanation.line, style.columns);
    append_paragraph(out, "Means:", explanation.meaning, style.columns);
    for (std::size_t i = 0; i < explanation.causes.size(); ++i)
        append_paragraph(out, i == 0 ? "Causes:" : "", fmt::format("{}. {}", i + 1, explanation.causes[i]),
                         style.columns);
    append_paragraph(out, "Gave up:", give_up_text(explanation.give_up), style.columns);
    append_paragraph(out, "", since_text(explanation), style.columns);
    append_paragraph(out, "Look for:", explanation.look_for, style.columns);
    append_paragraph(out, "Next:", explanation.next, style.columns);
    append_found(out, explained, style);
    return out + "\n";
}

std::string summary_text(const ::explain::CauseList& list, std::uint64_t lines, const PageStyle& style) {
    const Cause* const first = ::explain::first_cause(list.causes());
    if (first == nullptr || list.causes().size() < 2 || !style.numbers_lines) return {};
    std::string out =
        fmt::format("{} of {} are about RDMA, with {}. ", base::group_digits(list.recognised_lines()),
                    base::format_counted(lines, "line"), base::format_counted(list.causes().size(), "cause"));
    out += first->explanation.consequence
               ? "All are consequences: the cause is in the log of another host."
               : fmt::format("The first: {}, line {}.", title_of(first->explanation), first->first_line);
    if (list.left_out() > 0)
        out += fmt::format(" The causes of {} are left out.", base::format_counted(list.left_out(), "more line"));
    return out + "\n\n";
}

nlohmann::ordered_json cause_json(const ExplainedCause& explained) {
    const Explanation& explanation = explained.cause.explanation;
    const Facts& facts = explanation.facts;
    nlohmann::ordered_json out;
    out["line"] = explanation.line;
    out["pattern"] = explanation.pattern;
    out["source"] = explanation.software;
    out["status"] = facts.status == nullptr ? nullptr : code_json(facts.status->number, facts.status->name);
    out["reason"] =
        facts.reject == nullptr ? nullptr : code_json(static_cast<unsigned>(facts.reject->number), facts.reject->name);
    out["event"] = facts.event == nullptr ? nullptr : nlohmann::ordered_json(facts.event->name);
    out["error"] = facts.error_number == nullptr
                       ? nullptr
                       : code_json(static_cast<unsigned>(facts.error_number->number), facts.error_number->name);
    out["meaning"] = explanation.meaning;
    out["consequence"] = explanation.consequence;
    out["causes"] = explanation.causes;
    out["gave_up_after_ns"] = explanation.give_up.ns ? nlohmann::ordered_json(*explanation.give_up.ns) : nullptr;
    out["formula"] = explanation.give_up.formula;
    out["look_for"] = explanation.look_for;
    out["next"] = explanation.next;
    out["time_ns"] = facts.time_ns ? nlohmann::ordered_json(*facts.time_ns) : nullptr;
    out["first_line"] = explained.cause.first_line;
    out["lines"] = explained.cause.lines;
    out["found"] = explained.search.found ? found_json(*explained.search.found) : nullptr;
    out["not_found"] =
        explained.searched && !explained.search.found ? nlohmann::ordered_json(explained.search.reason) : nullptr;
    return out;
}

}  // namespace cli::explain
