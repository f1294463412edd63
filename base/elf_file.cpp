#include "base/elf_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

namespace base {

namespace {

constexpr std::uint64_t max_read = std::uint64_t{256} << 20;
constexpr std::uint32_t max_headers = 65536;

}  // namespace

Result<ElfFile> ElfFile::open(const std::string& path) {
    ElfFile file(path);
    // Not to wait for a writer where the path is a pipe's.
    file.descriptor_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status = {};
    if (!file.descriptor_ || ::fstat(file.descriptor_.number(), &status) != 0)
        return Failure{file.error(std::strerror(errno))};
    if (!S_ISREG(status.st_mode)) return Failure{file.error("is no file that could be a program")};
    file.octets_ = static_cast<std::uint64_t>(status.st_size);
    if (const auto read = file.read_headers(); !read) return Failure{read.error()};
    return file;
}

Result<std::string> ElfFile::read(std::uint64_t offset, std::uint64_t octets) const {
    if (offset > octets_ || octets > octets_ - offset)
        return Failure{error(fmt::format("{} bytes at {} lie beyond its end at {}: it is cut short or damaged", octets,
                                         offset, octets_))};
    if (octets > max_read) return Failure{error(fmt::format("a section of {} bytes is too large", octets))};
    std::string into(octets, '\0');
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t got =
            ::pread(descriptor_.number(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return Failure{error(std::strerror(errno))};
        if (got == 0) return Failure{error("became shorter while it was read")};
        done += static_cast<std::size_t>(got);
    }
    return into;
}

Result<void> ElfFile::read_headers() {
    const auto octets = read(0, sizeof(Elf64_Ehdr));
    if (!octets || !octets->starts_with(ELFMAG))
        return Failure{error("is no program or shared object (no ELF header)")};
    const auto header = *elf::record_at<Elf64_Ehdr>(*octets, 0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64))
        return Failure{error("is not for x86-64 or aarch64")};
    machine_ = header.e_machine == EM_X86_64 ? Machine::x86_64 : Machine::aarch64;

    if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr))
        return Failure{error("has program headers of an unknown size")};
    const auto programs = read(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
    if (!programs) return Failure{programs.error()};
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
        const auto program = *elf::record_at<Elf64_Phdr>(*programs, i * sizeof(Elf64_Phdr));
        if (program.p_type == PT_LOAD) segments_.push_back({program.p_vaddr, program.p_filesz, program.p_offset});
    }
    if (header.e_shoff == 0) return {};
    if (header.e_shentsize != sizeof(Elf64_Shdr)) return Failure{error("has section headers of an unknown size")};
    std::uint32_t count = header.e_shnum;
    std::uint32_t names = header.e_shstrndx;
    if (count == 0 || names == SHN_XINDEX) {  // too many for the header: the first section has the numbers
        const auto first = read(header.e_shoff, sizeof(Elf64_Shdr));
        if (!first) return Failure{first.error()};
        const auto section = *elf::record_at<Elf64_Shdr>(*first, 0);
        if (count == 0) count = static_cast<std::uint32_t>(std::min<std::uint64_t>(section.sh_size, max_headers));
        if (names == SHN_XINDEX) names = section.sh_link;
    }
    return read_sections(header.e_shoff, count, names);
}

Result<void> ElfFile::read_sections(std::uint64_t offset, std::uint32_t count, std::uint32_t names) {
    const auto headers = read(offset, std::uint64_t{count} * sizeof(Elf64_Shdr));
    if (!headers) return Failure{headers.error()};
    std::vector<std::uint32_t> name_offsets;
    for (std::size_t i = 0; i < count; ++i) {
        const auto header = *elf::record_at<Elf64_Shdr>(*headers, i * sizeof(Elf64_Shdr));
        sections_.push_back({{}, header.sh_type, header.sh_addr, header.sh_offset, header.sh_size, header.sh_link});
        name_offsets.push_back(header.sh_name);
    }
    if (names >= sections_.size()) return {};
    const auto table = content(sections_[names]);
    if (!table) return Failure{table.error()};
    for (std::size_t i = 0; i < count; ++i) sections_[i].name = elf::name_at(*table, name_offsets[i]);
    return {};
}

const ElfSection* ElfFile::find(std::string_view name) const {
    for (const ElfSection& section : sections_)
        if (section.name == name) return &section;
    return nullptr;
}

Result<std::string> ElfFile::content(const ElfSection& section) const {
    if (section.type == SHT_NOBITS) return std::string();
    return read(section.offset, section.octets);
}

std::vector<ElfSymbol> ElfFile::symbols() const {
    std::vector<ElfSymbol> found;
    for (const ElfSection& section : sections_) {
        if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
        if (section.link >= sections_.size()) continue;
        const auto table = content(section);
        const auto names = content(sections_[section.link]);
        if (!table || !names) continue;
        for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table->size(); at += sizeof(Elf64_Sym)) {
            const auto symbol = *elf::record_at<Elf64_Sym>(*table, at);
            const std::string_view name = elf::name_at(*names, symbol.st_name);
            if (name.empty() || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
            found.push_back(
                {std::string(name), symbol.st_value, symbol.st_size, ELF64_ST_TYPE(symbol.st_info) == STT_FUNC});
        }
    }
    return found;
}

std::string ElfFile::build_id() const {
    const ElfSection* const section = find(".note.gnu.build-id");
    if (section == nullptr) return {};
    const auto octets = content(*section);
    return octets ? elf::build_id_of(elf::notes_in(*octets)) : std::string();
}

}  // namespace base
