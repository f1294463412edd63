#include "trace/uprobe/elf_file.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace trace::inline uprobe {

using base::Failure;

namespace {

constexpr std::uint64_t max_read = 256 * 1024 * 1024;
constexpr std::uint32_t max_headers = 65536;

std::string_view text_at(const std::vector<std::byte>& table, std::uint64_t offset) {
    if (offset >= table.size()) return {};
    const std::string_view rest(reinterpret_cast<const char*>(table.data()) + offset, table.size() - offset);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

template <class T>
T value_at(const std::vector<std::byte>& octets, std::size_t offset) {  // the caller has checked the size
    T value;
    std::memcpy(&value, octets.data() + offset, sizeof value);
    return value;
}

}  // namespace

base::Result<ElfFile> ElfFile::open(const std::string& path) {
    ElfFile file(path);
    // Not to wait for a writer where the path is a pipe's.
    file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status = {};
    if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &status) != 0)
        return Failure{base::Error{std::strerror(errno), path}};
    if (!S_ISREG(status.st_mode)) return Failure{base::Error{"is no file that could be a program", path}};
    file.octets_ = static_cast<std::uint64_t>(status.st_size);
    const auto read = file.read_headers();
    if (!read) return Failure{read.error()};
    return file;
}

ElfFile::ElfFile(ElfFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      octets_(other.octets_),
      machine_(other.machine_),
      sections_(std::move(other.sections_)),
      segments_(std::move(other.segments_)) {}

ElfFile::~ElfFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

base::Result<std::vector<std::byte>> ElfFile::read(std::uint64_t offset, std::uint64_t octets) const {
    if (offset > octets_ || octets > octets_ - offset)
        return Failure{base::Error{fmt::format("{} octets at {} lie beyond its end at {}: it is cut short or damaged",
                                               octets, offset, octets_),
                                   path_}};
    if (octets > max_read)
        return Failure{base::Error{fmt::format("a section of {} octets is too large", octets), path_}};
    std::vector<std::byte> into(octets);
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t got =
            ::pread(descriptor_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return Failure{base::Error{got < 0 ? std::strerror(errno) : "became shorter while it was read", path_}};
        done += static_cast<std::size_t>(got);
    }
    return into;
}

base::Result<bool> ElfFile::read_headers() {
    const auto octets = read(0, sizeof(Elf64_Ehdr));
    if (!octets || std::memcmp(octets.value().data(), ELFMAG, SELFMAG) != 0)
        return Failure{base::Error{"is no program or shared object (no ELF header)", path_}};
    const auto header = value_at<Elf64_Ehdr>(octets.value(), 0);
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
        (header.e_machine != EM_X86_64 && header.e_machine != EM_AARCH64))
        return Failure{base::Error{"is not for x86-64 or aarch64", path_}};
    machine_ = header.e_machine == EM_X86_64 ? Machine::x86_64 : Machine::aarch64;

    if (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr))
        return Failure{base::Error{"has program headers of an unknown size", path_}};
    const auto programs = read(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
    if (!programs) return Failure{programs.error()};
    for (std::size_t i = 0; i < header.e_phnum; ++i) {
        const auto program = value_at<Elf64_Phdr>(programs.value(), i * sizeof(Elf64_Phdr));
        if (program.p_type == PT_LOAD) segments_.push_back({program.p_vaddr, program.p_offset, program.p_filesz});
    }
    if (header.e_shoff == 0) return true;
    if (header.e_shentsize != sizeof(Elf64_Shdr))
        return Failure{base::Error{"has section headers of an unknown size", path_}};
    std::uint32_t count = header.e_shnum;
    std::uint32_t names = header.e_shstrndx;
    if (count == 0 || names == SHN_XINDEX) {  // too many for the header: the first section has the numbers
        const auto first = read(header.e_shoff, sizeof(Elf64_Shdr));
        if (!first) return Failure{first.error()};
        const auto section = value_at<Elf64_Shdr>(first.value(), 0);
        if (count == 0) count = static_cast<std::uint32_t>(std::min<std::uint64_t>(section.sh_size, max_headers));
        if (names == SHN_XINDEX) names = section.sh_link;
    }
    return read_sections(header.e_shoff, count, names);
}

base::Result<bool> ElfFile::read_sections(std::uint64_t offset, std::uint32_t count, std::uint32_t names) {
    const auto headers = read(offset, std::uint64_t{count} * sizeof(Elf64_Shdr));
    if (!headers) return Failure{headers.error()};
    std::vector<std::uint32_t> name_offsets;
    for (std::size_t i = 0; i < count; ++i) {
        const auto header = value_at<Elf64_Shdr>(headers.value(), i * sizeof(Elf64_Shdr));
        sections_.push_back({{}, header.sh_type, header.sh_addr, header.sh_offset, header.sh_size, header.sh_link});
        name_offsets.push_back(header.sh_name);
    }
    if (names >= sections_.size()) return true;
    const auto table = content(sections_[names]);
    if (!table) return Failure{table.error()};
    for (std::size_t i = 0; i < count; ++i) sections_[i].name = text_at(table.value(), name_offsets[i]);
    return true;
}

const ElfSection* ElfFile::find(std::string_view name) const {
    for (const ElfSection& section : sections_)
        if (section.name == name) return &section;
    return nullptr;
}

base::Result<std::vector<std::byte>> ElfFile::content(const ElfSection& section) const {
    if (section.type == SHT_NOBITS) return std::vector<std::byte>();
    return read(section.offset, section.octets);
}

std::optional<std::uint64_t> ElfFile::file_offset(std::uint64_t address) const {
    for (const Segment& segment : segments_)
        if (address >= segment.address && address - segment.address < segment.octets)
            return address - segment.address + segment.offset;
    return std::nullopt;
}

std::vector<ElfSymbol> ElfFile::symbols() const {
    std::vector<ElfSymbol> found;
    for (const ElfSection& section : sections_) {
        if (section.type != SHT_SYMTAB && section.type != SHT_DYNSYM) continue;
        if (section.link >= sections_.size()) continue;
        const auto table = content(section);
        const auto names = content(sections_[section.link]);
        if (!table || !names) continue;
        for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.value().size(); at += sizeof(Elf64_Sym)) {
            const auto symbol = value_at<Elf64_Sym>(table.value(), at);
            const std::string_view name = text_at(names.value(), symbol.st_name);
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
    if (!octets) return {};
    std::string id;
    for (const ElfNote& note : notes_in({reinterpret_cast<const char*>(octets.value().data()), octets.value().size()}))
        if (note.owner == "GNU" && note.type == NT_GNU_BUILD_ID)
            for (const char c : note.content) id += fmt::format("{:02x}", static_cast<unsigned char>(c));
    return id;
}

std::vector<ElfNote> notes_in(std::string_view content) {
    std::vector<ElfNote> notes;
    const auto padded = [](std::uint64_t octets) { return (octets + 3) & ~std::uint64_t{3}; };
    while (content.size() >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr header = {};
        std::memcpy(&header, content.data(), sizeof header);
        content.remove_prefix(sizeof header);
        const std::uint64_t name = padded(header.n_namesz);
        if (name > content.size() || header.n_descsz > content.size() - name) break;
        const std::string_view owner = content.substr(0, header.n_namesz);
        notes.push_back({owner.substr(0, owner.find('\0')), header.n_type, content.substr(name, header.n_descsz)});
        content.remove_prefix(std::min<std::uint64_t>(name + padded(header.n_descsz), content.size()));
    }
    return notes;
}

}  // namespace trace::uprobe
