// rdmascope-top(1) has every key, in the words of help.
#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include "tests/support/pcaps.h"
#include "tui/model/keys.h"

namespace cli::top {
namespace {

/// In which views a key does something, where that is not all of them.
std::string where(std::uint32_t views) {
    std::uint32_t all = 0;
    for (std::size_t i = 0; i < tui::view_count; ++i) all |= bit_of(static_cast<tui::View>(i));
    if (views == all) return {};
    if (views == (all & ~bit_of(tui::View::flow))) return " (in lists)";
    std::string names;
    for (std::size_t i = 0; i < tui::view_count; ++i)
        if (const auto view = static_cast<tui::View>(i); (views & bit_of(view)) != 0)
            names += (names.empty() ? "" : ", ") + std::string(name_of(view));
    return " (" + names + ")";
}

/// Text as roff has it.
std::string roff(std::string_view text) {
    std::string out;
    if (text.starts_with('.') || text.starts_with('\'')) out = "\\&";
    for (const char letter : text) out += letter == '-' ? std::string("\\-") : std::string(1, letter);
    return out;
}

std::string key_manual() {
    std::string out;
    std::string_view group;
    for (const tui::KeyText& key : tui::key_texts()) {
        if (key.group != group) out += ".SS " + std::string(key.group) + "\n";
        group = key.group;
        out += ".TP\n.B " + roff(key.keys) + "\n" + roff(key.help) + where(key.views) + "\n";
    }
    return out;
}

TEST(Manual, HasEveryKey) {
    std::ifstream file(support::pcaps() + "/../docs/man/rdmascope-top.1");
    const std::string page{std::istreambuf_iterator<char>(file), {}};
    const std::size_t chapter = page.find("\n.SH KEYS\n");
    ASSERT_NE(chapter, std::string::npos);
    const std::size_t begin = page.find("\n.SS ", chapter) + 1;
    const std::size_t end = page.find("\n.SH ", begin) + 1;
    EXPECT_EQ(page.substr(begin, end - begin), key_manual());
}

}  // namespace
}  // namespace cli::top
