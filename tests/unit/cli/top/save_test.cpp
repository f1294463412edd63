// What S saves: the document of `flows --json`, the picture, and never over something else.
#include "cli/top/save.h"

#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/support/fake_feed.h"

namespace cli::top {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::time_t moment = 1'795'255'200;

class Save : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "rdmascope-save-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        std::tm local{};
        ::localtime_r(&moment, &local);
        std::array<char, 64> name{};
        std::strftime(name.data(), name.size(), "rdmascope-top-%Y%m%d-%H%M%S", &local);
        base_ = folder_ / name.data();
        feed_.show_all();
        settings_.window = tui::Window::total;
        grid_.text(0, 0, "the picture");
    }
    void TearDown() override { fs::remove_all(folder_); }

    Saved save_now() {
        tui::Model model(settings_, feed_, nullptr, fields_);
        model.refresh(0);
        return save(model.state(), grid_, moment, folder_.string());
    }
    static std::string content(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    fs::path folder_;
    fs::path base_;
    dissect::FieldRegistry fields_;
    support::FakeFeed feed_ = support::FakeFeed::of_capture("rxe-rping.pcap", 1'000'000'000);
    tui::Settings settings_ = {};
    tui::Grid grid_{20, 2};
};

TEST_F(Save, TheWholeIsWhatTheCaptureHolds) {
    const Saved saved = save_now();
    EXPECT_FALSE(saved.failed);
    EXPECT_THAT(saved.message, HasSubstr(base_.filename().string() + ".json"));
    const auto document = nlohmann::json::parse(content(base_.string() + ".json"));
    const metrics::Snapshot& total = feed_.readings.back()->total;
    EXPECT_EQ(document["capture"]["packets"], feed_.frames.size());
    ASSERT_EQ(document["flows"].size(), total.flows.size());
    for (std::size_t i = 0; i < total.flows.size(); ++i) {
        EXPECT_EQ(document["flows"][i]["id"], total.flows[i].id);
        EXPECT_EQ(document["flows"][i]["packets"], total.flows[i].packets);
    }
    EXPECT_EQ(content(base_.string() + ".txt"), grid_.plain());
}

TEST_F(Save, AnIntervalSaysWhichOneItIs) {
    settings_.window = tui::Window::interval;
    feed_.state.at_end = false;  // where figures are of the whole, whatever was chosen
    EXPECT_FALSE(save_now().failed);
    const auto document = nlohmann::json::parse(content(base_.string() + ".json"));
    const tui::Reading& reading = *feed_.readings.back();
    ASSERT_EQ(document["flows"].size(), reading.interval.flows.size());
    for (const auto& flow : document["flows"]) {
        EXPECT_EQ(flow["interval"]["start_ns"], reading.start_ns);
        EXPECT_EQ(flow["interval"]["length_ns"], reading.length_ns);
    }
}

TEST_F(Save, NothingIsWrittenOver) {
    std::ofstream(base_.string() + ".txt") << "mine";
    EXPECT_FALSE(save_now().failed);
    EXPECT_FALSE(save_now().failed);
    EXPECT_EQ(content(base_.string() + ".txt"), "mine");
    EXPECT_FALSE(fs::exists(base_.string() + ".json"));
    for (const char* suffix : {"-2", "-3"})
        for (const char* ending : {".json", ".txt"}) EXPECT_TRUE(fs::exists(base_.string() + suffix + ending));
}

TEST_F(Save, ErrorsSayWhereAndWhy) {
    fs::remove_all(folder_);
    const Saved saved = save_now();
    EXPECT_TRUE(saved.failed);
    EXPECT_THAT(saved.message, HasSubstr(folder_.string() + ": No such file or directory"));
}

TEST_F(Save, WithoutAReadingThereIsNothing) {
    support::FakeFeed silent;
    tui::Model model(settings_, silent, nullptr, fields_);
    model.refresh(0);
    EXPECT_TRUE(save(model.state(), grid_, moment, folder_.string()).failed);
    EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace cli::top
