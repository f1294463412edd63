#include <algorithm>
#include <pcap/pcap.h>
#include <random>

#include "capture/files/writer.h"
#include "capture/link_type.h"
#include "support.h"
#include "tests/support/pcaps.h"

namespace capture::test {
namespace {

std::vector<std::filesystem::path> captures() {
    std::vector<std::filesystem::path> found;
    if (std::filesystem::exists(support::pcaps()))
        for (const auto& entry : std::filesystem::recursive_directory_iterator(support::pcaps())) {
            const std::string name = entry.path().filename().string();
            if (name.ends_with(".pcap") || name.ends_with(".pcap.gz") || name.ends_with(".pcapng"))
                found.push_back(entry);
        }
    std::sort(found.begin(), found.end());
    return found;
}

/// The frames as libpcap reads them.
std::vector<Kept> by_libpcap(const std::string& path) {
    const bool packed = path.ends_with(".gz");
    std::FILE* file = packed ? ::popen(("gzip -dc '" + path + "'").c_str(), "r") : std::fopen(path.c_str(), "rb");
    char reason[PCAP_ERRBUF_SIZE];
    pcap_t* pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, reason);
    EXPECT_NE(pcap, nullptr) << path << ": " << reason;
    std::vector<Kept> frames;
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    const auto link_type = static_cast<unsigned>(link_type_of(pcap_datalink(pcap)));
    while (pcap_next_ex(pcap, &header, &data) == 1)
        frames.push_back({std::string(reinterpret_cast<const char*>(data), header->caplen), header->len, link_type,
                          wire::Direction::unknown, 0, header->ts.tv_sec * 1'000'000'000L + header->ts.tv_usec,
                          frames.size() + 1, ""});
    pcap_close(pcap);
    return frames;
}

TEST(Corpus, every_capture_reads_as_libpcap_reads_it) {
    const auto files = captures();
    ASSERT_FALSE(files.empty()) << "no captures in " << support::pcaps();
    for (const auto& file : files) {
        const Contents got = read_all(file.string());
        EXPECT_EQ(got.status, ReadStatus::end) << file << got.error;
        EXPECT_TRUE(got.frames == by_libpcap(file.string())) << file;
    }
}

TEST(Corpus, every_capture_survives_being_written) {
    const auto files = captures();
    ASSERT_FALSE(files.empty()) << "no captures in " << support::pcaps();
    const Directory directory;
    for (const auto& file : files) {
        for (const FileFormat format : {FileFormat::pcap, FileFormat::pcapng}) {
            const std::string copy = directory / "copy";
            auto source = open_file(file.string());
            ASSERT_TRUE(source.ok());
            auto writer = open_writer(copy, {.format = format, .precision = TimePrecision::nano});
            ASSERT_TRUE(writer.ok());
            wire::Frame frame;
            while ((*source)->next(frame) == ReadStatus::frame)
                ASSERT_EQ((*writer)->write(frame, (*source)->interfaces()[frame.interface]), WriteStatus::ok);
            ASSERT_TRUE((*writer)->close());
            const Contents got = read_all(copy);
            EXPECT_TRUE(got.frames == read_all(file.string()).frames) << file;
            EXPECT_TRUE(got.frames == by_libpcap(copy)) << file;
        }
    }
}

/// Whatever a file holds: no crash, no more frames than octets allow, and the views are inside what was read.
TEST(Mutation, damaged_files_are_survived) {
    Maker pcap;
    pcap.pcap_header();
    Maker pcapng;
    pcapng.section(pcapng.part().option(1, "remark").u32(0).str())
        .interface(1, 0, pcapng.part().option(9, "\x09").u32(0).str());
    for (int i = 0; i < 12; ++i) {
        const std::string data(static_cast<std::size_t>(i * 11), 'x');
        pcap.record(1, 2, data, 100);
        pcapng.enhanced(0, 5, data, 100,
                        pcapng.part().option(1, "c").option(2, pcapng.part().u32(1).str()).u32(0).str());
        if (i % 4 == 0)
            pcapng.section()
                .interface(1, 0, pcapng.part().option(9, "\x86").u32(0).str())
                .block(3, pcapng.part().u32(0).str());
    }
    std::mt19937 random(20'240'601);
    const Directory directory;
    const std::string path = directory / "capture";
    for (const std::string& sound : {pcap.str(), pcapng.str()}) {
        for (int round = 0; round < 6'000; ++round) {
            std::string damaged = sound;
            for (std::uint32_t n = random() % 4 + 1; n > 0; --n) {
                const std::size_t at = random() % damaged.size();
                switch (random() % 4) {
                    case 0: damaged[at] = static_cast<char>(random()); break;
                    case 1: damaged[at] = static_cast<char>(0xff); break;
                    case 2: damaged.erase(at, random() % 8); break;
                    default: damaged.insert(at, random() % 8, '\0'); break;
                }
            }
            save(path, damaged);
            const auto access = random() % 2 == 0 ? Access::mapped : Access::read;
            const Contents got = read_all(path, {.access = access, .buffer_octets = 64}, random() % 3 * 5);
            std::size_t octets = 0;
            for (const Kept& frame : got.frames) octets += frame.bytes.size();
            ASSERT_LE(octets, damaged.size());
            if (got.status == ReadStatus::error) {
                ASSERT_NE(got.error, "");
            }
        }
    }
}

}  // namespace
}  // namespace capture::test
