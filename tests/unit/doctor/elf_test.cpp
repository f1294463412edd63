#include <algorithm>
#include <elf.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

#include "doctor/inventory/elf_contents.h"
#include "tests/fuzz/fuzz_random.h"

namespace doctor {
namespace {

using File = base::ElfImage;
using Symbol = base::DynamicSymbol;
using VersionNeed = base::ElfVersionNeed;

std::string sample() {
    std::ifstream file(DOCTOR_SAMPLE, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

const Symbol* find(const File& file, std::string_view name) {
    const auto at = std::find_if(file.symbols().begin(), file.symbols().end(),
                                 [name](const Symbol& symbol) { return symbol.name == name; });
    return at == file.symbols().end() ? nullptr : &*at;
}

/// Everything that the reader has to tell; the sum keeps the compiler from leaving any of it out.
std::size_t ask_everything(const File& file) {
    std::size_t sum = file.error().size() + file.damage().size() + file.build_id().size() + file.soname().size() +
                      file.rpath().size() + file.runpath().size() + file.interpreter().size();
    for (const std::string_view name : file.needed()) sum += name.size();
    for (const VersionNeed& need : file.version_needs())
        for (const std::string_view version : need.versions) sum += need.file.size() + version.size();
    for (const std::string_view version : file.version_definitions()) sum += version.size();
    for (const Symbol& symbol : file.symbols()) sum += symbol.name.size() + symbol.version.size() + symbol.from.size();
    if (const auto range = provider_range(file, "sample")) sum += range->least + range->most;
    sum += file.section(".dynstr").size();
    if (const auto value = module_info(file, "srcversion")) sum += value->size();
    return sum;
}

TEST(ElfFile, SaysWhatTheSourceHas) {
    const File file(sample());
    ASSERT_EQ(file.error(), "");
    EXPECT_EQ(file.damage(), "");
    EXPECT_EQ(file.type(), ET_DYN);
    EXPECT_EQ(file.soname(), "libsample.so.7");
    EXPECT_EQ(file.build_id(), "00112233445566778899aabbccddeeff");
    EXPECT_EQ(std::string(file.rpath()) + std::string(file.runpath()), "/opt/sample/lib");
    EXPECT_EQ(file.version_definitions(), (std::vector<std::string_view>{"SAMPLE_1.0", "SAMPLE_1.1"}));
    EXPECT_NE(std::find(file.needed().begin(), file.needed().end(), "libc.so.6"), file.needed().end());
    EXPECT_TRUE(file.defines_version("SAMPLE_1.1"));
    EXPECT_FALSE(file.defines_version("SAMPLE_1"));

    const Symbol* old = find(file, "sample_old");
    ASSERT_NE(old, nullptr);
    EXPECT_TRUE(old->defined && old->function);
    EXPECT_EQ(old->version, "SAMPLE_1.0");
    EXPECT_EQ(find(file, "sample_new")->version, "SAMPLE_1.1");
    const Symbol* needed = find(file, "getpid");
    ASSERT_NE(needed, nullptr);
    EXPECT_FALSE(needed->defined);
    EXPECT_EQ(needed->from, "libc.so.6");
    EXPECT_TRUE(needed->version.starts_with("GLIBC_2."));
    EXPECT_EQ(find(file, "sample_info"), nullptr);
}

TEST(ElfFile, ReadsAProvidersRangeFromItsData) {
    const File file(sample());
    const auto range = provider_range(file, "sample");
    ASSERT_TRUE(range);
    EXPECT_EQ(range->least, 3u);
    EXPECT_EQ(range->most, 5u);
    EXPECT_FALSE(provider_range(file, "sampl"));
    EXPECT_FALSE(provider_range(file, "ample"));
}

TEST(ElfFile, ReadsAModulesInformation) {
    const File file(sample());
    EXPECT_EQ(module_info(file, "srcversion"), "0123456789ABCDEF01234567");
    EXPECT_EQ(module_info(file, "intree"), "Y");
    EXPECT_FALSE(module_info(file, "tree"));
    EXPECT_FALSE(module_info(file, "src"));
}

TEST(ElfFile, SaysWhatItDoesNotRead) {
    EXPECT_NE(File("").error().find("empty"), std::string::npos);
    EXPECT_NE(File("#!/bin/sh\n").error().find("/bin/sh"), std::string::npos);
    EXPECT_NE(File("MZ").error().find("no ELF file"), std::string::npos);
    std::string other = sample();
    other[EI_CLASS] = ELFCLASS32;
    EXPECT_NE(File(other).error().find("32-bit"), std::string::npos);
    other = sample();
    other[EI_DATA] = ELFDATA2MSB;
    EXPECT_NE(File(other).error().find("byte order"), std::string::npos);
}

TEST(ElfFile, SurvivesEveryTruncation) {
    const std::string whole = sample();
    ASSERT_GT(whole.size(), 4096u);
    for (std::size_t size = 0; size < whole.size(); ++size) ask_everything(File(whole.substr(0, size)));
    // What lies after the segments is not missed; what lies in them is.
    EXPECT_EQ(File(whole.substr(0, whole.size() - 1)).damage(), "");
    EXPECT_NE(File(whole.substr(0, whole.size() / 4)).damage(), "");
}

TEST(ElfFile, SurvivesMutations) {
    const std::string whole = sample();
    fuzz::Random random(20261122);
    std::size_t sum = 0;
    for (unsigned i = 0; i < 10000; ++i) {
        std::string damaged = whole;
        const std::size_t count = 1 + random.below(16);
        for (std::size_t k = 0; k < count; ++k) {
            // Half of them where the headers and tables are, half anywhere.
            const std::size_t at =
                random.below(random.one_in(2) ? std::min<std::size_t>(damaged.size(), 2048) : damaged.size());
            switch (random.below(4)) {
                case 0: damaged[at] = static_cast<char>(random.next()); break;
                case 1: damaged[at] = '\xff'; break;
                case 2: damaged[at] = '\0'; break;
                default: damaged[at] = static_cast<char>(damaged[at] ^ 1 << random.below(8)); break;
            }
        }
        sum += ask_everything(File(std::move(damaged)));
    }
    EXPECT_GT(sum, 0u);
}

TEST(ElfFile, SurvivesCirclesAndCountsWithoutEnd) {
    const std::string whole = sample();
    const File file(whole);
    const std::string_view needs = file.section(".gnu.version_r"), definitions = file.section(".gnu.version_d"),
                           hash = file.section(".gnu.hash");
    ASSERT_FALSE(needs.empty() || definitions.empty() || hash.empty());
    const auto damaged_at = [&](std::string_view section, std::size_t at, std::string_view octets) {
        std::string copy = whole;
        copy.replace(static_cast<std::size_t>(section.data() - file.octets().data()) + at, octets.size(), octets);
        return copy;
    };
    // Elf64_Verneed: vn_cnt at 2, vn_aux at 8, vn_next at 12; Elf64_Verdef: vd_next at 16. A step of one octet goes
    // through the file in the most steps.
    ask_everything(File(damaged_at(needs, 12, std::string("\1\0\0\0", 4))));
    ask_everything(File(damaged_at(needs, 2, "\xff\xff")));
    ask_everything(File(damaged_at(needs, 8, "\xff\xff\xff\xff")));
    ask_everything(File(damaged_at(definitions, 16, std::string("\1\0\0\0", 4))));
    // A GNU hash table of four billion buckets.
    ask_everything(File(damaged_at(hash, 0, "\xff\xff\xff\xff")));
    // Elf64_Ehdr: e_phnum at 56, e_shnum at 60.
    std::string many = whole;
    many.replace(56, 2, "\xff\xff");
    EXPECT_NE(File(many).damage().find("segments"), std::string::npos);
    many = whole;
    many.replace(60, 2, "\xff\xff");
    ask_everything(File(many));
}

}  // namespace
}  // namespace doctor
