// The file of settings: what is read and written, what is kept of others', what is told of mistakes.
#include "cli/top/settings_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <unistd.h>

namespace cli::top {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class SettingsFileTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "rdmascope-settings-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        path_ = folder_ / "config" / "rdmascope" / "top.toml";
    }
    void TearDown() override { fs::remove_all(folder_); }

    void put(const std::string& text) const {
        fs::create_directories(path_.parent_path());
        std::ofstream(path_) << text;
    }
    std::string content() const {
        std::ifstream file(path_);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    tui::Settings settings() const { return SettingsFile(path_).read(); }
    std::string complaint() const {
        SettingsFile file(path_);
        file.read();
        return file.complaint();
    }

    fs::path folder_;
    fs::path path_;
};

tui::Settings others() {
    tui::Settings settings;
    settings.columns = {"flow", "latency_p99", "time"};
    settings.sort = "-latency_p99";
    settings.grouping = tui::Grouping::traffic_class;
    settings.window = tui::Window::total;
    settings.theme = "light";
    settings.interval_ns = 2'500'000'000;
    settings.names = false;
    return settings;
}

TEST_F(SettingsFileTest, WithoutAFileAllIsAsUsual) {
    EXPECT_EQ(settings(), tui::Settings{});
    EXPECT_EQ(complaint(), "");
}

TEST_F(SettingsFileTest, WhatIsWrittenIsReadAgain) {
    EXPECT_EQ(SettingsFile(path_).write({}, others()), "");
    EXPECT_EQ(settings(), others());
    EXPECT_EQ(complaint(), "");
}

TEST_F(SettingsFileTest, EveryKeyIsRead) {
    put("columns = ['flow', 'latency_p99', 'time']\nsort = '-latency_p99'\ngroup = 'traffic class'\n"
        "window = 'total'\ntheme = 'light'\ninterval = '2500ms'\nnames = false\n");
    EXPECT_EQ(settings(), others());
}

TEST_F(SettingsFileTest, OnlyWhatHasChangedIsWritten) {
    put("theme = 'classic'\nsort = 'resent'\n");
    tui::Settings began = settings();
    began.sort = "depth";  // as the command line asked for
    tui::Settings now = began;
    now.interval_ns = 500'000'000;
    EXPECT_EQ(SettingsFile(path_).write(began, now), "");
    tui::Settings wanted;
    wanted.theme = "classic";
    wanted.sort = "resent";
    wanted.interval_ns = 500'000'000;
    EXPECT_EQ(settings(), wanted);
}

TEST_F(SettingsFileTest, NothingIsWrittenWhereNothingHasChanged) {
    EXPECT_EQ(SettingsFile(path_).write(others(), others()), "");
    EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SettingsFileTest, TwoProgramsDoNotUndoEachOther) {
    const tui::Settings began;
    tui::Settings one;
    one.theme = "light";
    tui::Settings other;
    other.names = false;
    EXPECT_EQ(SettingsFile(path_).write(began, one), "");
    EXPECT_EQ(SettingsFile(path_).write(began, other), "");
    EXPECT_EQ(settings().theme, "light");
    EXPECT_FALSE(settings().names);
}

TEST_F(SettingsFileTest, KeysOfOthersAreToldAndKept) {
    put("theme = 'light'\nsound = 'loud'\n\n[future]\nx = 1\n");
    EXPECT_EQ(settings().theme, "light");
    EXPECT_THAT(complaint(), HasSubstr("is no setting"));
    tui::Settings now = settings();
    now.names = false;
    EXPECT_EQ(SettingsFile(path_).write(settings(), now), "");
    EXPECT_THAT(content(), HasSubstr("loud"));
    EXPECT_THAT(content(), HasSubstr("future"));
    EXPECT_EQ(settings(), now);
}

TEST_F(SettingsFileTest, BadValuesAreLeftOutEachByItself) {
    for (const char* line : {"columns = 3", "columns = ['flow', 'tiem']", "columns = [1]", "sort = 'goodputt'",
                             "sort = 1", "group = 'all'", "window = 'both'", "theme = 'dark'", "interval = '10ms'",
                             "interval = 1", "interval = '11s'", "names = 'yes'"}) {
        put(std::string("# one\n") + line + "\n" + (std::string(line).starts_with("theme") ? "names" : "theme") +
            (std::string(line).starts_with("theme") ? " = false\n" : " = 'light'\n"));
        tui::Settings wanted;
        if (std::string(line).starts_with("theme"))
            wanted.names = false;
        else
            wanted.theme = "light";
        EXPECT_EQ(settings(), wanted) << line;
        EXPECT_THAT(complaint(), HasSubstr("top.toml: line 2: ")) << line;
        EXPECT_THAT(complaint(), HasSubstr("is expected")) << line;
    }
}

TEST_F(SettingsFileTest, WhatIsNoTomlIsToldAndNotWrittenOver) {
    const std::string text = "theme = 'light\nnames = false\n";
    put(text);
    EXPECT_EQ(settings(), tui::Settings{});
    EXPECT_THAT(complaint(), HasSubstr("top.toml: line 1: "));
    EXPECT_THAT(complaint(), Not(HasSubstr("\n")));
    EXPECT_THAT(SettingsFile(path_).write({}, others()), HasSubstr("line 1"));
    EXPECT_EQ(content(), text);
}

TEST_F(SettingsFileTest, ALinkToAFileElsewhereStaysOne) {
    const fs::path elsewhere = folder_ / "dotfiles.toml";
    std::ofstream(elsewhere) << "theme = 'classic'\n";
    fs::create_directories(path_.parent_path());
    fs::create_symlink(elsewhere, path_);
    EXPECT_EQ(SettingsFile(path_).write({}, others()), "");
    EXPECT_TRUE(fs::is_symlink(path_));
    EXPECT_EQ(SettingsFile(elsewhere).read(), others());
}

TEST_F(SettingsFileTest, WhereNothingCanBeWrittenTheReasonIsTold) {
    std::ofstream(folder_ / "config") << "a file where a directory is expected";
    EXPECT_THAT(SettingsFile(path_).write({}, others()), HasSubstr("top.toml: "));
    EXPECT_EQ(settings(), tui::Settings{});
}

TEST_F(SettingsFileTest, NothingIsLeftBesideTheFile) {
    EXPECT_EQ(SettingsFile(path_).write({}, others()), "");
    EXPECT_EQ(std::distance(fs::directory_iterator(path_.parent_path()), fs::directory_iterator()), 1);
}

/// Sets a variable for as long as it lives; empty: not at all.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* old = std::getenv(name)) before_ = old;
        set(value);
    }
    ~Variable() { set(before_ ? before_->c_str() : nullptr); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    void set(const char* value) const { value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_); }
    const char* name_;
    std::optional<std::string> before_;
};

TEST(SettingsFilePlace, IsThatOfTheSpecificationOfBaseDirectories) {
    const Variable home("HOME", "/home/alice");
    {
        const Variable config("XDG_CONFIG_HOME", "/srv/alice");
        EXPECT_EQ(SettingsFile::usual_path(), "/srv/alice/rdmascope/top.toml");
    }
    for (const char* none : {static_cast<const char*>(nullptr), "", "relative"}) {
        const Variable config("XDG_CONFIG_HOME", none);
        EXPECT_EQ(SettingsFile::usual_path(), "/home/alice/.config/rdmascope/top.toml");
    }
    const Variable config("XDG_CONFIG_HOME", nullptr);
    const Variable nobody("HOME", nullptr);
    EXPECT_EQ(SettingsFile::usual_path(), "");
    EXPECT_EQ(SettingsFile("").write({}, others()), "");
}

}  // namespace
}  // namespace cli::top
