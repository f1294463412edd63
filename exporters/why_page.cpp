#include "exporters/why_page.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/quantities.h"
#include "base/shell_word.h"
#include "exporters/management.h"
#include "metrics/answers/capture_notes.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/unread_carriers.h"

namespace exporters {

namespace {

using metrics::Answer;
using metrics::Evidence;
namespace words = metrics::answers;

constexpr std::size_t brief_figures = 8;  ///< of a finding, without -v

/// A name from a file or from the traffic must not move the terminal's cursor.
std::string harmless(std::string_view text) {
    std::string out;
    for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    return out;
}

/// "99 % of the busy time", "0.3 % of the packets".
std::string cost_text(const metrics::Cost& cost) {
    constexpr std::array<std::string_view, 6> wholes{"busy time",   "packets",  "requests",
                                                     "connections", "commands", "commands' time"};
    return fmt::format("{} of the {}", words::percent(cost.share), wholes[static_cast<std::size_t>(cost.basis)]);
}

/// The name of a figure on the page. JSON has the names of the evidence.
std::string evidence_label(const Evidence& evidence) {
    if (evidence.what == "goodput") return "goodput (message bytes)";
    return harmless(evidence.what);
}

class Page {
public:
    Page(const metrics::Snapshot& snapshot, std::span<const Answer> answers, const WhyPageStyle& style)
        : snapshot_(snapshot),
          answers_(answers),
          style_(style),
          columns_(std::clamp(style.columns, 40U, 110U)),
          several_alarms_(std::ranges::count_if(answers, [](const Answer& each) { return each.alarm; }) > 1) {}

    std::string print() {
        headline();
        for (const Answer& answer : answers_)
            if (answer.alarm) alarm(answer);
        calm();
        return std::move(out_);
    }

private:
    static constexpr std::string_view red = "\x1b[1;31m";
    static constexpr std::string_view yellow = "\x1b[1;33m";
    static constexpr std::string_view green = "\x1b[32m";
    static constexpr std::string_view bold = "\x1b[1m";
    static constexpr std::string_view dim = "\x1b[2m";

    std::string colored(std::string_view text, std::string_view color) const {
        if (!style_.color || color.empty()) return std::string(text);
        return fmt::format("{}{}\x1b[0m", color, text);
    }

    /// Words that fit the line; `first` stands before them, blanks of `indent` before the lines that follow. Colour is
    /// given to `first` alone, so that what is counted is what is seen.
    void paragraph(std::string_view first, std::string_view color, std::size_t indent, std::string_view text) {
        out_ += colored(first, color);
        std::size_t column = first.size();
        if (column < indent) {
            out_.append(indent - column, ' ');
            column = indent;
        }
        bool begun = false;
        const std::string clean = harmless(text);
        std::size_t at = 0;
        while (at < clean.size()) {
            const std::size_t end = end_of_word(clean, at);
            const std::size_t length = end - at;
            if (begun && column + 1 + length > columns_) {
                out_ += '\n';
                out_.append(indent, ' ');
                column = indent;
                begun = false;
            }
            if (begun) {
                out_ += ' ';
                ++column;
            }
            out_.append(clean, at, length);
            column += length;
            begun = true;
            at = end + 1;
        }
        out_ += '\n';
    }

    /// A figure and its unit stay together: "0.63 %", "655 ms".
    static std::size_t end_of_word(const std::string& text, std::size_t at) {
        std::size_t end = std::min(text.find(' ', at), text.size());
        const char last = end > at ? text[end - 1] : ' ';
        if (last < '0' || last > '9' || end >= text.size()) return end;
        const std::size_t next = std::min(text.find(' ', end + 1), text.size());
        return next - end - 1 <= 7 ? next : end;
    }

    std::string_view color_of(metrics::Grade grade) const {
        switch (grade) {
            case metrics::Grade::wrong: return red;
            case metrics::Grade::minor:
            case metrics::Grade::suspected: return yellow;
            case metrics::Grade::ok: return green;
            case metrics::Grade::nothing: break;
        }
        return bold;
    }

    void headline() {
        const Headline headline = headline_of(snapshot_, answers_);
        const std::size_t indent = headline.grade == metrics::Grade::nothing ? 18
                                   : headline.grade == metrics::Grade::ok    ? 4
                                                                             : 7;
        paragraph(headline.label + ": ", color_of(headline.grade), indent, headline.text);
        for (const metrics::CaptureNote& note : metrics::capture_notes(snapshot_))
            paragraph("Note:", bold, 6, note.text);
    }

    void alarm(const Answer& answer) {
        out_ += '\n';
        const std::string title = fmt::format("{}: {}", name_of(answer.question), name_of(answer.verdict));
        const metrics::Grade grade = grade_of(answer);
        out_ += colored(style_.utf8 ? "\u25cf " : "* ", color_of(grade)) + colored(title, bold);
        if (grade != metrics::Grade::wrong || several_alarms_) out_ += "  " + label_of(answer);
        out_ += '\n';
        paragraph("  ", {}, 2, answer.summary);
        figures(answer, style_.verbose ? answer.evidence.size() : brief_figures);
        frames(answer);
        flow_command(answer);
        paragraph("  Do:", bold, 8, answer.advice);
        certainty(answer);
    }

    void figures(const Answer& answer, std::size_t most) {
        const std::size_t count = std::min(most, answer.evidence.size());
        std::size_t label = 0;
        std::size_t value = 0;
        std::vector<std::string> values;
        for (std::size_t i = 0; i < count; ++i) {
            const Evidence& evidence = answer.evidence[i];
            values.push_back(words::figure(evidence));
            label = std::max(label, evidence_label(evidence).size());
            value = std::max(value, number_part(values.back()));
        }
        label = std::min<std::size_t>(label, columns_ - 24);
        for (std::size_t i = 0; i < count; ++i) {
            const Evidence& evidence = answer.evidence[i];
            std::string line = fmt::format("    {:<{}}  {:>{}}{}", evidence_label(evidence), label,
                                           values[i].substr(0, number_part(values[i])), value,
                                           values[i].substr(number_part(values[i])));
            if (style_.verbose && !evidence.frames.empty())
                line += "  " + colored("frames " + list(evidence.frames), dim);
            out_ += line + "\n";
        }
    }

    static std::size_t number_part(const std::string& text) { return std::min(text.find(' '), text.size()); }

    static std::string list(const std::vector<std::uint64_t>& frames) {
        return fmt::format("{}", fmt::join(frames, ", "));
    }

    bool can_be_read_again() const { return style_.read_paths.size() == 1 && style_.read_paths.front() != "-"; }

    /// A command is there to be copied: it is not wrapped.
    void command(std::string_view arguments) {
        out_ += colored("  See:", bold) + fmt::format("  rdmascope {}\n", arguments);
    }

    /// All packets of the flow that is worst.
    void flow_command(const Answer& answer) {
        if (answer.flows.empty() || !can_be_read_again()) return;
        command(
            fmt::format("dump -# -r {} --flow {}", base::shell_word(style_.read_paths.front()), answer.flows.front()));
    }

    void frames(const Answer& answer) {
        std::vector<std::uint64_t> all;
        for (const Evidence& evidence : answer.evidence)
            for (const std::uint64_t frame : evidence.frames)
                if (all.size() < 12 || style_.verbose) all.push_back(frame);
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        if (all.empty()) return;
        if (can_be_read_again()) {
            command(fmt::format("dump -# -r {} -Y 'frame.number in {{{}}}'",
                                base::shell_word(style_.read_paths.front()), list(all)));
            return;
        }
        paragraph(
            "  See:", bold, 8,
            fmt::format("frame{} {}{}", all.size() == 1 ? "" : "s", list(all),
                        style_.read_paths.size() > 1 ? " of the files merged by time"
                        : style_.says_how_to_record  ? "; record with `rdmascope dump -w FILE` to look at such frames"
                                                     : ""));
    }

    void certainty(const Answer& answer) {
        std::string text = base::format_percent(answer.confidence);
        if (answer.vantage != metrics::Vantage::unknown)
            text += fmt::format(", seen {}", answer.vantage == metrics::Vantage::sender ? "near the sender"
                                             : answer.vantage == metrics::Vantage::receiver
                                                 ? "near the receiver"
                                                 : "on the way between sender and receiver");
        if (!answer.flows.empty()) {
            constexpr std::size_t brief = 8;
            const std::size_t shown = style_.verbose ? answer.flows.size() : std::min(brief, answer.flows.size());
            text +=
                fmt::format("; flow{} {}", answer.flows.size() == 1 ? "" : "s",
                            list({answer.flows.begin(), answer.flows.begin() + static_cast<std::ptrdiff_t>(shown)}));
            if (shown < answer.flows.size()) text += fmt::format(" and {} more", answer.flows.size() - shown);
        }
        paragraph("  Sure:", dim, 8, text);
    }

    void calm() {
        // Where there is nothing to judge, the first line has said so of all questions.
        const bool judges = metrics::grade_of(snapshot_, answers_) != metrics::Grade::nothing;
        if (!judges && !style_.verbose && snapshot_.capture.rdma_units == 0) return;
        bool begun = false;
        for (const Answer& answer : answers_) {
            if (answer.alarm) continue;
            if (!begun) out_ += '\n';
            begun = true;
            constexpr std::size_t indent = 13;
            paragraph(fmt::format("{:<{}}", name_of(answer.question), indent), bold, indent,
                      fmt::format("{}: {}", name_of(answer.verdict), answer.summary));
            if (!style_.verbose) continue;
            figures(answer, answer.evidence.size());
            frames(answer);
            paragraph("  Do:", bold, 8, answer.advice);
            certainty(answer);
            out_ += '\n';
        }
    }

    const metrics::Snapshot& snapshot_;
    std::span<const Answer> answers_;
    const WhyPageStyle& style_;
    std::size_t columns_;
    bool several_alarms_;
    std::string out_ = {};
};

}  // namespace

std::string label_of(const Answer& answer) {
    switch (grade_of(answer)) {
        case metrics::Grade::wrong: return fmt::format("WRONG ({})", cost_text(answer.cost));
        case metrics::Grade::minor: return fmt::format("MINOR ({})", cost_text(answer.cost));
        case metrics::Grade::suspected: return fmt::format("SUSPECTED ({} sure)", words::percent(answer.confidence));
        default: return "OK";
    }
}

namespace {

std::string without_flows(const metrics::Snapshot& snapshot) {
    const std::string management = management_text(snapshot.capture);
    if (!management.empty()) return management + '.';
    return shows_connections(snapshot)
               ? "RDMA connections were set up or ended, but no data passed."
               : "RDMA packets passed, but none that belongs to a flow: `rdmascope dump` shows them.";
}

std::string no_rdma(const metrics::CaptureFigures& capture) {
    const std::string unread = metrics::describe_unread_carriers(capture);
    return unread.empty() ? "the capture holds no RDMA." : "no RDMA was found, and " + unread + ".";
}

}  // namespace

Headline headline_of(const metrics::Snapshot& snapshot, std::span<const Answer> answers) {
    const metrics::Grade grade = metrics::grade_of(snapshot, answers);
    const auto alarms = static_cast<std::uint64_t>(
        std::count_if(answers.begin(), answers.end(), [](const Answer& each) { return each.alarm; }));
    if (alarms > 0) {
        std::string text(meaning_of(answers.front()));
        if (alarms > 1) text += fmt::format(" And {} below.", base::format_counted(alarms - 1, "more finding"));
        return {grade, label_of(answers.front()), std::move(text)};
    }
    if (grade == metrics::Grade::nothing)
        return {grade, "NOTHING TO JUDGE",
                snapshot.capture.rdma_units == 0 ? no_rdma(snapshot.capture) : without_flows(snapshot)};
    return {grade, "OK", "nothing is wrong that this capture can show."};
}

std::string_view meaning_of(const Answer& answer) {
    const metrics::VerdictMeaning* const row = metrics::meaning_of(answer.question, answer.verdict);
    return row == nullptr ? name_of(answer.verdict) : row->meaning;
}

std::string why_page(const metrics::Snapshot& snapshot, std::span<const Answer> answers, const WhyPageStyle& style) {
    return Page(snapshot, answers, style).print();
}

}  // namespace exporters
