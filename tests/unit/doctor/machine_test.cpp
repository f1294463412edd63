#include <array>
#include <cstring>
#include <filesystem>
#include <fmt/core.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/printable.h"
#include "base/shell_word.h"
#include "doctor/bundle/archive.h"
#include "doctor/bundle/mask.h"
#include "doctor/checks/check.h"
#include "doctor/inventory/loader_path.h"
#include "doctor/root.h"
#include "doctor/strings.h"
#include "tests/fuzz/fuzz_random.h"

namespace doctor {
namespace {

namespace fs = std::filesystem;

class Folder {
public:
    Folder() {
        std::string name = (fs::temp_directory_path() / "rdmascope-doctor-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const fs::path& path() const { return path_; }
    void write(const std::string& name, std::string_view text) const {
        fs::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name, std::ios::binary) << text;
    }

private:
    fs::path path_;
};

TEST(Root, LinksStayInside) {
    const Folder folder;
    folder.write("real/deep/file", "inside\n");
    folder.write("etc/passwd", "staged\n");
    fs::create_symlink("/real/deep", folder.path() / "absolute");
    fs::create_symlink("../../../../../../../../etc/passwd", folder.path() / "real/up");
    fs::create_symlink("circle", folder.path() / "circle");
    const Root root(folder.path().string());
    EXPECT_EQ(root.resolve("/absolute/file"), "/real/deep/file");
    EXPECT_EQ(root.line("/absolute/file"), "inside");
    EXPECT_EQ(root.line("/real/up"), "staged");
    EXPECT_EQ(root.resolve("/circle"), "");
    EXPECT_EQ(root.resolve(""), "");
    EXPECT_EQ(root.resolve("/"), "/");
    EXPECT_EQ(root.resolve("/../../real/./deep/"), "/real/deep");
    EXPECT_EQ(root.link_name("/absolute"), "deep");
    EXPECT_FALSE(root.link_name("/real/deep/file"));
}

TEST(Root, ReadsRegularFilesAloneAndNoMoreThanAsked) {
    const Folder folder;
    folder.write("long", std::string(100000, 'x'));
    folder.write("exact", "12345");
    ASSERT_EQ(::mkfifo((folder.path() / "fifo").c_str(), 0600), 0);
    const Root root(folder.path().string());
    const Content cut = root.read("/long", 1000);
    EXPECT_EQ(cut.octets.size(), 1000u);
    EXPECT_TRUE(cut.cut);
    const Content whole = root.read("/long", 100000);
    EXPECT_EQ(whole.octets.size(), 100000u);
    EXPECT_FALSE(whole.cut);
    EXPECT_FALSE(root.read("/exact", 5).cut);
    EXPECT_EQ(root.read("/fifo").sight, Sight::unusable);
    EXPECT_EQ(root.read("/").sight, Sight::unusable);
    EXPECT_EQ(root.read("/nowhere").sight, Sight::absent);
    EXPECT_EQ(root.number("/exact"), 12345u);
}

TEST(Words, NumbersAndShellWords) {
    EXPECT_EQ(number_in("0x15b3"), 0x15b3u);
    EXPECT_EQ(number_in("42 rest"), 42u);
    EXPECT_FALSE(number_in("x"));
    EXPECT_FALSE(number_in("99999999999999999999"));
    EXPECT_EQ(base::shell_word("/usr/lib/libx.so.1"), "/usr/lib/libx.so.1");
    EXPECT_EQ(base::shell_word("a b'c; rm -rf /"), "'a b'\\''c; rm -rf /'");
    EXPECT_EQ(base::shell_word(""), "''");
    EXPECT_EQ(base::printable("a\x1b[2J\x7f"), "a?[2J?");
}

/// linux, include/rdma/ib_addr.h, iboe_get_mtu(): 40 + 8 + 12 + 4 + 28 + 4 octets of headers.
TEST(Checks, RoceMtuIsTheKernels) {
    for (const unsigned mtu : {256u, 512u, 1024u, 2048u, 4096u}) {
        EXPECT_EQ(roce_mtu(mtu + 96), mtu);
        EXPECT_LT(roce_mtu(mtu + 95), mtu);
    }
    EXPECT_EQ(roce_mtu(9000), 4096u);
    EXPECT_EQ(roce_mtu(1500), 1024u);
    EXPECT_EQ(roce_mtu(300), 0u);
}

/// A machine about which nothing is known must be judged, not crashed upon.
TEST(Checks, EveryRowTakesAnEmptyInventory) {
    for (const Finding& finding : examine(Inventory{})) EXPECT_LE(finding.severity, Severity::warning) << finding.check;
}

std::string cache(const std::vector<std::array<std::string, 2>>& entries, std::uint32_t flags) {
    std::string table, texts;
    const auto put = [](std::string& out, auto number) {
        out.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    const std::size_t begin = 48 + 24 * entries.size();
    for (const auto& [name, path] : entries) {
        put(table, flags);
        put(table, static_cast<std::uint32_t>(begin + texts.size()));
        texts += name + '\0';
        put(table, static_cast<std::uint32_t>(begin + texts.size()));
        texts += path + '\0';
        put(table, std::uint32_t{0});
        put(table, std::uint64_t{0});
    }
    std::string out = "glibc-ld.so.cache1.1";
    put(out, static_cast<std::uint32_t>(entries.size()));
    put(out, static_cast<std::uint32_t>(texts.size()));
    out.resize(48);
    return out + table + texts;
}

/// glibc, sysdeps/generic/dl-cache.h: struct cache_file_new.
TEST(LoaderCache, IsReadAndSurvivesDamage) {
#if defined(__aarch64__)
    constexpr std::uint32_t own = 0x0a03;
#else
    constexpr std::uint32_t own = 0x0303;
#endif
    const std::string whole = cache({{"liba.so.1", "/lib/liba.so.1"}, {"libb.so.2", "/opt/libb.so.2"}}, own);
    const auto found = read_loader_cache(whole);
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[1], (std::pair<std::string, std::string>("libb.so.2", "/opt/libb.so.2")));
    EXPECT_EQ(read_loader_cache("older format" + whole), found);
    EXPECT_TRUE(read_loader_cache(cache({{"liba.so.1", "/lib32/liba.so.1"}}, 0x0803)).empty());
    EXPECT_TRUE(read_loader_cache("no cache").empty());
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_LE(read_loader_cache(whole.substr(0, size)).size(), 2u);
    fuzz::Random random(7);
    for (unsigned i = 0; i < 10000; ++i) {
        std::string damaged = whole;
        for (unsigned k = 0; k < 4; ++k)
            damaged[20 + random.below(damaged.size() - 20)] = static_cast<char>(random.next());
        EXPECT_LE(read_loader_cache(damaged).size(), 2u);
    }
}

TEST(Mask, AddressesAreTheSameWordEverywhere) {
    Mask mask;
    EXPECT_EQ(mask.text("10.1.2.3 and 10.1.2.4, then 10.1.2.3."), "ip-1 and ip-2, then ip-1.");
    EXPECT_EQ(mask.text("gid fe80:0000:0000:0000:0e42:a1ff:fe5e:7710 is fe80:0000:0000:0000:0E42:A1FF:FE5E:7710"),
              "gid ip-3 is ip-3");
    EXPECT_EQ(mask.text("2001:db8::1/64"), "ip-4/64");
    EXPECT_EQ(mask.text("0c:42:a1:5e:77:10 0c42:a103:005e:7710"), "mac-1 guid-1");
    EXPECT_EQ(mask.text("ip=10.1.2.3,"), "ip=ip-1,");
    EXPECT_EQ(mask.text("\"10.1.2.3\""), "\"ip-1\"");
}

TEST(Mask, WhatIsNoAddressStays) {
    Mask mask;
    for (const char* text :
         {"libibverbs.so.1.14.44.0", "0000:3b:00.0", "12:34:56", "MLNX_OFED_LINUX-5.8-1.1.2.1", "6.1.0-56-amd64",
          "22.36.1010", "127.0.0.1 ::1", "4: ACTIVE", "build 00112233445566778899aabbccddeeff", "a:b", ":",
          "::", "44.0-2", "1.2.3", "0.0.0.0", "999.1.1.1"})
        EXPECT_EQ(mask.text(text), text);
}

TEST(Mask, NamesAreWholeWords) {
    Mask mask;
    mask.add_host("node7.example.org");
    mask.add_user("anna");
    mask.add_hardware_address("0c:42:a1:5e:77:10");
    EXPECT_EQ(mask.text("node7 NODE7 node77 node7.example.org example.org"), "host-1 host-1 node77 host-2 domain-1");
    EXPECT_EQ(mask.text("/home/anna/lib joanna annabel anna_x"), "/home/user-1/lib joanna annabel user-1_x");
    EXPECT_EQ(mask.text("enx0c42a15e7710: up"), "enxmac-1: up");
    mask.add_user("root");
    mask.add_host("localhost");
    EXPECT_EQ(mask.text("root at localhost"), "root at localhost");
}

TEST(Mask, DocumentsKeepTheirMembers) {
    Mask mask;
    mask.add_host("kernel");
    EXPECT_EQ(mask.json(Json::parse(R"({"kernel": ["kernel 10.0.0.1", 7, null, true]})")),
              Json::parse(R"({"kernel": ["host-1 ip-1", 7, null, true]})"));
}

std::string unpacked(std::string packed) {
    z_stream stream{};
    EXPECT_EQ(::inflateInit2(&stream, 15 + 16), Z_OK);
    std::string out(std::size_t{1} << 20, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(out.size() - stream.avail_out);
    ::inflateEnd(&stream);
    return out;
}

/// POSIX.1-2017, pax: octets 0 name, 124 size, 136 time, 148 checksum, 156 type, 257 magic; blocks of 512.
TEST(Archive, IsUstar) {
    const std::string tar = unpacked(make_archive({{"a/one", "hello"}, {"a/two", std::string(512, 'x')}}, 8).value());
    ASSERT_EQ(tar.size(), 512u * (1 + 1 + 1 + 1 + 2));
    EXPECT_STREQ(tar.c_str(), "a/one");
    EXPECT_EQ(tar.substr(124, 11), "00000000005");
    EXPECT_EQ(tar.substr(136, 11), "00000000010");
    EXPECT_EQ(tar.substr(257, 8), std::string("ustar\0"
                                              "00",
                                              8));
    EXPECT_EQ(tar.substr(512, 5), "hello");
    EXPECT_STREQ(tar.c_str() + 1024, "a/two");
    unsigned sum = 8 * ' ';
    for (std::size_t i = 0; i < 512; ++i)
        if (i < 148 || i >= 156) sum += static_cast<unsigned char>(tar[i]);
    EXPECT_EQ(std::stoul(tar.substr(148, 6), nullptr, 8), sum);
    EXPECT_EQ(tar.substr(2048), std::string(1024, '\0'));
}

}  // namespace
}  // namespace doctor
