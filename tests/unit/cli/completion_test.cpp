// The completions of bash, zsh and fish offer exactly the options of the tables, and know which have a value.
#include <algorithm>
#include <array>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "tests/support/pcaps.h"

namespace cli {
namespace {

using options::CommandOptions;
using testing::IsSupersetOf;

/// Spellings, and whether a value must follow each.
using Spellings = std::map<std::string, bool>;

std::string content(const std::string& name) {
    std::ifstream file(support::pcaps() + "/../cli/completion/" + name);
    EXPECT_TRUE(file.is_open()) << name;
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<CommandOptions> all_commands() {
    std::vector<CommandOptions> all;
    for (const Command& command : commands())
        for (CommandOptions& part : command.option_lists()) all.push_back(std::move(part));
    return all;
}

/// `dump -e` has a value with some -T only, and every shell has its own way to say that.
bool is_ambiguous(std::string_view command, std::string_view spelling) { return command == "dump" && spelling == "-e"; }

Spellings of_table(const CommandOptions& command) {
    Spellings spellings;
    for (const auto& [text, section] : command.options) {
        const bool has_value = text.argument.kind == base::OptionValue::required;
        if (text.letter != 0) spellings[std::string("-") + text.letter] = has_value;
        if (!text.long_name.empty()) spellings["--" + std::string(text.long_name)] = has_value;
    }
    return spellings;
}

void expect_same(const CommandOptions& command, Spellings offered) {
    Spellings expected = of_table(command);
    for (Spellings* each : {&expected, &offered})
        for (auto& [spelling, has_value] : *each)
            if (is_ambiguous(command.command, spelling)) has_value = false;
    EXPECT_EQ(offered, expected) << command.command;
}

std::string first_word(std::string_view name) { return std::string(name.substr(0, name.find(' '))); }
std::string last_word(std::string_view name) { return std::string(name.substr(name.rfind(' ') + 1)); }

/// What stands between the two, after the first; empty if they are not there.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
    const std::size_t from = text.find(begin);
    if (from == std::string::npos) return {};
    const std::size_t to = text.find(end, from + begin.size());
    return text.substr(from + begin.size(), to - from - begin.size());
}

std::vector<std::string> matches(const std::string& text, const char* expression) {
    const std::regex regex(expression);
    std::vector<std::string> found;
    for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) found.push_back((*at)[1]);
    return found;
}

/// A function of bash or zsh.
std::string function_of(const std::string& script, const std::string& name) {
    const std::string body = between(script, "\n_rdmascope_" + name + "() {\n", "\n}\n");
    EXPECT_FALSE(body.empty()) << name;
    return body;
}

bool measures(std::string_view command) {
    constexpr std::array all = {"flows", "paths", "why", "report", "policy", "top"};
    return std::ranges::find(all, command) != all.end();
}

TEST(Completion, of_bash_offers_every_option_and_no_other) {
    const std::string script = content("rdmascope.bash");
    for (const CommandOptions& command : all_commands()) {
        const bool is_part = first_word(command.command) == "endpoint";
        const std::string body = function_of(script, first_word(command.command));
        std::string lists;
        if (is_part)
            lists = between(body, "common='", "'") + " " +
                    between(body, "\n        " + last_word(command.command) + ") own='", "'");
        else
            for (const std::string& list : matches(body, "'(-[^']*)'")) lists += list + " ";
        std::istringstream words(lists);
        std::set<std::string> offered;
        for (std::string word; words >> word;) {
            // -dd and -vvv are the letter again.
            const bool is_repeated =
                word.size() > 2 && word.find_first_not_of(word[1], 1) == std::string::npos && word[1] != '-';
            offered.insert(is_repeated ? word.substr(0, 2) : word);
        }
        std::string cases = between(body, "case $previous in", "esac");
        if (measures(command.command)) cases += between(function_of(script, "measuring"), "case $previous in", "esac");
        // --kernel-events has words to offer after `=`, and nothing to wait for.
        const std::vector<std::string> patterns = matches(cases, "(?:^|[\\s|])(--?[\\w#-]+)(?=\\s*[|)])");
        const std::set<std::string> with_value(patterns.begin(), patterns.end());
        Spellings spellings;
        for (const std::string& word : offered)
            spellings[word] = with_value.contains(word) && word != "--kernel-events" && word != "--connect";
        expect_same(command, spellings);
    }
}

TEST(Completion, of_zsh_offers_every_option_and_no_other) {
    const std::string script = std::regex_replace(content("_rdmascope"), std::regex("\\\\#"), "#");
    for (const CommandOptions& command : all_commands()) {
        std::string specifications = function_of(script, first_word(command.command));
        if (first_word(command.command) == "endpoint")
            specifications = between(specifications, "\n        " + last_word(command.command) + ")\n", ";;") +
                             function_of(script, "endpoint_part");
        if (measures(command.command)) specifications += function_of(script, "measuring");
        Spellings spellings;
        const std::regex option(R"([\s'*{,)](--[a-z][a-z-]*|-[A-Za-z#])(\+|=-|=)?(?=[,}[]))");
        for (std::sregex_iterator at(specifications.begin(), specifications.end(), option), end; at != end; ++at)
            spellings[(*at)[1]] = (*at)[2] == "+" || (*at)[2] == "=";
        expect_same(command, spellings);
    }
}

/// The lines of fish, each with the condition under which it counts in front.
std::vector<std::string> lines_of_fish(const std::string& script) {
    std::map<std::string, std::string> helpers;
    const std::regex helper(R"(function (__rdmascope_\w+)\n    complete -c rdmascope -n '([^']*)' \$argv\nend)");
    for (std::sregex_iterator at(script.begin(), script.end(), helper), end; at != end; ++at)
        helpers[(*at)[1]] = (*at)[2];
    std::vector<std::string> lines;
    std::istringstream stream(script);
    for (std::string line; std::getline(stream, line);) {
        const auto known = helpers.find(line.substr(0, line.find(' ')));
        if (known != helpers.end())
            lines.push_back(known->second + "|" + line);
        else if (line.starts_with("complete -c rdmascope -n '"))
            lines.push_back(between(line, "-n '", "'") + "|" + line);
        else if (line.starts_with("complete -c rdmascope -n __rdmascope_runs "))
            lines.push_back("__rdmascope_is run|" + line);
    }
    return lines;
}

TEST(Completion, of_fish_offers_every_option_and_no_other) {
    const std::vector<std::string> lines = lines_of_fish(content("rdmascope.fish"));
    for (const CommandOptions& command : all_commands()) {
        const bool is_part = first_word(command.command) == "endpoint";
        const std::regex condition((is_part ? "__rdmascope_part( \\w+)* " : "__rdmascope_is( \\w+)* ") +
                                   last_word(command.command) +
                                   "( \\w+)*(; and (not )?__rdmascope_wants_fields)?\\|.*");
        Spellings spellings;
        for (const std::string& line : lines) {
            if (!std::regex_match(line, condition)) continue;
            const std::string option = line.substr(0, line.find(" -d "));
            const bool has_value = std::regex_search(option, std::regex(" -(x|r|rF)( |$)"));
            for (const std::string& letter : matches(option, " -s '?(.)'?")) spellings["-" + letter] = has_value;
            for (const std::string& name : matches(option, " -l ([\\w-]+)")) spellings["--" + name] = has_value;
        }
        expect_same(command, spellings);
    }
}

TEST(Completion, knows_which_words_of_run_are_values) {
    std::set<std::string> with_value;
    for (const CommandOptions& command : all_commands())
        if (command.command == "run")
            for (const auto& [spelling, has_value] : of_table(command))
                if (has_value) with_value.insert(spelling);
    const auto words = [](const std::string& text) {
        const std::vector<std::string> found = matches(text, "(--[a-z-]+)");
        return std::set<std::string>(found.begin(), found.end());
    };
    const std::string bash = between(content("rdmascope.bash"), "--) ((at++)); break ;;", ") ((at++)) ;;");
    EXPECT_EQ(words(bash), with_value);
    const std::string fish = between(content("rdmascope.fish"), "                break\n            case ", "set -e");
    EXPECT_EQ(words(fish), with_value);
}

TEST(Completion, offers_every_command) {
    std::vector<std::string> names;
    for (const Command& command : commands()) names.emplace_back(command.name);
    for (const char* file : {"rdmascope.bash", "_rdmascope", "rdmascope.fish"}) {
        std::istringstream words(std::regex_replace(content(file), std::regex("[^\\w]"), " "));
        EXPECT_THAT(std::vector<std::string>(std::istream_iterator<std::string>(words), {}), IsSupersetOf(names));
    }
}

}  // namespace
}  // namespace cli
