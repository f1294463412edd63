#pragma once
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "capture/files/file_source.h"

namespace capture::test {

/// A directory that goes away with the test.
class Directory {
public:
    Directory() {
        std::string name = (std::filesystem::temp_directory_path() / "rdmascope-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~Directory() { std::filesystem::remove_all(path_); }
    Directory(const Directory&) = delete;
    Directory& operator=(const Directory&) = delete;
    std::string operator/(std::string_view name) const { return (path_ / name).string(); }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

inline void save(const std::string& path, std::string_view content) {
    std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}
inline std::string load(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Makes files octet by octet in the byte order asked for.
class Maker {
public:
    explicit Maker(bool big_endian = false) : big_(big_endian) {}
    Maker& u8(unsigned v) { return number(v, 1); }
    Maker& u16(unsigned v) { return number(v, 2); }
    Maker& u32(std::uint64_t v) { return number(v, 4); }
    Maker& u64(std::uint64_t v) { return number(v, 8); }
    Maker& text(std::string_view v) {
        out_ += v;
        return *this;
    }
    Maker& pad() {
        while (out_.size() % 4 != 0) out_ += '\0';
        return *this;
    }
    const std::string& str() const { return out_; }
    bool big() const { return big_; }

    // pcap
    Maker& pcap_header(std::uint32_t magic = 0xa1b2c3d4, std::uint32_t network = 1, unsigned minor = 4) {
        return u32(magic).u16(2).u16(minor).u32(0).u32(0).u32(65535).u32(network);
    }
    Maker& record(std::uint64_t sec, std::uint64_t fraction, std::string_view data, std::uint64_t on_wire) {
        return u32(sec).u32(fraction).u32(data.size()).u32(on_wire).text(data);
    }

    // pcapng
    Maker& block(std::uint32_t type, std::string_view body) {
        const std::uint64_t length = 12 + (body.size() + 3) / 4 * 4;
        return u32(type).u32(length).text(body).pad().u32(length);
    }
    Maker& section(std::string_view options = {}) {
        return block(0x0a0d0d0a, part().u32(0x1a2b3c4d).u16(1).u16(0).u64(~std::uint64_t{0}).text(options).str());
    }
    Maker& interface(unsigned link_type, std::uint32_t snaplen = 0, std::string_view options = {}) {
        return block(1, part().u16(link_type).u16(0).u32(snaplen).text(options).str());
    }
    Maker& enhanced(std::uint32_t id, std::uint64_t ticks, std::string_view data, std::uint64_t on_wire,
                    std::string_view options = {}) {
        return block(6, part()
                            .u32(id)
                            .u32(ticks >> 32)
                            .u32(ticks & 0xffffffff)
                            .u32(data.size())
                            .u32(on_wire)
                            .text(data)
                            .pad()
                            .text(options)
                            .str());
    }
    Maker& option(unsigned code, std::string_view value) {
        return u16(code).u16(static_cast<unsigned>(value.size())).text(value).pad();
    }
    /// An empty one of the same byte order.
    Maker part() const { return Maker(big_); }

private:
    Maker& number(std::uint64_t value, int octets) {
        for (int i = 0; i < octets; ++i) out_ += static_cast<char>(value >> 8 * (big_ ? octets - 1 - i : i) & 0xff);
        return *this;
    }
    bool big_;
    std::string out_ = {};
};

/// A frame with its octets owned.
struct Kept {
    std::string bytes;
    std::uint32_t wire_length;
    unsigned link_type;
    wire::Direction direction;
    std::uint32_t interface;
    std::int64_t time_ns;
    std::uint64_t number;
    std::string comment;

    bool operator==(const Kept&) const = default;
};

inline Kept keep(const wire::Frame& f) {
    return {std::string(reinterpret_cast<const char*>(f.bytes.data()), f.bytes.size()),
            f.wire_length,
            static_cast<unsigned>(f.link_type),
            f.direction,
            f.interface,
            f.time_ns,
            f.number,
            std::string(f.comment)};
}
inline std::string_view text_of(const wire::Frame& f) {
    return {reinterpret_cast<const char*>(f.bytes.data()), f.bytes.size()};
}

struct Contents {
    std::vector<Kept> frames = {};
    std::vector<InterfaceInfo> interfaces = {};
    std::vector<SectionInfo> sections = {};
    ReadStatus status = ReadStatus::error;
    std::string error = {};
    std::uint64_t offset = 0;
    bool opened = false;
};

/// All there is in a file, by next() or by batches of `batch` frames.
inline Contents read_all(const std::string& path, const FileOptions& options = {}, std::size_t batch = 0) {
    Contents all;
    auto source = open_file(path, options);
    if (!source.ok()) {
        all.error = source.error().text();
        return all;
    }
    all.opened = true;
    std::vector<wire::Frame> frames(std::max<std::size_t>(batch, 1));
    for (;;) {
        Batch got;
        if (batch > 0) {
            got = (*source)->next_batch(frames);
        } else {
            got.status = (*source)->next(frames.front());
            got.count = got.status == ReadStatus::frame ? 1 : 0;
        }
        for (std::size_t i = 0; i < got.count; ++i) all.frames.push_back(keep(frames[i]));
        if (got.status != ReadStatus::frame) {
            all.status = got.status;
            break;
        }
    }
    if (all.status == ReadStatus::error) {
        all.error = (*source)->error().text();
        all.offset = (*source)->error().offset.value_or(0);
        wire::Frame again;
        EXPECT_EQ((*source)->next(again), ReadStatus::error);
    }
    all.interfaces = (*source)->interfaces();
    const auto sections = (*source)->sections();
    all.sections.assign(sections.begin(), sections.end());
    return all;
}

inline Contents read_text(std::string_view content, const FileOptions& options = {}, std::size_t batch = 0) {
    const Directory directory;
    const std::string path = directory / "capture";
    save(path, content);
    return read_all(path, options, batch);
}

}  // namespace capture::test
