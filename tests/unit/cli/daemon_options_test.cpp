// The command line of `daemon`: what each option sets, what goes before what, what is refused.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/daemon/options.h"

namespace cli::daemon {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

std::string mistake(const std::optional<options::UsageError>& error) { return error ? error->message : ""; }

service::Config config_of(const Words& words) {
    DaemonOptions options;
    EXPECT_EQ(mistake(parse_options(words, options)), "");
    const auto config = load_config(options);
    EXPECT_TRUE(config.ok()) << config.error().lines.front();
    return config.ok() ? *config : service::Config{};
}

std::string refused(const Words& words) {
    DaemonOptions options;
    return mistake(parse_options(words, options));
}

Action action_of(const Words& words) {
    DaemonOptions options;
    EXPECT_EQ(mistake(parse_options(words, options)), "");
    return options.action;
}

/// A file of this test alone: tests run next to each other.
class File {
public:
    explicit File(const std::string& content) {
        const int descriptor = mkstemp(path_.data());
        EXPECT_GE(descriptor, 0) << path_;
        close(descriptor);
        std::ofstream(path_) << content;
    }
    ~File() { std::remove(path_.c_str()); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_ = testing::TempDir() + "/rdmascope-daemon-options-XXXXXX";
};

TEST(DaemonOptions, none_are_the_defaults) {
    EXPECT_EQ(config_of({}), service::Config{});
    EXPECT_EQ(action_of({}), Action::run);
    EXPECT_EQ(config_of({"--foreground"}), service::Config{});
}

TEST(DaemonOptions, each_sets_its_key) {
    EXPECT_EQ(config_of({"-i", "eth0", "--interface=en*"}).capture.interfaces, (Words{"eth0", "en*"}));
    EXPECT_EQ(config_of({"--snaplen", "4K"}).capture.snaplen, 4096U);
    EXPECT_EQ(config_of({"-s0"}).capture.snaplen, 0U);
    EXPECT_EQ(config_of({"--prometheus", "[::1]:80"}).prometheus.listen, "[::1]:80");
    EXPECT_EQ(config_of({"--prometheus", "off"}).prometheus.listen, "");
    EXPECT_EQ(config_of({"--socket", "/tmp/s"}).control.socket, "/tmp/s");
    EXPECT_EQ(config_of({"--socket=off"}).control.socket, "");
    EXPECT_EQ(config_of({"--history", "/var/h"}).history.directory, "/var/h");
    EXPECT_EQ(config_of({"--record", "/var/r"}).recorder.directory, "/var/r");
    EXPECT_EQ(config_of({"--log-level", "debug"}).log.level, "debug");
}

TEST(DaemonOptions, a_path_is_taken_from_where_the_user_is) {
    const std::string here = std::filesystem::current_path().string();
    EXPECT_EQ(config_of({"--history", "h"}).history.directory, here + "/h");
    EXPECT_EQ(config_of({"--record", "./a/../r"}).recorder.directory, here + "/r");
    EXPECT_EQ(config_of({"--history", "./off"}).history.directory, here + "/off");
}

TEST(DaemonOptions, what_it_is_to_do) {
    EXPECT_EQ(action_of({"--check"}), Action::check);
    EXPECT_EQ(action_of({"--print-config"}), Action::print_config);
    EXPECT_EQ(action_of({"--version", "--check"}), Action::version);
    EXPECT_EQ(action_of({"--check", "-h"}), Action::help);
}

TEST(DaemonOptions, go_before_the_file) {
    const File file(
        "[capture]\ninterfaces = [\"ib0\"]\nsnaplen = 128\n[history]\ndirectory = \"/h\"\n"
        "[recorder]\ndirectory = \"/r\"\n");
    const service::Config from_file = config_of({"--config", file.path()});
    EXPECT_EQ(from_file.capture.interfaces, Words{"ib0"});
    EXPECT_EQ(from_file.capture.snaplen, 128U);
    const service::Config both = config_of({"-i", "eth0", "--history=off", "--config", file.path()});
    EXPECT_EQ(both.capture.interfaces, Words{"eth0"});
    EXPECT_EQ(both.capture.snaplen, 128U);
    EXPECT_EQ(both.history.directory, "");
    EXPECT_EQ(both.recorder.directory, "/r");
}

TEST(DaemonOptions, mistakes_of_the_file_are_told_when_it_is_read) {
    DaemonOptions options;
    EXPECT_EQ(mistake(parse_options({"--config", "/nonexistent.toml"}, options)), "");
    EXPECT_THAT(load_config(options).error().lines, testing::ElementsAre(HasSubstr("/nonexistent.toml: No such file")));
    const File file("[capture]\nsnaplen = 1\nx = 1\n");
    DaemonOptions other;
    EXPECT_EQ(mistake(parse_options({"--config", file.path()}, other)), "");
    EXPECT_EQ(load_config(other).error().lines.size(), 2U);
}

TEST(DaemonOptions, what_cannot_be_obeyed_says_what_is_wanted) {
    EXPECT_EQ(refused({"--snaplen", "1"}), "-s 1: a size from 96 to \"256KiB\", or 0, is expected");
    EXPECT_THAT(refused({"-i", ""}), HasSubstr("-i '': a name or a pattern"));
    EXPECT_THAT(refused({"-i", "a/b"}), HasSubstr("is expected"));
    EXPECT_THAT(refused({"--prometheus", "localhost"}), HasSubstr("127.0.0.1:14791"));
    EXPECT_THAT(refused({"--prometheus", ""}), HasSubstr("is expected"));
    EXPECT_THAT(refused({"--history", ""}), HasSubstr("a path"));
    EXPECT_THAT(refused({"--socket", "/" + std::string(200, 'x')}), HasSubstr("107 bytes"));
    EXPECT_THAT(refused({"--log-level", "loud"}), HasSubstr("\"warning\""));
    EXPECT_THAT(refused({"--config"}), HasSubstr("needs a value"));
    EXPECT_THAT(refused({"--recrod", "x"}), HasSubstr("did you mean '--record'?"));
    EXPECT_THAT(refused({"udp", "port", "4791"}), HasSubstr("'udp port 4791' is no option"));
    EXPECT_EQ(refused({"--check=yes"}), "--check takes no value");
}

TEST(DaemonOptions, help_has_every_option_and_fits_a_terminal) {
    const std::string help = help_text();
    for (const char* option : {"--config FILE", "--check", "--print-config", "-i, --interface IFACE", "-s, --snaplen",
                               "--prometheus ADDR:PORT", "--socket PATH", "--history DIR", "--record DIR",
                               "--foreground", "--log-level LEVEL", "-h, --help", "--version"})
        EXPECT_THAT(help, HasSubstr(option));
    std::size_t begin = 0;
    for (std::size_t end = help.find('\n'); end != std::string::npos; begin = end + 1, end = help.find('\n', begin))
        EXPECT_LE(end - begin, 110U) << help.substr(begin, end - begin);
}

}  // namespace
}  // namespace cli::daemon
