// Static trace points: what notes say, in the words of readelf(1), of hand-made operands and of damaged files.
#include "trace/uprobe/usdt.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <regex>
#include <sys/mman.h>
#include <unistd.h>

#include "probed.h"

namespace trace {
namespace {

using Place = UsdtArgument::Place;
constexpr auto x86 = base::ElfFile::Machine::x86_64;
constexpr auto arm = base::ElfFile::Machine::aarch64;

std::string program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

/// `place size base displacement index scale symbol value`, without what a place does not have.
std::string words(const UsdtArgument& argument) {
    std::string out(1, argument.is_signed ? 's' : 'u');
    out += std::to_string(argument.octets * 8) + " ";
    switch (argument.place) {
        case Place::constant: return out + std::to_string(argument.value);
        case Place::in_register: return out + argument.base;
        case Place::in_memory:
            out += "[" + argument.base + " " + std::to_string(argument.displacement);
            if (!argument.index.empty()) out += " " + argument.index + "*" + std::to_string(argument.scale);
            return out + "]";
        case Place::at_symbol: return out + "[" + argument.symbol + " " + std::to_string(argument.displacement) + "]";
        default: return "?";
    }
}

std::string words(std::string_view text, base::ElfFile::Machine machine) {
    std::string all;
    for (const UsdtArgument& argument : parse_usdt_arguments(text, machine))
        all += (all.empty() ? "" : ", ") + words(argument);
    return all;
}

TEST(UsdtArguments, of_x86) {
    EXPECT_EQ(words("-4@%eax 8@-16(%rbp) 8@$5 -4@$-7", x86), "s32 eax, u64 [rbp -16], u64 5, s32 -7");
    EXPECT_EQ(words("1@%ah 2@(%rdi) 8@8(%rax,%rbx,4) 4@(%r8,%r9)", x86),
              "u8 ah, u16 [rdi 0], u64 [rax 8 rbx*4], u32 [r8 0 r9*1]");
    EXPECT_EQ(words("4@counter(%rip) 8@table+16(%rip) 8@-8+table(%rip)", x86),
              "u32 [counter 0], u64 [table 16], u64 [table -8]");
    EXPECT_EQ(words("%rdx", x86), "u64 rdx") << "without a size: a word";
    EXPECT_EQ(words("", x86), "");
    EXPECT_EQ(words("  8@%rax  ", x86), "u64 rax");
    // Floating point, segments, and what is nothing at all keep their places.
    EXPECT_EQ(words("8f@%xmm0 4@%fs:-4 3@%eax 8@ @ 8@% 8@$ 8@x 8@(%rax 8@$0x10", x86), "?, ?, ?, ?, ?, ?, ?, ?, ?");
    EXPECT_EQ(words("-16@%rax 99999999999999999999@%rax 8@4(%rax,%rbx,3) 8@(5)", x86), "?, ?, ?, ?");
    EXPECT_EQ(parse_usdt_arguments(std::string(1000, 'a') + " b c d e f g h i j k l m n", x86).size(), 12U);
}

TEST(UsdtArguments, of_aarch64) {
    EXPECT_EQ(words("-4@w0 8@[sp, 16] 4@5 8@[x19] -8@x29", arm), "s32 w0, u64 [sp 16], u32 5, u64 [x19 0], s64 x29");
    EXPECT_EQ(words("8@[x1, x2] 8@[x1, x2, lsl 3] 4@[x0, -8] 4@wzr 2@-1", arm),
              "u64 [x1 0 x2*1], u64 [x1 0 x2*8], u32 [x0 -8], u32 0, u16 -1");
    EXPECT_EQ(words("8@[x1, x2, lsl 9] 8@[ 8@[]", arm), "?, ?") << "an open bracket goes on to the end";
}

TEST(UsdtProbes, are_those_that_readelf_sees) {
    if (!test::has_probes()) GTEST_SKIP() << "built without <sys/sdt.h>";
    std::FILE* const pipe = ::popen(("LC_ALL=C readelf -n '" + program() + "' 2>/dev/null").c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string shown;
    for (std::array<char, 4096> some; std::fgets(some.data(), some.size(), pipe) != nullptr;) shown += some.data();
    if (::pclose(pipe) != 0) GTEST_SKIP() << "readelf is not there to compare with";
    const auto file = base::ElfFile::open(program());
    ASSERT_TRUE(file.ok()) << file.error().text();
    const auto probes = read_usdt_probes(file.value());
    ASSERT_TRUE(probes.ok());
    const std::regex note(
        R"(Provider: (\S+)\n\s+Name: (\S+)\n\s+Location: 0x0*([0-9a-f]+), Base: \S+, Semaphore: 0x0*([0-9a-f]*)\n\s+Arguments: (.*)\n)");
    std::size_t at = 0;
    for (std::sregex_iterator each(shown.begin(), shown.end(), note), end; each != end; ++each, ++at) {
        ASSERT_LT(at, probes.value().size());
        const UsdtProbe& probe = probes.value()[at];
        EXPECT_EQ(probe.provider, (*each)[1]);
        EXPECT_EQ(probe.name, (*each)[2]);
        EXPECT_EQ(probe.address, std::stoull((*each)[3], nullptr, 16));
        EXPECT_EQ(probe.semaphore_offset != 0, (*each)[4].length() != 0) << probe.name;
        std::string arguments;
        for (const UsdtArgument& argument : probe.arguments)
            arguments += (arguments.empty() ? "" : " ") + argument.text;
        std::string expected = (*each)[5];
        while (expected.ends_with(' ')) expected.pop_back();
        EXPECT_EQ(arguments, expected);
        for (const UsdtArgument& argument : probe.arguments) EXPECT_NE(words(argument), "?") << argument.text;
    }
    EXPECT_EQ(at, probes.value().size());
    EXPECT_GE(at, 4U);
}

TEST(UsdtFetch, in_the_kernels_words) {
    const auto file = base::ElfFile::open(program());
    ASSERT_TRUE(file.ok()) << file.error().text();
    if (file.value().machine() != x86) GTEST_SKIP() << "another machine's registers";
    const auto fetch = [&](std::string_view text) {
        const auto arguments = parse_usdt_arguments(text, x86);
        return arguments.empty() ? std::string() : fetch_text(arguments[0], UsdtProbe(), file.value()).value_or("none");
    };
    EXPECT_EQ(fetch("-4@%eax"), "%ax:s32");
    EXPECT_EQ(fetch("8@%r15"), "%r15:u64");
    EXPECT_EQ(fetch("4@%r8d"), "%r8:u32");
    EXPECT_EQ(fetch("1@%dil"), "%di:u8");
    EXPECT_EQ(fetch("1@%bh"), "%bx:b8@8/16");
    EXPECT_EQ(fetch("2@-16(%rbp)"), "-16(%bp):u16");
    EXPECT_EQ(fetch("8@(%rsi)"), "+0(%si):u64");
    for (const char* none : {"8@$5", "8@(%rax,%rbx,8)", "8@nowhere(%rip)", "8@%xmm0", "8@%sih", "junk"})
        EXPECT_EQ(fetch(none), "none");
}

class DamagedElf : public testing::Test {
protected:
    void SetUp() override {
        memory_ = ::memfd_create("made", MFD_CLOEXEC);  // no disk: it is written thousands of times
        ASSERT_GE(memory_, 0);
        put(made());
        const auto file = base::ElfFile::open(path());
        ASSERT_TRUE(file.ok()) << file.error().text();
        ASSERT_EQ(read_usdt_probes(file.value()).value().size(), 1U);
    }
    void TearDown() override { ::close(memory_); }
    std::string path() const { return "/proc/self/fd/" + std::to_string(memory_); }
    void put(const std::string& octets) const {
        ASSERT_EQ(::ftruncate(memory_, 0), 0);
        ASSERT_EQ(::pwrite(memory_, octets.data(), octets.size(), 0), static_cast<ssize_t>(octets.size()));
    }
    std::string fault() const {
        const auto file = base::ElfFile::open(path());
        if (!file.ok()) return file.error().text();
        const auto probes = read_usdt_probes(file.value());
        static_cast<void>(file.value().symbols());
        static_cast<void>(file.value().build_id());
        return probes.ok() ? "" : probes.error().text();
    }

    template <class T>
    static void append(std::string& to, const T& value) {
        to.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    /// A file of one segment, the names of sections, a note and a symbol table.
    static std::string made() {
        std::string names("\0.shstrtab\0.note.stapsdt\0.symtab\0.strtab\0", 41);
        std::string note;
        std::string content;
        for (const std::uint64_t place : {0x1010ULL, 0ULL, 0ULL}) append(content, place);
        content += std::string(
            "maker\0point\0"
            "8@%rax 4@$3\0",
            24);
        append(note, Elf64_Nhdr{8, static_cast<Elf64_Word>(content.size()), 3});
        note += std::string("stapsdt\0", 8) + content;
        std::string symbols;
        append(symbols, Elf64_Sym{});
        append(symbols, Elf64_Sym{1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x1020, 8});
        const std::string symbol_names("\0serve\0", 7);
        Elf64_Ehdr header = {};
        std::memcpy(header.e_ident, ELFMAG, SELFMAG);
        header.e_ident[EI_CLASS] = ELFCLASS64;
        header.e_ident[EI_DATA] = ELFDATA2LSB;
        header.e_machine = EM_X86_64;
        header.e_phoff = sizeof header;
        header.e_phentsize = sizeof(Elf64_Phdr);
        header.e_phnum = 1;
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_shnum = 5;
        header.e_shstrndx = 1;
        const std::size_t begin = sizeof header + sizeof(Elf64_Phdr);
        header.e_shoff = begin + names.size() + note.size() + symbols.size() + symbol_names.size();
        std::string file;
        append(file, header);
        Elf64_Phdr segment = {};
        segment.p_type = PT_LOAD;
        segment.p_vaddr = 0x1000;
        segment.p_filesz = 0x100;
        append(file, segment);
        file += names + note + symbols + symbol_names;
        std::size_t at = begin;
        const auto section = [&](std::size_t name, std::uint32_t type, std::size_t octets, std::uint32_t link) {
            Elf64_Shdr made = {};
            made.sh_name = static_cast<std::uint32_t>(name);
            made.sh_type = type;
            made.sh_offset = at;
            made.sh_size = octets;
            made.sh_link = link;
            at += octets;
            append(file, made);
        };
        append(file, Elf64_Shdr{});
        section(1, SHT_STRTAB, names.size(), 0);
        section(11, SHT_NOTE, note.size(), 0);
        section(25, SHT_SYMTAB, symbols.size(), 4);
        section(33, SHT_STRTAB, symbol_names.size(), 0);
        return file;
    }
    int memory_ = -1;
};

TEST_F(DamagedElf, whole_it_says_what_was_put_in) {
    const auto file = base::ElfFile::open(path());
    const UsdtProbe probe = read_usdt_probes(file.value()).value()[0];
    EXPECT_EQ(probe.provider + ":" + probe.name, "maker:point");
    EXPECT_EQ(probe.address, 0x1010U);
    EXPECT_EQ(probe.file_offset, 0x10U);
    EXPECT_EQ(probe.semaphore_offset, 0U);
    ASSERT_EQ(probe.arguments.size(), 2U);
    EXPECT_EQ(words(probe.arguments[0]) + words(probe.arguments[1]), "u64 raxu32 3");
    const auto symbols = file.value().symbols();
    ASSERT_EQ(symbols.size(), 1U);
    EXPECT_EQ(symbols[0].name, "serve");
    EXPECT_TRUE(symbols[0].function);
    EXPECT_EQ(file.value().file_offset(0x10ff), 0xffU);
    EXPECT_EQ(file.value().file_offset(0x1100), std::nullopt);
    EXPECT_EQ(file.value().file_offset(0xfff), std::nullopt);
}

TEST_F(DamagedElf, every_truncation_is_told) {
    const std::string whole = made();
    for (std::size_t octets = 0; octets < whole.size(); ++octets) {
        put(whole.substr(0, octets));
        EXPECT_NE(fault(), "") << octets;
    }
}

TEST_F(DamagedElf, mutations_do_no_harm) {
    const std::string whole = made();
    std::mt19937 random(6);
    for (int round = 0; round < 4000; ++round) {
        std::string changed = whole;
        for (auto n = 1 + random() % 6; n > 0; --n)
            changed[random() % changed.size()] = static_cast<char>(random() % 3 == 0 ? 0xff : random());
        put(changed);
        static_cast<void>(fault());
    }
}

TEST_F(DamagedElf, what_is_no_program_is_said) {
    put("#!/bin/sh\nexit 0\n" + std::string(100, '#'));
    EXPECT_NE(fault().find("no ELF header"), std::string::npos);
    std::string other = made();
    other[EI_CLASS] = ELFCLASS32;
    put(other);
    EXPECT_NE(fault().find("not for x86-64 or aarch64"), std::string::npos);
    EXPECT_NE(base::ElfFile::open("/").error().text().find("no file that could be a program"), std::string::npos);
    EXPECT_NE(base::ElfFile::open("/none/there").error().text().find("No such file"), std::string::npos);
}

TEST(ElfNotes, end_where_one_does_not_fit) {
    std::string notes;
    const auto append = [&](std::uint32_t value) { notes.append(reinterpret_cast<const char*>(&value), 4); };
    append(4), append(2), append(7);
    notes += std::string("GNU\0ab\0\0", 8);
    append(0xffffffff), append(0xffffffff), append(1);
    const auto found = base::elf::notes_in(notes);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].owner, "GNU");
    EXPECT_EQ(found[0].type, 7U);
    EXPECT_EQ(found[0].content, "ab");
}

}  // namespace
}  // namespace trace
