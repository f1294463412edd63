// The manual page of a command explains exactly the options of its tables.
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "cli/commands.h"
#include "tests/support/pcaps.h"

namespace cli {
namespace {

/// The options that stand at the head of a paragraph of the section OPTIONS.
std::set<std::string> explained(const std::string& command) {
    std::ifstream file(support::pcaps() + "/../docs/man/rdmascope-" + command + ".1");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const std::size_t begin = page.find("\n.SH OPTIONS\n");
    EXPECT_NE(begin, std::string::npos) << command;
    if (begin == std::string::npos) return {};
    std::istringstream section(page.substr(begin + 1, page.find("\n.SH ", begin + 1) - begin - 1));
    const std::regex option("(^|[^\\w-])(--[a-z][a-z-]*|-[A-Za-z#](?![\\w-]))");
    std::set<std::string> found;
    std::string before;
    for (std::string line; std::getline(section, line); before = line) {
        if (!before.starts_with(".TP") && !before.starts_with(".TQ") && !before.starts_with(".PD")) continue;
        const std::string plain =
            std::regex_replace(std::regex_replace(line, std::regex(R"(\\f.)"), ""), std::regex(R"(\\-)"), "-");
        for (std::sregex_iterator at(plain.begin(), plain.end(), option), end; at != end; ++at) found.insert((*at)[2]);
    }
    return found;
}

TEST(OptionManual, explains_every_option_and_no_other) {
    for (const Command& command : commands()) {
        std::set<std::string> known;
        for (const auto& part : command.option_lists())
            for (const auto& [text, section] : part.options) {
                if (text.letter != 0) known.insert(std::string("-") + text.letter);
                if (!text.long_name.empty()) known.insert("--" + std::string(text.long_name));
            }
        EXPECT_EQ(explained(std::string(command.name)), known) << command.name;
    }
}

}  // namespace
}  // namespace cli
