// Expected readings are those of getopt_long(3) with the same options.
#include "base/option_parser.h"

#include <array>
#include <getopt.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

constexpr std::array options{
    base::OptionSyntax{'v', "verbose", base::OptionValue::none, {}},
    base::OptionSyntax{'q', {}, base::OptionValue::none, {}},
    base::OptionSyntax{'r', "read-file", base::OptionValue::required, "FILE"},
    base::OptionSyntax{'#', "number", base::OptionValue::none, {}},
    base::OptionSyntax{0, "count", base::OptionValue::required, "N"},
    base::OptionSyntax{0, "counter", base::OptionValue::none, {}},
    base::OptionSyntax{0, "events", base::OptionValue::optional, "LIST"},
    base::OptionSyntax{0, "connect", base::OptionValue::optional_path, "SOCKET"},
};

/// Options by their spelling with `=VALUE`, and errors after an exclamation mark.
struct Reading {
    Words steps = {};
    Words operands = {};
};

Reading read(const Words& words, base::ParsingRules rules = {}) {
    base::OptionParser parser(options, words, rules);
    Reading reading;
    for (auto step = parser.next(); step.found || step.error; step = parser.next()) {
        if (step.error)
            reading.steps.push_back("!" + step.error->message);
        else if (step.found->value.empty())
            reading.steps.push_back(base::spelling(options[step.found->index]));
        else
            reading.steps.push_back(base::spelling(options[step.found->index]) + "=" + step.found->value);
    }
    reading.operands = parser.operands();
    return reading;
}

Words steps(const Words& words, base::ParsingRules rules = {}) { return read(words, rules).steps; }

TEST(OptionParser, clusters_end_with_the_letter_that_has_a_value) {
    EXPECT_THAT(steps({"-vq"}), ElementsAre("-v", "-q"));
    EXPECT_THAT(steps({"-vqr", "x"}), ElementsAre("-v", "-q", "-r=x"));
    EXPECT_THAT(steps({"-vrq"}), ElementsAre("-v", "-r=q"));
    EXPECT_THAT(steps({"-r-"}), ElementsAre("-r=-"));
    EXPECT_THAT(steps({"-v#"}), ElementsAre("-v", "-#"));
}

TEST(OptionParser, a_value_is_joined_or_the_next_word_whatever_the_word_looks_like) {
    EXPECT_THAT(steps({"-rx"}), ElementsAre("-r=x"));
    EXPECT_THAT(steps({"-r", "-v"}), ElementsAre("-r=-v"));
    EXPECT_THAT(steps({"-r", "--"}), ElementsAre("-r=--"));
    EXPECT_THAT(steps({"--read-file=x=y"}), ElementsAre("-r=x=y"));
    EXPECT_THAT(steps({"--read-file", "--verbose"}), ElementsAre("-r=--verbose"));
    EXPECT_THAT(steps({"--count="}), ElementsAre("--count"));
    EXPECT_THAT(steps({"--count", ""}), ElementsAre("--count"));
}

TEST(OptionParser, an_optional_value_stands_after_an_equals_sign) {
    EXPECT_THAT(steps({"--events"}), ElementsAre("--events"));
    EXPECT_THAT(steps({"--events=a,b"}), ElementsAre("--events=a,b"));
    const Reading apart = read({"--events", "/a"});
    EXPECT_THAT(apart.steps, ElementsAre("--events"));
    EXPECT_THAT(apart.operands, ElementsAre("/a"));
}

TEST(OptionParser, an_optional_path_may_be_the_next_word_too) {
    EXPECT_THAT(steps({"--connect=x"}), ElementsAre("--connect=x"));
    EXPECT_THAT(steps({"--connect", "/run/x"}), ElementsAre("--connect=/run/x"));
    EXPECT_THAT(steps({"--connect", "./x"}), ElementsAre("--connect=./x"));
    EXPECT_THAT(read({"--connect", "tcp"}).operands, ElementsAre("tcp"));
    EXPECT_THAT(steps({"--connect", "-v"}), ElementsAre("--connect", "-v"));
    EXPECT_THAT(steps({"--connect"}), ElementsAre("--connect"));
}

TEST(OptionParser, options_stand_before_and_after_operands) {
    const Reading reading = read({"a", "-v", "b", "-r", "x", "-", "c"});
    EXPECT_THAT(reading.steps, ElementsAre("-v", "-r=x"));
    EXPECT_THAT(reading.operands, ElementsAre("a", "b", "-", "c"));
}

TEST(OptionParser, two_dashes_end_the_options) {
    const Reading reading = read({"a", "-v", "--", "-q", "--", "--count"});
    EXPECT_THAT(reading.steps, ElementsAre("-v"));
    EXPECT_THAT(reading.operands, ElementsAre("a", "-q", "--", "--count"));
    EXPECT_THAT(read({"--"}).operands, IsEmpty());
}

TEST(OptionParser, the_first_operand_may_end_the_options) {
    const base::ParsingRules rules{.operands_end_options = true};
    const Reading program = read({"-v", "program", "-q", "--", "x"}, rules);
    EXPECT_THAT(program.steps, ElementsAre("-v"));
    EXPECT_THAT(program.operands, ElementsAre("program", "-q", "--", "x"));
    EXPECT_THAT(read({"--", "-q"}, rules).operands, ElementsAre("-q"));
}

TEST(OptionParser, a_beginning_of_one_name_stands_for_the_name) {
    EXPECT_THAT(steps({"--verb"}), ElementsAre("-v"));
    EXPECT_THAT(steps({"--read=x"}), ElementsAre("-r=x"));
    EXPECT_THAT(steps({"--count", "1"}), ElementsAre("--count=1"));
    EXPECT_THAT(steps({"--counte"}), ElementsAre("--counter"));
    EXPECT_THAT(steps({"--coun"}), ElementsAre("!--coun may be --count or --counter"));
    EXPECT_THAT(steps({"--co=1"}), ElementsAre("!--co may be --count, --counter or --connect"));
    EXPECT_THAT(steps({"--verb"}, {.abbreviations = false}),
                ElementsAre("!there is no option --verb, did you mean '--verbose'?"));
}

TEST(OptionParser, says_what_is_wrong) {
    EXPECT_THAT(steps({"-k"}), ElementsAre("!there is no option -k"));
    EXPECT_THAT(steps({"--colour"}), ElementsAre("!there is no option --colour"));
    EXPECT_THAT(steps({"--verbos=1", "--vrebose=1"}),
                ElementsAre("!--verbos takes no value", "!there is no option --vrebose, did you mean '--verbose'?"));
    EXPECT_THAT(steps({"-r"}), ElementsAre("!-r needs a value: FILE"));
    EXPECT_THAT(steps({"--read-file"}), ElementsAre("!--read-file needs a value: FILE"));
    EXPECT_THAT(steps({"--verbose="}), ElementsAre("!--verbose takes no value"));
    EXPECT_THAT(steps({"--=x"}), ElementsAre("!there is no option --"));
}

TEST(OptionParser, goes_on_after_an_error) {
    EXPECT_THAT(steps({"-vkq", "--no", "-v"}),
                ElementsAre("-v", "!there is no option -k", "-q", "!there is no option --no", "-v"));
}

TEST(OptionParser, an_unknown_option_is_reported_as_it_was_typed) {
    base::OptionParser parser(options, {"--vrebose=1", "-k", "-r"});
    EXPECT_EQ(parser.next().error->unknown, "--vrebose");
    EXPECT_EQ(parser.next().error->unknown, "-k");
    EXPECT_EQ(parser.next().error->unknown, std::nullopt);
}

/// The same words read by the C library; a path after --connect is not among them.
Words read_by_getopt(const Words& words) {
    static const std::array<option, 7> longs{{{"verbose", no_argument, nullptr, 'v'},
                                              {"read-file", required_argument, nullptr, 'r'},
                                              {"number", no_argument, nullptr, '#'},
                                              {"count", required_argument, nullptr, 1000},
                                              {"counter", no_argument, nullptr, 1001},
                                              {"events", optional_argument, nullptr, 1002},
                                              {nullptr, 0, nullptr, 0}}};
    Words copies = words;
    copies.insert(copies.begin(), "program");
    std::vector<char*> argv;
    for (std::string& word : copies) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int count = static_cast<int>(copies.size());
    optind = 0;
    opterr = 0;
    Words found;
    for (int answer = 0; (answer = getopt_long(count, argv.data(), ":vqr:#", longs.data(), nullptr)) != -1;) {
        std::string name(1, static_cast<char>(answer));
        if (answer >= 1000) name = longs[static_cast<std::size_t>(answer) - 1000 + 3].name;
        if (answer == '?' || answer == ':') name = "!";
        found.push_back(name + (optarg != nullptr && name != "!" ? "=" + std::string(optarg) : ""));
    }
    found.emplace_back("|");
    for (int i = optind; i < count; ++i) found.emplace_back(argv[static_cast<std::size_t>(i)]);
    return found;
}

Words read_by_parser(const Words& words) {
    base::OptionParser parser(std::span<const base::OptionSyntax>(options).first(7), words);
    Words found;
    for (auto step = parser.next(); step.found || step.error; step = parser.next()) {
        if (step.error) {
            found.emplace_back("!");
            continue;
        }
        const base::OptionSyntax& option = options[step.found->index];
        const bool has_value = !step.found->value.empty();
        const std::string name = option.letter != 0 ? std::string(1, option.letter) : std::string(option.long_name);
        found.push_back(name + (has_value ? "=" + step.found->value : ""));
    }
    found.emplace_back("|");
    found.insert(found.end(), parser.operands().begin(), parser.operands().end());
    return found;
}

TEST(OptionParser, reads_every_line_of_four_words_as_getopt_does) {
    const Words pool{"-v", "-vq",      "-r",      "-vrq",      "-kv",    "-",           "--",       "x",
                     "-#", "--read=y", "--count", "--counter", "--coun", "--verbose=1", "--events", "--events=z"};
    for (std::size_t number = 0; number < pool.size() * pool.size() * pool.size() * pool.size(); ++number) {
        Words words;
        for (std::size_t rest = number, i = 0; i < 4; ++i, rest /= pool.size())
            words.push_back(pool[rest % pool.size()]);
        ASSERT_EQ(read_by_parser(words), read_by_getopt(words)) << testing::PrintToString(words);
    }
}

}  // namespace
}  // namespace base
