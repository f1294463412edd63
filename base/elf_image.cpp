#include "base/elf_image.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <elf.h>
#include <fmt/core.h>

#include "base/ascii.h"
#include "base/printable.h"

namespace base {

namespace {

constexpr std::size_t most_records = 65536;  ///< of a chain: version needs, definitions
constexpr std::size_t most_symbols = std::size_t{1} << 20;
constexpr std::size_t most_segments = 256;
constexpr std::size_t most_notes = 256;  ///< of a segment
constexpr std::uint64_t most_relocations = std::uint64_t{1} << 20;

/// "a script that /bin/sh runs".
std::string about_no_elf(std::string_view octets) {
    if (octets.empty()) return "the file is empty";
    if (octets.starts_with("#!"))
        return fmt::format("it is a script that {} runs, not a program: name the program that it starts",
                           printable(trimmed(octets.substr(2, octets.substr(2, 256).find('\n')))));
    return "it is no ELF file: a program or library of Linux begins with 7f 45 4c 46";
}

}  // namespace

struct ElfImage::Dynamic {
    std::uint64_t strings = 0, string_octets = 0;  // the table's offset in the file
    std::uint64_t symbols = 0, versions = 0, needs = 0, definitions = 0;
    std::uint64_t hash = 0, gnu_hash = 0;
};

ElfImage::ElfImage(std::string octets) : octets_(std::move(octets)) {
    if (read_header()) read_segments();
}

void ElfImage::damaged(std::string_view what) {
    if (damage_.empty()) damage_ = what;
}

bool ElfImage::read_header() {
    if (!octets_.starts_with(ELFMAG)) {
        error_ = about_no_elf(octets_);
        return false;
    }
    if (octets_.size() > EI_CLASS && octets_[EI_CLASS] == ELFCLASS32) {
        error_ = "it is a 32-bit ELF file; 64-bit ones are examined";
        return false;
    }
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || header->e_ident[EI_CLASS] != ELFCLASS64) {
        error_ = "its ELF header is cut off or damaged";
        return false;
    }
    constexpr unsigned char native = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    if (header->e_ident[EI_DATA] != native) {
        error_ = "its byte order is not this machine's: it belongs to another kind of processor";
        return false;
    }
    type_ = header->e_type;
    machine_ = header->e_machine;
    return true;
}

std::string_view ElfImage::string(const Dynamic& dynamic, std::uint64_t index) const {
    return index < dynamic.string_octets ? text_at(dynamic.strings + index) : std::string_view{};
}

void ElfImage::read_segments() {
    const Elf64_Ehdr header = *at<Elf64_Ehdr>(0);
    std::optional<Elf64_Phdr> dynamic;
    if (header.e_phnum > most_segments) return damaged("it claims to have more than 256 segments");
    for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
        if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > octets_.size())
            return damaged("its program headers are damaged");
        const auto segment = at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
        if (!segment) return damaged("its program headers are cut off");
        if (segment->p_offset > octets_.size() || octets_.size() - segment->p_offset < segment->p_filesz) {
            damaged("it ends before its last segment does");
            continue;
        }
        if (segment->p_type == PT_LOAD) segments_.push_back({segment->p_vaddr, segment->p_filesz, segment->p_offset});
        if (segment->p_type == PT_INTERP) interpreter_ = text_at(segment->p_offset);
        if (segment->p_type == PT_NOTE) read_notes(segment->p_offset, segment->p_filesz);
        if (segment->p_type == PT_DYNAMIC) dynamic = segment;
    }
    if (dynamic) read_dynamic(dynamic->p_offset, dynamic->p_filesz);
}

void ElfImage::read_notes(std::uint64_t offset, std::uint64_t size) {
    if (build_id_.empty()) build_id_ = elf::build_id_of(elf::notes_in(octets().substr(offset, size), most_notes));
}

void ElfImage::read_dynamic(std::uint64_t offset, std::uint64_t size) {
    dynamic_ = true;
    Dynamic dynamic;
    std::uint64_t string_address = 0;
    const std::uint64_t entries = std::min<std::uint64_t>(size / sizeof(Elf64_Dyn), most_records);
    for (std::uint64_t i = 0; i < entries; ++i) {
        const auto entry = at<Elf64_Dyn>(offset + i * sizeof(Elf64_Dyn));
        if (!entry || entry->d_tag == DT_NULL) break;
        const std::uint64_t value = entry->d_un.d_val;
        switch (entry->d_tag) {
            case DT_STRTAB: string_address = value; break;
            case DT_STRSZ: dynamic.string_octets = value; break;
            case DT_SYMTAB: dynamic.symbols = value; break;
            case DT_VERSYM: dynamic.versions = value; break;
            case DT_VERNEED: dynamic.needs = value; break;
            case DT_VERDEF: dynamic.definitions = value; break;
            case DT_HASH: dynamic.hash = value; break;
            case DT_GNU_HASH: dynamic.gnu_hash = value; break;
            case DT_RELA: relocations_ = value; break;
            case DT_JMPREL: lazy_ = value; break;
            case DT_PLTRELSZ: lazy_octets_ = value; break;
            case DT_RELASZ: relocation_octets_ = value; break;
            case DT_RELR: packed_ = value; break;
            case DT_RELRSZ: packed_octets_ = value; break;
            case DT_BIND_NOW: binds_now_ = true; break;
            case DT_FLAGS: binds_now_ = binds_now_ || (value & DF_BIND_NOW) != 0; break;
            case DT_FLAGS_1: binds_now_ = binds_now_ || (value & DF_1_NOW) != 0; break;
            default: break;
        }
    }
    const auto strings = offset_of(string_address);
    if (!strings) return damaged("its table of names is not where it says");
    dynamic.strings = *strings;
    read_names(dynamic, offset, size);
    if (dynamic.needs != 0) read_version_needs(dynamic);
    if (dynamic.definitions != 0) read_version_definitions(dynamic);
    std::stable_sort(versions_.begin(), versions_.end(),
                     [](const Version& a, const Version& b) { return a.index < b.index; });
    if (dynamic.symbols != 0) read_symbols(dynamic);
}

void ElfImage::read_names(const Dynamic& dynamic, std::uint64_t offset, std::uint64_t size) {
    const std::uint64_t entries = std::min<std::uint64_t>(size / sizeof(Elf64_Dyn), most_records);
    for (std::uint64_t i = 0; i < entries; ++i) {
        const auto entry = at<Elf64_Dyn>(offset + i * sizeof(Elf64_Dyn));
        if (!entry || entry->d_tag == DT_NULL) break;
        const std::string_view name = string(dynamic, entry->d_un.d_val);
        if (entry->d_tag == DT_NEEDED) {
            if (name.empty())
                damaged("it needs a library without a name");
            else
                needed_.push_back(name);
        }
        if (entry->d_tag == DT_SONAME) soname_ = name;
        if (entry->d_tag == DT_RPATH) rpath_ = name;
        if (entry->d_tag == DT_RUNPATH) runpath_ = name;
    }
}

void ElfImage::read_version_needs(const Dynamic& dynamic) {
    auto place = offset_of(dynamic.needs);
    std::size_t records = 0;
    while (place) {
        const auto need = at<Elf64_Verneed>(*place);
        if (!need) return damaged("its table of needed versions is damaged");
        ElfVersionNeed& library = version_needs_.emplace_back();
        library.file = string(dynamic, need->vn_file);
        std::uint64_t detail = *place + need->vn_aux;
        for (std::uint16_t i = 0; i < need->vn_cnt; ++i) {
            const auto version = at<Elf64_Vernaux>(detail);
            if (!version || ++records > most_records) return damaged("its table of needed versions is damaged");
            const std::string_view name = string(dynamic, version->vna_name);
            (version->vna_flags & VER_FLG_WEAK ? library.weak_versions : library.versions).push_back(name);
            versions_.push_back({static_cast<std::uint16_t>(version->vna_other & 0x7fff), name, library.file});
            if (version->vna_next == 0) break;
            detail += version->vna_next;
        }
        if (need->vn_next == 0) return;
        if (++records > most_records) return damaged("its table of needed versions is damaged");
        place = *place + need->vn_next;
    }
    damaged("its table of needed versions is not where it says");
}

void ElfImage::read_version_definitions(const Dynamic& dynamic) {
    auto place = offset_of(dynamic.definitions);
    std::size_t records = 0;
    while (place) {
        const auto definition = at<Elf64_Verdef>(*place);
        const auto name = definition ? at<Elf64_Verdaux>(*place + definition->vd_aux) : std::nullopt;
        if (!name || ++records > most_records) return damaged("its table of versions is damaged");
        // The base definition names the file, not a version.
        if ((definition->vd_flags & VER_FLG_BASE) == 0) {
            version_definitions_.push_back(string(dynamic, name->vda_name));
            versions_.push_back(
                {static_cast<std::uint16_t>(definition->vd_ndx & 0x7fff), version_definitions_.back(), {}});
        }
        if (definition->vd_next == 0) return;
        place = *place + definition->vd_next;
    }
    damaged("its table of versions is not where it says");
}

/// Nothing says how long the symbol table is. A GNU hash table has what is defined alone; what is only needed, a
/// relocation names.
std::uint64_t ElfImage::symbol_count(const Dynamic& dynamic) const {
    if (const auto place = dynamic.hash != 0 ? offset_of(dynamic.hash) : std::nullopt)
        if (const auto chains = at<std::uint32_t>(*place + 4)) return *chains;
    return std::max({dynamic.gnu_hash != 0 ? gnu_hash_count(dynamic.gnu_hash) : 0,
                     relocated_symbols(relocations_, relocation_octets_), relocated_symbols(lazy_, lazy_octets_)});
}

std::uint64_t ElfImage::relocated_symbols(std::uint64_t address, std::uint64_t octets) const {
    const auto table = address != 0 ? offset_of(address) : std::nullopt;
    const std::uint64_t count = table ? std::min(octets / sizeof(Elf64_Rela), most_relocations) : 0;
    std::uint64_t symbols = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto relocation = at<Elf64_Rela>(*table + i * sizeof(Elf64_Rela));
        if (!relocation) break;
        symbols = std::max<std::uint64_t>(symbols, ELF64_R_SYM(relocation->r_info) + 1);
    }
    return symbols;
}

std::uint64_t ElfImage::gnu_hash_count(std::uint64_t address) const {
    const auto place = offset_of(address);
    if (!place) return 0;
    const auto buckets = at<std::uint32_t>(*place);
    const auto first = at<std::uint32_t>(*place + 4);
    const auto filters = at<std::uint32_t>(*place + 8);
    if (!buckets || !first || !filters) return 0;
    const std::uint64_t bucket_table = *place + 16 + std::uint64_t{8} * *filters;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < *buckets; ++i) {
        const auto bucket = at<std::uint32_t>(bucket_table + 4 * i);
        if (!bucket) return 0;
        last = std::max<std::uint64_t>(last, *bucket);
    }
    if (last < *first) return *first;
    const std::uint64_t chains = bucket_table + std::uint64_t{4} * *buckets;
    for (;;) {
        const auto link = at<std::uint32_t>(chains + 4 * (last - *first));
        if (!link) return 0;
        ++last;
        if ((*link & 1) != 0) return last;
    }
}

void ElfImage::read_symbols(const Dynamic& dynamic) {
    const auto table = offset_of(dynamic.symbols);
    const auto indices = dynamic.versions != 0 ? offset_of(dynamic.versions) : std::nullopt;
    const std::uint64_t count = symbol_count(dynamic);
    if (!table || count > most_symbols) return damaged("its table of symbols is damaged");
    for (std::uint64_t i = 1; i < count; ++i) {
        const auto entry = at<Elf64_Sym>(*table + i * sizeof(Elf64_Sym));
        if (!entry) return damaged("its table of symbols is cut off");
        DynamicSymbol symbol;
        symbol.name = string(dynamic, entry->st_name);
        const unsigned binding = ELF64_ST_BIND(entry->st_info);
        if (symbol.name.empty() || binding == STB_LOCAL) continue;
        symbol.defined = entry->st_shndx != SHN_UNDEF;
        symbol.weak = binding == STB_WEAK;
        const unsigned kind = ELF64_ST_TYPE(entry->st_info);
        symbol.function = kind == STT_FUNC || kind == STT_GNU_IFUNC;
        const auto index = indices ? at<std::uint16_t>(*indices + 2 * i) : std::nullopt;
        const auto wanted = static_cast<std::uint16_t>(index.value_or(0) & 0x7fff);
        const auto version = std::lower_bound(versions_.begin(), versions_.end(), wanted,
                                              [](const Version& v, std::uint16_t number) { return v.index < number; });
        if (wanted > VER_NDX_GLOBAL && version != versions_.end() && version->index == wanted) {
            symbol.version = version->name;
            if (!symbol.defined) symbol.from = version->file;
        }
        symbols_.push_back(symbol);
    }
}

bool ElfImage::defines_version(std::string_view version) const {
    return std::find(version_definitions_.begin(), version_definitions_.end(), version) != version_definitions_.end();
}

std::string_view ElfImage::section(std::string_view name) const {
    const auto header = at<Elf64_Ehdr>(0);
    if (!error_.empty() || !header || header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff > octets_.size())
        return {};
    const auto entry = [&](std::uint64_t index) {
        return at<Elf64_Shdr>(header->e_shoff + index * sizeof(Elf64_Shdr));
    };
    const auto names = entry(header->e_shstrndx);
    if (!names || names->sh_offset > octets_.size()) return {};
    for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
        const auto found = entry(i);
        if (!found) return {};
        if (found->sh_type == SHT_NOBITS || text_at(names->sh_offset + found->sh_name) != name) continue;
        if (found->sh_offset > octets_.size() || octets_.size() - found->sh_offset < found->sh_size) return {};
        return std::string_view(octets_).substr(found->sh_offset, found->sh_size);
    }
    return {};
}

void ElfImage::relative_pointers(const std::function<void(std::uint64_t, std::uint64_t)>& take) const {
    const std::uint32_t relative = machine_ == EM_X86_64    ? std::uint32_t{R_X86_64_RELATIVE}
                                   : machine_ == EM_AARCH64 ? std::uint32_t{R_AARCH64_RELATIVE}
                                                            : 0;
    const auto table = relative != 0 ? offset_of(relocations_) : std::nullopt;
    const std::uint64_t count = table ? std::min(relocation_octets_ / sizeof(Elf64_Rela), most_relocations) : 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto relocation = at<Elf64_Rela>(*table + i * sizeof(Elf64_Rela));
        if (!relocation) break;
        if (ELF64_R_TYPE(relocation->r_info) == relative)
            take(relocation->r_offset, static_cast<std::uint64_t>(relocation->r_addend));
    }
    // Packed relocations (gABI, SHT_RELR): an address, then bitmaps of the 63 words after it.
    const auto packed = packed_ != 0 ? offset_of(packed_) : std::nullopt;
    std::uint64_t taken = 0;
    std::uint64_t next = 0;
    const auto take_word = [&](std::uint64_t address) {
        const auto place = ++taken <= most_relocations ? offset_of(address) : std::nullopt;
        if (const auto addend = place ? at<std::uint64_t>(*place) : std::nullopt) take(address, *addend);
    };
    for (std::uint64_t i = 0; packed && i < packed_octets_ / 8 && taken <= most_relocations; ++i) {
        const auto entry = at<std::uint64_t>(*packed + 8 * i);
        if (!entry) break;
        if ((*entry & 1) == 0) {
            take_word(*entry);
            next = *entry + 8;
            continue;
        }
        for (unsigned bit = 1; bit < 64; ++bit)
            if ((*entry >> bit & 1) != 0) take_word(next + 8 * (bit - 1));
        next += 8 * 63;
    }
}

}  // namespace base
