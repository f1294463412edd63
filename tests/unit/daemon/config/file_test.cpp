// A file as a whole: several mistakes, unknown names, syntax, contradictions, and the reference.
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

#include "daemon/config/config_file.h"
#include "daemon/config/config_table.h"
#include "tests/support/pcaps.h"

namespace service {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> mistakes(std::string_view toml) {
    const auto read = parse_config(toml, "f");
    return read.ok() ? std::vector<std::string>{} : read.error().lines;
}

std::string content(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(ConfigFile, nothing_is_the_defaults) {
    for (const char* empty : {"", "\n", "# nothing\n", "[capture]\n", "\xef\xbb\xbf[log]\r\n"}) {
        const auto read = parse_config(empty, "f");
        ASSERT_TRUE(read.ok()) << empty;
        EXPECT_EQ(*read, Config{});
    }
}

TEST(ConfigFile, all_mistakes_are_told_in_the_order_of_the_file) {
    EXPECT_THAT(mistakes("[log]\n"
                         "level = 5\n"
                         "[capture]\n"
                         "snaplenn = 1\n"
                         "  snaplen = 5\n"
                         "[prometeus]\n"),
                ElementsAre(R"(f:2:9: log.level: 5 is given, "error", "warning", "info" or "debug" is expected)",
                            "f:4:1: capture.snaplenn: there is no such key, did you mean 'snaplen'?",
                            R"(f:5:13: capture.snaplen: 5 is given, a size from 96 to "256KiB", or 0, is expected)",
                            "f:6:2: prometeus: there is no such section, did you mean 'prometheus'?"));
}

TEST(ConfigFile, what_is_known_elsewhere_is_named) {
    EXPECT_THAT(mistakes("snaplen = 192\n"),
                ElementsAre("f:1:1: snaplen: this key is in no section, it belongs under [capture]"));
    EXPECT_THAT(mistakes("[log]\nsnaplen = 192\n"),
                ElementsAre("f:2:1: log.snaplen: there is no such key, did you mean 'capture.snaplen'?"));
    EXPECT_THAT(mistakes("[[recorder.triggers]]\n"),
                ElementsAre(HasSubstr("recorder.triggers: there is no such key, did you mean 'trigger'?")));
    EXPECT_THAT(mistakes("[xyzzy]\n"), ElementsAre("f:1:2: xyzzy: there is no such section"));
    EXPECT_THAT(mistakes("capture.snaplen = 96\nlog = 3\n"),
                ElementsAre("f:2:1: log: 3 is given, a section [log] is expected"));
    EXPECT_THAT(mistakes("[[log]]\n"), ElementsAre(HasSubstr("log: a list is given, a section [log] is expected")));
}

TEST(ConfigFile, an_element_of_a_list_is_pointed_at) {
    EXPECT_THAT(
        mistakes("[capture]\ninterfaces = [\"eth0\",\n  \"a/b\"]\n"),
        ElementsAre(
            R"(f:3:3: capture.interfaces: "a/b" is given, a list of names such as ["eth0", "en*"] is expected)"));
}

TEST(ConfigFile, syntax_has_its_place) {
    EXPECT_THAT(mistakes("[log]\nlevel = \n"), ElementsAre(StartsWith("f:2:9: this is no TOML: ")));
    EXPECT_THAT(mistakes("[log\n"), ElementsAre(StartsWith("f:1:5: this is no TOML: ")));
    EXPECT_THAT(mistakes("[log]\nlevel = \"info\"\nlevel = \"info\"\n"), ElementsAre("f:3:9: 'level' is given twice"));
    EXPECT_THAT(mistakes("[log]\n[capture]\n[log]\n"), ElementsAre(HasSubstr("'log' is given twice")));
    EXPECT_THAT(mistakes("[log]\nlevel = \"\xff\"\n"), ElementsAre(StartsWith("f:2:")));
    EXPECT_THAT(mistakes("[a]\nb = {c = {d = "), ElementsAre(StartsWith("f:2:")));
}

TEST(ConfigFile, what_is_hostile_stays_one_short_line) {
    const std::string key = fmt::format("\"\\u001b[31m{}\"", std::string(5000, 'x'));
    for (const char* form : {"[{}]\n", "[log]\n{} = 1\n", "[log]\nlevel = {}\n", "[capture]\ninterfaces = [{}]\n"}) {
        const auto lines = mistakes(fmt::format(fmt::runtime(form), key));
        ASSERT_EQ(lines.size(), 1U);
        EXPECT_LT(lines.front().size(), 300U);
        EXPECT_EQ(lines.front().find('\x1b'), std::string::npos);
    }
    EXPECT_EQ(mistakes(std::string(1000, '[')).size(), 1U);
    EXPECT_EQ(mistakes("a = " + std::string(100'000, '[')).size(), 1U);
}

TEST(ConfigFile, every_beginning_of_a_file_is_survived) {
    const std::string reference = content(support::pcaps() + "/../daemon/systemd/rdmascope.toml");
    ASSERT_FALSE(reference.empty());
    for (std::size_t length = 0; length < reference.size(); ++length)
        for (const std::string& line : mistakes(std::string_view(reference).substr(0, length)))
            ASSERT_THAT(line, StartsWith("f:"));
}

TEST(Contradictions, are_told_where_they_are_written) {
    EXPECT_THAT(
        mistakes("[engine]\ninterval = \"3s\"\n[history]\ninterval = \"10s\"\n"),
        ElementsAre("f:4:12: history.interval: \"10s\" is given, a multiple of engine.interval, which is \"3s\", "
                    "is expected"));
    EXPECT_THAT(mistakes("[engine]\ninterval = \"3s\"\n"), ElementsAre(StartsWith("f:2:12: history.interval: ")));
    EXPECT_THAT(mistakes("[capture]\ninterfaces = []\n"), ElementsAre(HasSubstr("there is nothing to capture from")));
    EXPECT_TRUE(mistakes("[capture]\ninterfaces = []\nverbs_devices = [\"mlx5_0\"]\n").empty());
    EXPECT_THAT(mistakes("[recorder]\nmax_file_size = \"1MiB\"\n"),
                ElementsAre("f:2:17: recorder.max_file_size: \"1MiB\" is given, at least recorder.memory, which is "
                            "\"64MiB\", is expected"));
}

TEST(Contradictions, of_traces_and_threads) {
    EXPECT_THAT(mistakes("[engine]\nthreads = 4\n[traces]\nprograms = true\n"),
                ElementsAre("f:2:11: engine.threads: 4 is given, 1 is expected where traces.programs is set"));
    EXPECT_THAT(mistakes("[engine]\nthreads = 2\n[traces]\nkernel_events = [\"rdma_cma\"]\n"),
                ElementsAre(HasSubstr("where traces.kernel_events is set")));
    EXPECT_TRUE(mistakes("[engine]\nthreads = 1\n[traces]\nprograms = true\n").empty());
    EXPECT_TRUE(mistakes("[engine]\nthreads = 4\n").empty());
}

TEST(Contradictions, are_not_told_of_a_key_that_is_wrong_by_itself) {
    EXPECT_EQ(mistakes("[engine]\ninterval = 3\n[history]\ninterval = \"1500ms\"\n").size(), 1U);
    EXPECT_EQ(mistakes("[[recorder.trigger]]\nname = \"a b\"\nwhen = 5\n").size(), 2U);
}

TEST(Contradictions, of_triggers) {
    EXPECT_THAT(mistakes("[[recorder.trigger]]\n"),
                ElementsAre("f:1:1: recorder.trigger[0]: a name is required",
                            "f:1:1: recorder.trigger[0]: a condition is required: when or verdict"));
    EXPECT_THAT(mistakes("[[recorder.trigger]]\nname = \"a\"\nwhen = \"x > 1\"\nverdict = \"rnr\"\n"),
                ElementsAre(HasSubstr("recorder.trigger[0]: when and verdict are given, only one is allowed")));
    EXPECT_THAT(mistakes("[[recorder.trigger]]\nname = \"a\"\nwhen = \"x > 1\"\n"
                         "[[recorder.trigger]]\nname = \"a\"\nwhen = \"y > 1\"\n"),
                ElementsAre("f:5:8: recorder.trigger[1].name: \"a\" is the name of another trigger"));
    EXPECT_THAT(mistakes("[recorder.trigger]\nname = \"a\"\n"),
                ElementsAre(HasSubstr("a table is given, tables [[recorder.trigger]] are expected")));
    EXPECT_THAT(mistakes("[recorder]\ntrigger = [1]\n"),
                ElementsAre(HasSubstr("tables [[recorder.trigger]] are expected")));
    for (const char* name : {"", "a/b", "a.b", "a b", "\\u00e9", "123456789012345678901234567890123"})
        EXPECT_THAT(mistakes(fmt::format("[[recorder.trigger]]\nwhen = \"x > 1\"\nname = \"{}\"\n", name)),
                    ElementsAre(HasSubstr("a name of up to 32 letters")))
            << name;
    std::string many;
    for (int i = 0; i < 65; ++i) many += fmt::format("[[recorder.trigger]]\nname = \"n{}\"\nverdict = \"rnr\"\n", i);
    EXPECT_THAT(mistakes(many), ElementsAre(HasSubstr("65 triggers are given, at most 64 are allowed")));
}

TEST(Contradictions, of_a_struct) {
    EXPECT_TRUE(contradictions(Config{}).empty());
    Config config;
    config.engine.interval_ns = 3'000'000'000;
    config.recorder.triggers.push_back({"a", "", ""});
    EXPECT_THAT(contradictions(config),
                ElementsAre(StartsWith("history.interval: "), StartsWith("recorder.trigger[0]: ")));
}

TEST(Contradictions, of_rows_for_clickhouse) {
    Config config;
    config.clickhouse.interval_ns = 2'500'000'000;
    EXPECT_TRUE(contradictions(config).empty()) << "without a URL, no rows are sent";
    config.clickhouse.url = "http://127.0.0.1:8123";
    EXPECT_THAT(contradictions(config),
                ElementsAre("clickhouse.spool: a folder is required where clickhouse.url is set",
                            StartsWith("clickhouse.interval: ")));
    config.clickhouse.spool = "/var/spool/rdmascope";
    config.clickhouse.interval_ns = 2 * config.engine.interval_ns;
    EXPECT_TRUE(contradictions(config).empty());
    config.clickhouse.jsonl = "/run/rdmascope/rows.jsonl";
    EXPECT_THAT(contradictions(config), ElementsAre("clickhouse.url: rows go to a server or to a file, not to both"));
    config.clickhouse.url.clear();
    EXPECT_TRUE(contradictions(config).empty());
    config.clickhouse.spool.clear();
    EXPECT_THAT(contradictions(config),
                ElementsAre("clickhouse.spool: a folder is required where clickhouse.jsonl is set"));
}

TEST(ReadConfig, says_why_a_file_cannot_be_read) {
    EXPECT_THAT(read_config("/nonexistent/f.toml").error().lines, ElementsAre(HasSubstr("No such file")));
    EXPECT_THAT(read_config("/").error().lines,
                ElementsAre(HasSubstr("/: is a directory, and a regular file is expected")));
    EXPECT_THAT(read_config("/dev/zero").error().lines, ElementsAre(HasSubstr("/dev/zero: is a device")));
    const std::string path = testing::TempDir() + "/rdmascope-config-test.toml";
    std::ofstream(path) << std::string(2 << 20, '#');
    EXPECT_THAT(read_config(path).error().lines, ElementsAre(HasSubstr("this is no configuration")));
    std::ofstream(path) << "[log]\nlevel = \"debug\"\n";
    const auto read = read_config(path);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(read->log.level, "debug");
    std::ofstream(path) << "[log]\nlevel = 1\n";
    EXPECT_THAT(read_config(path).error().lines, ElementsAre(StartsWith(path + ":2:9: log.level: ")));
    std::remove(path.c_str());
}

/// The reference with the mark taken off every key.
std::string uncommented() { return std::regex_replace(config_reference(), std::regex("\n#([a-z])"), "\n$1"); }

TEST(Reference, is_complete_and_with_the_marks_taken_off_it_is_the_defaults) {
    const std::string file = uncommented();
    const auto read = parse_config(file, "f");
    ASSERT_TRUE(read.ok()) << testing::PrintToString(read.error().lines);
    EXPECT_EQ(*read, Config{});
    for (const Key& key : keys())
        EXPECT_TRUE(key.section == trigger_section || file.find(fmt::format("\n{} = ", key.name)) != std::string::npos)
            << key.path();
    // As it is, it changes nothing.
    const auto as_it_is = parse_config(config_reference(), "f");
    ASSERT_TRUE(as_it_is.ok());
    EXPECT_EQ(*as_it_is, Config{});
}

TEST(Reference, every_value_is_read_from_it) {
    // Each line alone, with another value: the reference names keys that are obeyed, in their sections.
    std::istringstream lines(uncommented());
    std::string section;
    std::size_t found = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with('[')) section = line;
        if (line.empty() || line.front() < 'a' || line.front() > 'z') continue;
        const std::string key = line.substr(0, line.find(' '));
        EXPECT_EQ(mistakes(section + "\n" + key + " = 1979-05-27\n").size(), 1U) << line;
        ++found;
    }
    EXPECT_EQ(found + 3, keys().size());
}

TEST(Reference, its_examples_of_triggers_are_good) {
    const auto read = parse_config(std::regex_replace(config_reference(), std::regex("\n#     "), "\n"), "f");
    ASSERT_TRUE(read.ok()) << testing::PrintToString(read.error().lines);
    EXPECT_EQ(read->recorder.triggers.size(), 3U);
}

TEST(Reference, fits_a_terminal) {
    std::istringstream lines(config_reference());
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(Manual, is_what_the_table_says) {
    const std::string page = content(support::pcaps() + "/../docs/man/rdmascope.toml.5");
    EXPECT_THAT(page, HasSubstr(config_manual())) << "copy what follows into the page:\n" << config_manual();
}

TEST(Manual, begins_no_line_with_what_roff_takes_for_a_request) {
    std::istringstream lines(config_manual());
    for (std::string line; std::getline(lines, line);)
        EXPECT_TRUE(line.starts_with(".SS ") || line == ".TP" || line.starts_with(".B ") ||
                    (line.front() != '.' && line.front() != '\''))
            << line;
}

TEST(InstalledFiles, are_good) {
    const std::string root = support::pcaps() + "/../daemon/systemd/";
    const auto service_file = read_config(root + "rdmascope.toml");
    ASSERT_TRUE(service_file.ok()) << testing::PrintToString(service_file.error().lines);
    EXPECT_EQ(service_file->history.directory, "/var/lib/rdmascope/history");
    EXPECT_EQ(content(support::pcaps() + "/../docs/rdmascope.toml"), config_reference())
        << "rdmascope daemon --print-config > docs/rdmascope.toml";
}

}  // namespace
}  // namespace service
