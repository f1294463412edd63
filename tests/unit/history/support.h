#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

#include "history/history.h"
#include "tests/unit/metrics/figures/random_snapshot.h"
#include "tests/unit/metrics/figures/snapshot_text.h"

namespace history::test {

inline constexpr std::int64_t second = 1'000'000'000;
inline constexpr std::int64_t day = 86400 * second;
inline constexpr std::int64_t begin_ns = 1'800'000'000 * second;  ///< some day in 2027
inline constexpr std::int64_t always = INT64_MAX;

/// A folder that is gone afterwards.
class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "history-XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~Folder() {
        std::error_code code;
        std::filesystem::remove_all(path_, code);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }
    const std::string& path() const { return path_; }
    /// Segments' paths, ascending.
    std::vector<std::string> segments() const {
        std::vector<std::string> paths;
        for (const auto& entry : std::filesystem::directory_iterator(path_))
            if (entry.path().extension() == ".rdmahist") paths.push_back(entry.path().string());
        std::sort(paths.begin(), paths.end());
        return paths;
    }

private:
    std::string path_;
};

inline std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
inline void write(const std::string& path, const std::string& octets) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(octets.data(), std::ssize(octets));
}

/// The n-th of a row of intervals of ten seconds; what is in it depends on n alone.
inline history::HistoryInterval interval(std::uint64_t n, std::int64_t start_ns, bool small = true) {
    history::HistoryInterval one;
    one.start_ns = start_ns;
    one.length_ns = 10 * static_cast<std::uint64_t>(second);
    one.frames_end = 100 * n;
    one.crc_verified = n % 2 == 0;
    if (small) {
        one.difference.capture.packets = n;
        one.difference.flows.resize(1);
        one.difference.flows[0].id = n;
        one.difference.flows[0].packets = n * n;
    } else {
        one.difference = metrics::test::RandomSnapshots(n).parts_in_time(1).front();
    }
    return one;
}
inline history::HistoryInterval interval(std::uint64_t n, bool small = true) {
    return interval(n, begin_ns + 10 * second * static_cast<std::int64_t>(n), small);
}

inline std::unique_ptr<history::HistoryWriter> writer(const history::HistoryOptions& options) {
    auto opened = history::HistoryWriter::open(options);
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? std::move(opened).value() : nullptr;
}
inline history::HistoryOptions in(const Folder& folder) {
    history::HistoryOptions options;
    options.directory = folder.path();
    options.sync_each = false;
    return options;
}
inline std::unique_ptr<history::HistoryReader> reader(const Folder& folder) {
    auto opened = history::HistoryReader::open(folder.path());
    EXPECT_TRUE(opened.ok()) << opened.error().text();
    return opened.ok() ? std::move(opened).value() : nullptr;
}
inline std::vector<history::HistoryInterval> read(history::HistoryReader& from, std::int64_t from_ns = INT64_MIN,
                                                  std::int64_t to_ns = always) {
    std::vector<history::HistoryInterval> all;
    const auto done = from.read(from_ns, to_ns, [&all](history::HistoryInterval&& one) {
        all.push_back(std::move(one));
        return true;
    });
    EXPECT_TRUE(done.ok()) << done.error().text();
    return all;
}
/// Which of interval()'s there are, in order.
inline std::vector<std::uint64_t> numbers(const std::vector<history::HistoryInterval>& intervals) {
    std::vector<std::uint64_t> all;
    for (const history::HistoryInterval& one : intervals) all.push_back(one.frames_end / 100);
    return all;
}
inline std::vector<std::uint64_t> numbers(history::HistoryReader& from, std::int64_t from_ns = INT64_MIN,
                                          std::int64_t to_ns = always) {
    return numbers(read(from, from_ns, to_ns));
}
inline std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> all;
    for (; first <= last; ++first) all.push_back(first);
    return all;
}

}  // namespace history::test
