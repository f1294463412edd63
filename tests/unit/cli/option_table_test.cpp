// Tables of options: what setters accept, what the errors say, and that the tables of all commands hold together.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/options/command_options.h"
#include "cli/options/setters.h"
#include "cli/options/shared.h"

namespace cli::options {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Words = std::vector<std::string>;

enum class Shade : std::uint8_t { dark, light };
constexpr std::array shades{std::pair<std::string_view, Shade>{"dark", Shade::dark},
                            std::pair<std::string_view, Shade>{"light", Shade::light}};

struct Inner {
    std::uint16_t depth = 0;
    std::optional<std::uint64_t> wait_ns = {};
};
struct Base : HelpOptions {
    bool names = true;
    Color color = Color::automatic;
};
struct Settings : Base {
    Inner inner = {};
    Shade shade = Shade::dark;
    std::optional<bool> crc = {};
    std::optional<std::string> path = {};
    Words list = {};
    std::uint64_t octets = 0;
    std::optional<std::uint64_t> bits_per_sec = {};
    std::chrono::nanoseconds idle{7};
    std::optional<std::int64_t> from_ns = {};
    std::string sort = {};
};
using Row = Option<Settings>;

constexpr std::array own{
    Row{{'d', "depth", "N", "depth"}, Section::bounds, number<1, 9, &Settings::inner, &Inner::depth>},
    Row{{0, "wait", "TIME", "wait"}, Section::bounds, duration<&Settings::inner, &Inner::wait_ns>},
    Row{{0, "shade", "NAME", "shade"}, Section::printing, choice<shades, &Settings::shade>},
    Row{{0, "crc", "on|off", "crc"}, Section::work, on_off<&Settings::crc>},
    Row{{0, "path", "FILE", "path"}, Section::work, store_nonempty<"a file", &Settings::path>},
    Row{{'l', {}, "WORD", "list"}, Section::work, append<&Settings::list>},
    Row{{0, "size", "SIZE", "size"}, Section::work, size<1, 4096, &Settings::octets>},
    Row{{0, "rate", "BITS", "rate"}, Section::work, rate<&Settings::bits_per_sec>},
    Row{{0, "idle", "TIME", "idle"}, Section::work, duration_or_zero<&Settings::idle>},
    Row{{0, "from", "TIME", "from"}, Section::work, moment<&Settings::from_ns>},
    sort<Settings>,
};
constexpr std::array shared{no_names<Base>, color<Base>, help<Base>, version<Base>};

std::string_view elsewhere(std::string_view option) { return option == "-z" ? "; use gzip" : ""; }

OptionTable<Settings> table() { return OptionTable<Settings>().add(own).add(shared).hint(elsewhere); }

Settings read(const Words& words) {
    Settings settings;
    Words operands;
    const auto error = table().parse(words, settings, operands);
    EXPECT_FALSE(error) << error->message;
    return settings;
}

std::string mistake(const Words& words) {
    Settings settings;
    Words operands;
    const auto error = table().parse(words, settings, operands);
    return error ? error->message : "";
}

TEST(OptionTable, setters_set_the_member_that_they_name) {
    const Settings settings = read({"-d3", "--wait=250ms", "--shade", "light", "--crc=off", "--path", "x", "-la", "-l",
                                    "b", "--size=4K", "--rate", "10G", "--idle=0", "--sort=-a", "-n"});
    EXPECT_EQ(settings.inner.depth, 3);
    EXPECT_EQ(settings.inner.wait_ns, 250'000'000U);
    EXPECT_EQ(settings.shade, Shade::light);
    EXPECT_EQ(settings.crc, false);
    EXPECT_EQ(settings.path, "x");
    EXPECT_THAT(settings.list, ElementsAre("a", "b"));
    EXPECT_EQ(settings.octets, 4096U);
    EXPECT_EQ(settings.bits_per_sec, 10'000'000'000U);
    EXPECT_EQ(settings.idle.count(), 0);
    EXPECT_EQ(settings.sort, "-a");
    EXPECT_FALSE(settings.names);
    EXPECT_EQ(read({"--idle=2s"}).idle, std::chrono::seconds(2));
    EXPECT_TRUE(read({"--from=-1h"}).from_ns);
    EXPECT_TRUE(read({"-h"}).help);
    EXPECT_TRUE(read({"--version"}).version);
}

TEST(OptionTable, what_is_not_given_stays) {
    const Settings settings = read({});
    EXPECT_EQ(settings.inner.wait_ns, std::nullopt);
    EXPECT_EQ(settings.crc, std::nullopt);
    EXPECT_EQ(settings.idle.count(), 7);
    EXPECT_TRUE(settings.names);
}

TEST(OptionTable, a_wrong_value_is_reported_with_what_is_expected) {
    EXPECT_EQ(mistake({"--depth", "0"}), "-d 0: a number from 1 to 9 is expected");
    EXPECT_EQ(mistake({"-d", ""}), "-d '': a number from 1 to 9 is expected");
    EXPECT_EQ(mistake({"-dx"}), "-d x: a number from 1 to 9 is expected");
    EXPECT_EQ(mistake({"--shade", "red"}), "--shade red: dark or light is expected");
    EXPECT_EQ(mistake({"--color=red"}), "--color red: auto, never or always is expected");
    EXPECT_EQ(mistake({"--path="}), "--path '': a file is expected");
    EXPECT_THAT(mistake({"--wait", "soon"}), HasSubstr("--wait soon: "));
    EXPECT_THAT(mistake({"--crc", "yes"}), HasSubstr("--crc yes: "));
    EXPECT_THAT(mistake({"--size", "5K"}), HasSubstr("--size 5K: "));
    EXPECT_THAT(mistake({"--rate", "fast"}), HasSubstr("--rate fast: "));
    EXPECT_THAT(mistake({"--idle", "-1"}), HasSubstr("--idle -1: "));
    EXPECT_THAT(mistake({"--from", "never"}), HasSubstr("--from never: "));
    EXPECT_THAT(mistake({"--sort", "-"}), HasSubstr("--sort -: a column"));
}

TEST(OptionTable, a_wrong_value_sets_nothing) {
    Settings settings;
    Words operands;
    EXPECT_TRUE(table().parse({"--wait", "soon"}, settings, operands));
    EXPECT_TRUE(table().parse({"--crc", "yes"}, settings, operands));
    EXPECT_EQ(settings.inner.wait_ns, std::nullopt);
    EXPECT_EQ(settings.crc, std::nullopt);
}

TEST(OptionTable, the_first_error_ends_the_reading) {
    EXPECT_THAT(mistake({"-d", "0", "--bogus"}), HasSubstr("-d 0"));
    EXPECT_THAT(mistake({"--bogus", "-d", "0"}), HasSubstr("--bogus"));
    EXPECT_THAT(mistake({"a", "-d"}), HasSubstr("-d needs a value: N"));
}

TEST(OptionTable, a_command_may_say_itself_where_to_look) {
    Settings settings;
    Words operands;
    const auto error = table().parse({"-z"}, settings, operands);
    EXPECT_EQ(error->message, "there is no option -z; use gzip");
    EXPECT_EQ(error->unknown, std::nullopt);
}

TEST(OptionTable, names_the_commands_that_have_the_option) {
    const std::vector<ListedOption> with_depth = {{{'d', "depth", "N", ""}, Section::work}};
    const std::vector<ListedOption> with_json = {{{0, "json", {}, ""}, Section::work}};
    const std::vector<CommandOptions> all = {
        {"a", with_depth}, {"b c", with_depth}, {"b d", with_depth}, {"e", with_json}};
    const auto message = [&](std::string_view command, const std::string& unknown) {
        UsageError error{"there is no option " + unknown + ", did you mean '--other'?", unknown};
        append_other_commands(error, command, all);
        return error.message;
    };
    EXPECT_EQ(message("e", "--depth"), "there is no option --depth; a and b have it");
    EXPECT_EQ(message("b e", "--depth"), "there is no option --depth; a, b c and b d have it");
    EXPECT_EQ(message("a", "--json"), "there is no option --json; e has it");
    EXPECT_EQ(message("e", "-d"), "there is no option -d; a and b have it");
    EXPECT_EQ(message("e", "--dept"), "there is no option --dept, did you mean '--other'?");
    EXPECT_EQ(message("e", "-"), "there is no option -, did you mean '--other'?");
}

TEST(OptionTable, help_has_sections_in_their_order_and_wraps) {
    const std::vector<ListedOption> options = {
        {{0, "late", optional("LIST"), "printed last"}, Section::other},
        {{'a',
          {},
          {},
          std::string_view("one word after the other until the line is longer than it may be, and then some")},
         Section::source},
        {{'b', "a-long-name-of-an-option", "VALUE", "below its name"}, Section::source},
    };
    EXPECT_EQ(help_page("Usage\n", options, "\nEnd\n"),
              "Usage\n\nWhere packets come from:\n"
              "  -a                          one word after the other until the line is longer than it may be,\n"
              "                              and then some\n"
              "  -b, --a-long-name-of-an-option VALUE\n"
              "                              below its name\n"
              "\nOther:\n"
              "      --late[=LIST]           printed last\n"
              "\nEnd\n");
}

std::vector<CommandOptions> all_commands() {
    std::vector<CommandOptions> all;
    for (const Command& command : commands())
        for (CommandOptions& part : command.option_lists()) all.push_back(std::move(part));
    return all;
}

TEST(Commands, every_command_has_help_and_version_and_no_name_twice) {
    EXPECT_EQ(all_commands().size(), 21U);
    for (const auto& [command, options] : all_commands()) {
        std::set<char> letters;
        std::set<std::string_view> names;
        for (const auto& [text, section] : options) {
            EXPECT_TRUE(text.letter != 0 || !text.long_name.empty()) << command;
            EXPECT_TRUE(text.letter == 0 || letters.insert(text.letter).second) << command << " -" << text.letter;
            EXPECT_TRUE(text.long_name.empty() || names.insert(text.long_name).second) << command << text.long_name;
            EXPECT_FALSE(text.help.empty()) << command << text.long_name;
            // getopt has no letters with an optional value either: `-xVALUE` would be ambiguous.
            const bool is_optional = text.argument.kind == base::OptionValue::optional ||
                                     text.argument.kind == base::OptionValue::optional_path;
            EXPECT_TRUE(text.letter == 0 || !is_optional) << command << " -" << text.letter;
        }
        EXPECT_TRUE(names.contains("help") && letters.contains('h') && names.contains("version")) << command;
    }
}

TEST(Commands, a_letter_has_the_same_long_name_in_all_commands) {
    // -K of dump is tcpdump's, and verifies VCRC too; -s of daemon is a key of its file.
    const std::set<char> exceptions{'K', 's', 'v', 'q', 'c'};
    std::map<char, std::string_view> names;
    for (const auto& [command, options] : all_commands())
        for (const auto& [text, section] : options) {
            if (text.letter == 0 || exceptions.contains(text.letter)) continue;
            const auto [at, is_new] = names.emplace(text.letter, text.long_name);
            EXPECT_EQ(at->second, text.long_name) << command << " -" << text.letter;
        }
}

}  // namespace
}  // namespace cli::options
