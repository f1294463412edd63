/// How many threads read which source.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sched.h>
#include <string>
#include <unistd.h>

#include "cli/analysis/options.h"

namespace {

namespace fs = std::filesystem;
using cli::analysis::AnalysisOptions;
using cli::analysis::thread_count;

/// A file with that size and no content: its blocks are not allocated.
class SizedFile {
public:
    explicit SizedFile(std::uintmax_t size) {
        const int file = ::mkstemp(path_.data());
        EXPECT_GE(file, 0);
        ::close(file);
        fs::resize_file(path_, size);
    }
    ~SizedFile() { fs::remove(path_); }
    SizedFile(const SizedFile&) = delete;
    SizedFile& operator=(const SizedFile&) = delete;
    const std::string& path() const { return path_; }

private:
    std::string path_ = (fs::temp_directory_path() / "rdmascope-threads-XXXXXX").string();
};

/// Runs on one processor or on all that this process may use.
class Processors {
public:
    Processors() { EXPECT_EQ(::sched_getaffinity(0, sizeof all_, &all_), 0); }
    ~Processors() { ::sched_setaffinity(0, sizeof all_, &all_); }
    Processors(const Processors&) = delete;
    Processors& operator=(const Processors&) = delete;
    unsigned count() const { return static_cast<unsigned>(CPU_COUNT(&all_)); }
    void keep_one() const {
        cpu_set_t one;
        CPU_ZERO(&one);
        for (int i = 0; i < CPU_SETSIZE; ++i)
            if (CPU_ISSET(i, &all_)) {
                CPU_SET(i, &one);
                break;
            }
        ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    }

private:
    cpu_set_t all_{};
};

TEST(Threads, AreOnePerProcessorForLargeFiles) {
    const Processors processors;
    const SizedFile file(16'000'000);
    AnalysisOptions options;
    options.read_paths = {file.path()};
    EXPECT_EQ(thread_count(options), std::min(processors.count(), 8U));
    processors.keep_one();
    EXPECT_EQ(thread_count(options), 1U);
}

TEST(Threads, OfSeveralFilesDependOnTheirSum) {
    const Processors processors;
    const SizedFile one(8'000'000);
    const SizedFile other(8'000'000);
    AnalysisOptions options;
    options.read_paths = {one.path(), other.path()};
    EXPECT_EQ(thread_count(options), std::min(processors.count(), 8U));
    options.read_paths.pop_back();
    EXPECT_EQ(thread_count(options), 1U);
}

TEST(Threads, AreAsManyAsWereAskedFor) {
    AnalysisOptions options;
    options.threads = 3;
    EXPECT_EQ(thread_count(options), 3U);
}

TEST(Threads, AreOneForAllElse) {
    AnalysisOptions options;
    EXPECT_EQ(thread_count(options), 1U) << "live capture";
    options.read_paths = {"-", "/dev/zero", "/nonexistent"};
    EXPECT_EQ(thread_count(options), 1U);
}

TEST(Threads, DoNotDependOnTheBoundOnFlows) {
    const Processors processors;
    const SizedFile file(16'000'000);
    AnalysisOptions options;
    options.read_paths = {file.path()};
    options.max_flows = 100;
    EXPECT_EQ(thread_count(options), std::min(processors.count(), 8U));
}

}  // namespace
