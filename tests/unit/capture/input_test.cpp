#include <algorithm>
#include <atomic>
#include <ctime>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <lz4frame.h>
#include <sys/stat.h>
#include <thread>
#include <utime.h>
#include <zlib.h>
#include <zstd.h>

#include "support.h"

namespace capture::test {
namespace {

using testing::HasSubstr;

std::string pcap_of(int frames) {
    Maker file;
    file.pcap_header();
    for (int i = 0; i < frames; ++i) {
        const std::string data(static_cast<std::size_t>(i * 37 % 9000), static_cast<char>(i));
        file.record(static_cast<std::uint64_t>(i), 5, data, data.size() + 4);
    }
    return file.str();
}

std::string pcapng_of(int frames) {
    Maker file(true);
    file.section().interface(1);
    for (int i = 0; i < frames; ++i) {
        const std::string data(static_cast<std::size_t>(i * 37 % 9000), static_cast<char>(i));
        const std::string options = i % 3 == 0 ? file.part().option(1, "frame " + std::to_string(i)).str() : "";
        file.enhanced(0, static_cast<std::uint64_t>(i), data, data.size(), options);
        if (i % 5 == 0) file.block(0x77, data);
    }
    return file.str();
}

std::string gzip(std::string_view plain) {
    z_stream stream = {};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(deflateBound(&stream, plain.size()) + 32, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}
std::string zstd(std::string_view plain) {
    std::string out(ZSTD_compressBound(plain.size()), '\0');
    out.resize(ZSTD_compress(out.data(), out.size(), plain.data(), plain.size(), 3));
    return out;
}
std::string lz4(std::string_view plain) {
    std::string out(LZ4F_compressFrameBound(plain.size(), nullptr), '\0');
    out.resize(LZ4F_compressFrame(out.data(), out.size(), plain.data(), plain.size(), nullptr));
    return out;
}

void expect_same(const Contents& got, const Contents& reference) {
    EXPECT_EQ(got.status, reference.status) << got.error;
    ASSERT_EQ(got.frames.size(), reference.frames.size());
    EXPECT_TRUE(got.frames == reference.frames);
}

TEST(Input, windows_and_buffers_of_any_size_see_the_same) {
    for (const std::string& content : {pcap_of(600), pcapng_of(600)}) {
        const Contents reference = read_text(content, {.access = Access::mapped});
        ASSERT_EQ(reference.frames.size(), 600U);
        for (const std::size_t octets : std::initializer_list<std::size_t>{1, 4096, 5000, 8192, 65536})
            for (const std::size_t batch : std::initializer_list<std::size_t>{0, 1, 7, 256})
                for (const Access access : {Access::mapped, Access::read})
                    expect_same(
                        read_text(content, {.access = access, .window_octets = octets, .buffer_octets = octets}, batch),
                        reference);
    }
}

TEST(Input, views_of_a_batch_stay_valid_until_the_next) {
    const Directory directory;
    const std::string path = directory / "capture";
    save(path, pcapng_of(500));
    const Contents reference = read_all(path);
    auto source = open_file(path, {.access = Access::read, .buffer_octets = 20'000});
    ASSERT_TRUE(source.ok());
    std::vector<wire::Frame> frames(64);
    std::size_t seen = 0;
    for (Batch batch = (*source)->next_batch(frames); batch.count > 0; batch = (*source)->next_batch(frames))
        for (std::size_t i = 0; i < batch.count; ++i) EXPECT_EQ(keep(frames[i]), reference.frames[seen++]);
    EXPECT_EQ(seen, 500U);
}

/// RFC 8878 section 3.1.2.
std::string skippable(std::size_t octets, char kind = '\x50') {
    std::string frame = kind + std::string("\x2a\x4d\x18");
    for (unsigned i = 0; i < 4; ++i) frame += static_cast<char>(octets >> 8 * i & 0xff);
    return frame + std::string(octets, 'm');
}

TEST(Input, skippable_frames_may_come_first) {
    const std::string content = pcap_of(200);
    const Contents reference = read_text(content, {});
    for (const auto& compress : {&zstd, &lz4}) {
        const std::string packed = compress(content);
        for (const std::string& first : {skippable(0), skippable(4), skippable(300'000, '\x5f'),
                                         skippable(4) + skippable(100, '\x5e'), skippable(1'000'000)})
            for (const Access access : {Access::mapped, Access::read})
                expect_same(read_text(first + packed, {.access = access}), reference);
    }
}

TEST(Input, skippable_frames_alone_are_no_capture) {
    for (const std::string& content :
         {skippable(4), skippable(4) + "more", skippable(100).substr(0, 20),
          std::string("\x50\x2a\x4d\x18\xff\xff\xff\xff", 8) + zstd(pcap_of(2)), skippable(4) + pcap_of(2)}) {
        const Contents got = read_text(content, {});
        EXPECT_NE(got.error, "");
        EXPECT_EQ(got.frames.size(), 0U);
    }
}

TEST(Input, a_zstd_window_that_is_too_large_is_explained) {
    // RFC 8878 section 3.1.1.1: no single segment, no content size; window descriptor of 2^31 octets; an empty block.
    const std::string huge("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9);
    const Contents got = read_text(huge, {});
    EXPECT_THAT(got.error, testing::HasSubstr("zstd -d --long=31"));
    // The largest that is read: 2^27.
    const std::string large("\x28\xb5\x2f\xfd\x00\x88\x01\x00\x00", 9);
    EXPECT_THAT(read_text(large, {}).error, testing::Not(testing::HasSubstr("window")));
}

TEST(Input, fifo_is_read_as_it_comes) {
    const Directory directory;
    const std::string path = directory / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    for (const std::string& content : {pcap_of(200), pcapng_of(200), zstd(pcap_of(200))}) {
        std::thread writer([&] {
            const int fd = ::open(path.c_str(), O_WRONLY);
            for (std::size_t at = 0; at < content.size();) {
                const std::size_t step = std::min<std::size_t>(content.size() - at, at % 977 + 1);
                const ssize_t put = ::write(fd, content.data() + at, step);
                ASSERT_GT(put, 0);
                at += static_cast<std::size_t>(put);
            }
            ::close(fd);
        });
        const Contents got = read_all(path);
        writer.join();
        expect_same(got, read_text(content));
        EXPECT_EQ(got.frames.size(), 200U);
    }
}

TEST(Input, frame_is_delivered_before_the_pipe_ends) {
    const Directory directory;
    const std::string path = directory / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const int keep_open = ::open(path.c_str(), O_RDWR);
    const std::string content = pcapng_of(2);
    ASSERT_EQ(::write(keep_open, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    auto source = open_file(path);
    ASSERT_TRUE(source.ok());
    wire::Frame frame;
    EXPECT_EQ((*source)->next(frame), ReadStatus::frame);
    EXPECT_EQ((*source)->next(frame), ReadStatus::frame);
    ::close(keep_open);
}

std::atomic<bool> is_stop_requested = false;

TEST(Input, stopping_ends_a_pipe_without_an_error) {
    const FileOptions options{.stop = [] { return is_stop_requested.load(); }};
    const Directory directory;
    const std::string path = directory / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    Maker skipped;
    skipped.section().interface(1).enhanced(0, 1, "x", 1).block(0x77, std::string(5000, 'x'));
    struct Case {
        std::string content;
        std::size_t frames;
    };
    const std::string pcap = pcap_of(2);
    const std::string pcapng = pcapng_of(1);
    for (const Case& each :
         {Case{pcap, 2}, Case{pcap.substr(0, pcap.size() - 5), 1}, Case{pcapng, 1},
          Case{pcapng + pcapng.substr(0, 10), 1}, Case{skipped.str().substr(0, 4000), 1}, Case{gzip(pcap), 2},
          Case{pcap.substr(0, 10), 0}, Case{pcapng.substr(0, 10), 0}, Case{"", 0}}) {
        is_stop_requested = false;
        const int keep_open = ::open(path.c_str(), O_RDWR);
        ASSERT_EQ(::write(keep_open, each.content.data(), each.content.size()),
                  static_cast<ssize_t>(each.content.size()));
        std::thread stopper([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(30));
            is_stop_requested = true;
        });
        const Contents got = read_all(path, options);
        stopper.join();
        EXPECT_EQ(got.frames.size(), each.frames);
        if (got.opened) {
            EXPECT_EQ(got.status, ReadStatus::end) << got.error;
        } else {
            EXPECT_THAT(got.error, HasSubstr("stopped before a capture came"));
        }
        ::close(keep_open);
    }
}

class Compressed : public testing::TestWithParam<std::pair<const char*, std::string (*)(std::string_view)>> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Compressed,
                         testing::Values(std::pair{"gzip", &gzip}, std::pair{"zstd", &zstd}, std::pair{"lz4", &lz4}),
                         [](const auto& which) { return which.param.first; });

TEST_P(Compressed, reads_the_same_in_one_member_or_several) {
    const auto compress = GetParam().second;
    for (const std::string& plain : {pcap_of(400), pcapng_of(400)}) {
        const Contents reference = read_text(plain);
        expect_same(read_text(compress(plain)), reference);
        const std::string_view view = plain;
        expect_same(read_text(compress(view.substr(0, 1)) + compress(view.substr(1, 70'000)) + compress("") +
                              compress(view.substr(70'001))),
                    reference);
    }
}

TEST_P(Compressed, names_itself_and_tells_progress) {
    const Directory directory;
    const std::string path = directory / "capture";
    const std::string packed = GetParam().second(pcap_of(400));
    save(path, packed);
    auto source = open_file(path);
    ASSERT_TRUE(source.ok());
    EXPECT_EQ((*source)->compression(), GetParam().first);
    wire::Frame frame;
    while ((*source)->next(frame) == ReadStatus::frame) {
    }
    EXPECT_EQ((*source)->progress().total, packed.size());
    EXPECT_EQ((*source)->progress().octets, packed.size());
}

TEST_P(Compressed, cut_short_delivers_what_came_and_tells) {
    const std::string plain = pcap_of(60);
    const std::string packed = GetParam().second(plain);
    for (std::size_t cut = 1; cut < packed.size(); cut += 1 + packed.size() / 400) {
        const Contents got = read_text(std::string_view(packed).substr(0, cut));
        EXPECT_NE(got.error, "") << cut;
        if (got.opened) {
            EXPECT_EQ(got.status, ReadStatus::error);
        }
    }
    EXPECT_THAT(read_text(packed.substr(0, packed.size() - 1)).error, HasSubstr("cut short or is still being written"));
}

TEST_P(Compressed, damage_never_crashes) {
    const std::string packed = GetParam().second(pcapng_of(60));
    for (std::size_t at = 4; at < packed.size(); at += 1 + packed.size() / 300) {
        std::string damaged = packed;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
        read_text(damaged);
    }
}

TEST(Input, gzip_padding_is_no_data) {
    expect_same(read_text(gzip(pcap_of(20)) + std::string(512, '\0')), read_text(pcap_of(20)));
}

TEST(Input, what_cannot_be_read_is_told) {
    const Directory directory;
    EXPECT_THAT(read_all(directory / "missing").error, HasSubstr("No such file"));
    EXPECT_THAT(read_all(directory.path().string()).error, HasSubstr("is a directory"));
    EXPECT_THAT(read_text("").error, HasSubstr("is empty"));
    EXPECT_THAT(read_text("abc").error, HasSubstr("0x616263; it looks like text"));
    EXPECT_THAT(read_text("rdmatrc\n\1").error, HasSubstr("--trace FILE"));
    EXPECT_THAT(read_text("RDMAHIST\1").error, HasSubstr("--history"));
    EXPECT_THAT(read_text("12:00:01 IP 192.0.2.1 > 192.0.2.2").error, HasSubstr("looks like text"));
    EXPECT_THAT(read_text(std::string("snoop\0\0\0\0\0\0\2", 12)).error, HasSubstr("snoop"));
    EXPECT_THAT(read_text("GMBU____________").error, HasSubstr("Network Monitor 2"));
    EXPECT_THAT(read_text(std::string("\xfd"
                                      "7zXZ\0\0\4",
                                      8))
                    .error,
                HasSubstr("xz -dc"));
    EXPECT_THAT(read_text(std::string(100, '\0')).error, HasSubstr("zeros"));
    EXPECT_THAT(read_text(Maker().u32(0xa1b234cd).str()).error, HasSubstr("modified libpcap"));
    EXPECT_THAT(read_text(Maker(true).u32(0xa1b234cd).str()).error, HasSubstr("modified libpcap"));
    EXPECT_THAT(read_text(gzip("this is compressed text, no capture")).error, HasSubstr("looks like text"));
}

TEST(Input, a_capture_is_recognised_by_its_beginning) {
    const Directory directory;
    const auto begins_so = [&](std::string_view content) {
        save(directory / "file", content);
        return begins_as_capture(directory / "file");
    };
    for (const std::string& capture : {pcap_of(2), pcapng_of(2), pcap_of(0)}) {
        EXPECT_TRUE(begins_so(capture));
        for (const auto& compress : {&gzip, &zstd, &lz4}) EXPECT_TRUE(begins_so(compress(capture)));
    }
    EXPECT_TRUE(begins_so(pcap_of(1).substr(0, 10)));
    for (const std::string& other :
         {std::string(), std::string("abc"), gzip("a log of another day"), std::string(100, '\0')})
        EXPECT_FALSE(begins_so(other));
    EXPECT_FALSE(begins_as_capture(directory / "missing"));
    EXPECT_FALSE(begins_as_capture(directory.path().string()));
}

/// As a record of ERF this time has the type 48 (padding) and a length of 0x5431, at whose end the next one begins.
TEST(Input, the_time_in_a_log_is_no_capture) {
    const Directory directory;
    std::string record = "2026-11-05T12:00:00 job started\n";
    record.resize(0x5431, ' ');
    save(directory / "log", record + record + record + record);
    EXPECT_TRUE(open_file(directory / "log"));
    EXPECT_FALSE(begins_as_capture(directory / "log"));
}

TEST(Input, files_that_may_still_be_written_are_not_mapped) {
    const Directory directory;
    const std::string path = directory / "capture";
    const std::string content = pcap_of(100);
    for (const bool old : {false, true}) {
        save(path, content);
        const utimbuf past{std::time(nullptr) - 3600, std::time(nullptr) - 3600};
        if (old) {
            ASSERT_EQ(::utime(path.c_str(), &past), 0);
        }
        auto source = open_file(path, {.buffer_octets = 4096});
        ASSERT_TRUE(source.ok());
        wire::Frame frame;
        ASSERT_EQ((*source)->next(frame), ReadStatus::frame);
        if (old) continue;
        // A mapping would now kill us.
        ASSERT_EQ(::truncate(path.c_str(), 30), 0);
        ReadStatus status = ReadStatus::frame;
        while (status == ReadStatus::frame) status = (*source)->next(frame);
        EXPECT_EQ(status, ReadStatus::error);
    }
}

TEST(Input, memory_stays_at_a_window) {
    const Directory directory;
    const std::string path = directory / "capture";
    Maker file;
    file.pcap_header();
    for (int i = 0; i < 30'000; ++i) file.record(1, 2, std::string(9000, 'x'), 9000);
    save(path, file.str());
    const auto resident_kib = [] {
        std::ifstream status("/proc/self/statm");
        long pages = 0;
        long resident = 0;
        status >> pages >> resident;
        return resident * ::sysconf(_SC_PAGESIZE) / 1024;
    };
    for (const Access access : {Access::mapped, Access::read}) {
        auto source = open_file(path, {.access = access});
        ASSERT_TRUE(source.ok());
        const long before = resident_kib();
        long most = 0;
        wire::Frame frame;
        std::size_t count = 0;
        while ((*source)->next(frame) == ReadStatus::frame)
            if (++count % 500 == 0) most = std::max(most, resident_kib());
        EXPECT_EQ(count, 30'000U);
        EXPECT_LT(most - before, 40'000);
    }
}

TEST(Input, frames_of_a_file_that_is_kept_last_to_its_end) {
    const Directory directory;
    const std::string path = directory / "capture";
    save(path, pcap_of(500));
    auto source = open_file(path, {.access = Access::mapped, .keep = true});
    ASSERT_TRUE(source.ok());
    EXPECT_TRUE((*source)->frames_last());
    std::vector<wire::Frame> frames;
    wire::Frame frame;
    while ((*source)->next(frame) == ReadStatus::frame) frames.push_back(frame);
    ASSERT_EQ((*source)->next(frame), ReadStatus::end);
    ASSERT_EQ(frames.size(), 500U);
    for (std::size_t i = 0; i < frames.size(); ++i) {
        ASSERT_EQ(frames[i].bytes.size(), i * 37 % 9000);
        for (const std::byte octet : frames[i].bytes) ASSERT_EQ(octet, static_cast<std::byte>(i));
    }
    EXPECT_FALSE((*open_file(path, {.access = Access::mapped}))->frames_last());
    EXPECT_FALSE((*open_file(path, {.access = Access::read, .keep = true}))->frames_last());
}

/// Of files, as the kernel counts it: /proc/self/status.
long resident_file_kib() {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line))
        if (line.rfind("RssFile:", 0) == 0) return std::stol(line.substr(8));
    return -1;
}

TEST(Input, a_file_that_is_kept_takes_little_memory_and_can_be_looked_at_again) {
    constexpr std::size_t records = 500;
    constexpr std::uint32_t octets = 100'000;
    const Directory directory;
    const std::string path = directory / "capture";
    Maker file;
    file.pcap_header();
    for (std::size_t i = 0; i < records; ++i) file.record(1, i, std::string(octets, static_cast<char>(i)), octets);
    save(path, file.str());
    auto source = open_file(path, {.access = Access::mapped, .window_octets = 1 << 20, .keep = true});
    ASSERT_TRUE(source.ok());
    const long before = resident_file_kib();
    long most = before;
    std::vector<wire::Frame> frames;
    wire::Frame frame;
    std::size_t wrong = 0;
    const auto look = [&](std::size_t i) {
        const auto expected = static_cast<std::byte>(i);
        for (const std::byte octet : frames[i].bytes) wrong += octet != expected;
    };
    while ((*source)->next(frame) == ReadStatus::frame) {
        frames.push_back(frame);
        look(frames.size() - 1);
        most = std::max(most, resident_file_kib());
    }
    ASSERT_EQ(frames.size(), records);
    // Two windows that were read, one that is read, and what the kernel reads ahead.
    EXPECT_LT(most - before, 16'000);
    for (std::size_t i = 0; i < records; ++i) look(i);
    EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace capture::test
