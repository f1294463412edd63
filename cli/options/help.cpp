// How a table of options is printed.
#include <algorithm>
#include <fmt/core.h>

#include "cli/options/command_options.h"

namespace cli::options {

namespace {

constexpr std::size_t help_column = 30;
constexpr std::size_t help_width = 68;  ///< of the text from help_column on: a line has at most 98 columns

std::string left_side(const OptionText& option) {
    std::string text = option.letter != 0 ? fmt::format("  -{}", option.letter) : "    ";
    if (!option.long_name.empty()) text += fmt::format("{}--{}", option.letter != 0 ? ", " : "  ", option.long_name);
    switch (option.argument.kind) {
        case base::OptionValue::none: return text;
        case base::OptionValue::required: return fmt::format("{} {}", text, option.argument.name);
        case base::OptionValue::optional:
        case base::OptionValue::optional_path: return fmt::format("{}[={}]", text, option.argument.name);
    }
    return text;
}

void append_wrapped(std::string& out, std::string_view text) {
    while (text.size() > help_width) {
        const std::size_t cut = text.rfind(' ', help_width);
        if (cut == std::string_view::npos || cut == 0) break;
        out += fmt::format("{}\n{:{}}", text.substr(0, cut), "", help_column);
        text.remove_prefix(cut + 1);
    }
    out += fmt::format("{}\n", text);
}

void append_option(std::string& out, const OptionText& option) {
    const std::string left = left_side(option);
    out += left.size() + 2 > help_column ? fmt::format("{}\n{:{}}", left, "", help_column)
                                         : fmt::format("{:<{}}", left, help_column);
    append_wrapped(out, option.help);
}

}  // namespace

std::string spelling(const OptionText& option) { return base::spelling({option.letter, option.long_name}); }

std::string_view heading(Section section) {
    switch (section) {
        case Section::options: return "Options";
        case Section::configuration: return "Configuration";
        case Section::capturing: return "What is captured";
        case Section::publishing: return "Who may ask";
        case Section::keeping: return "What is kept";
        case Section::subject: return "What is examined";
        case Section::files: return "What is written";
        case Section::source: return "Where packets come from";
        case Section::selection: return "Which packets";
        case Section::measuring: return "How they are measured";
        case Section::place: return "Where";
        case Section::reenactment: return "What is re-enacted, and how";
        case Section::impairment: return "What is put in its way";
        case Section::work: return "What to do";
        case Section::connection: return "How connections are made";
        case Section::bounds: return "Bounds";
        case Section::printing: return "What is printed";
        case Section::saving: return "What is saved";
        case Section::other: return "Other";
    }
    return {};
}

std::string help_page(std::string_view beginning, const std::vector<ListedOption>& options, std::string_view ending) {
    std::vector<ListedOption> sorted = options;
    std::ranges::stable_sort(sorted, {}, &ListedOption::section);
    std::string out(beginning);
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const bool begins_section = i == 0 || sorted[i].section != sorted[i - 1].section;
        if (begins_section) out += fmt::format("\n{}:\n", heading(sorted[i].section));
        append_option(out, sorted[i].text);
    }
    return out.append(ending);
}

}  // namespace cli::options
