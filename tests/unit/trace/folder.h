#pragma once
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

namespace trace::test {

/// A folder that is gone with the test.
class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "rdmascope-trace-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << name << " cannot be made";
        path_ = name;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string path() const { return path_.string(); }
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    std::size_t files() const {
        std::size_t count = 0;
        for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
        return count;
    }
    /// The only file there is.
    std::string only() const {
        if (files() != 1) return {};
        return std::filesystem::directory_iterator(path_)->path().string();
    }

private:
    std::filesystem::path path_;
};

}  // namespace trace::test
