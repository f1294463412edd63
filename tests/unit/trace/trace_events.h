#pragma once
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "tests/support/pcaps.h"
#include "trace/perf/format.h"

namespace trace::test {

/// The recorded format files, by `events/rdma_core/cq_alloc/format`.
inline std::map<std::string, std::string> recorded_formats() {
    std::ifstream file(support::pcaps() + "/trace-events/formats.txt");
    std::map<std::string, std::string> formats;
    std::string line;
    std::string* into = nullptr;
    while (std::getline(file, line)) {
        if (line.starts_with("=== "))
            into = &formats[line.substr(4)];
        else if (into != nullptr)
            *into += line + "\n";
    }
    return formats;
}

inline Format recorded_format(const std::string& group, const std::string& name) {
    const std::string text = recorded_formats()["events/" + group + "/" + name + "/format"];
    auto format = Format::parse(text);
    EXPECT_TRUE(format.ok()) << name << ": " << (format.ok() ? "" : format.error().text());
    return format.ok() ? std::move(*format) : Format();
}

/// A record's octets, written at places that the test gives, not those that a Format knows.
class RecordBytes {
public:
    explicit RecordBytes(std::size_t size) : bytes_(size, '\0') {}
    template <class T>
    RecordBytes& put(std::size_t offset, T value) {
        std::memcpy(bytes_.data() + offset, &value, sizeof value);
        return *this;
    }
    RecordBytes& put_text(std::size_t offset, std::string_view text) {
        std::memcpy(bytes_.data() + offset, text.data(), text.size());
        return *this;
    }
    base::Bytes bytes() const { return std::as_bytes(std::span(bytes_)); }

private:
    std::string bytes_;
};

}  // namespace trace::test
