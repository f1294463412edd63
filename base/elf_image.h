#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/elf_parts.h"

namespace base {

/// A symbol of the dynamic symbol table (gABI, "Symbol Table"; LSB, "Symbol Versioning").
struct DynamicSymbol {
    std::string_view name;
    std::string_view version;  ///< empty if it has none
    std::string_view from;     ///< of an undefined symbol: the library that should have it; may be empty
    bool defined = false;
    bool weak = false;
    bool function = false;
};

/// One library's versions that a file cannot run without.
struct ElfVersionNeed {
    std::string_view file;
    std::vector<std::string_view> versions;
    std::vector<std::string_view> weak_versions;  ///< the loader only warns if they are absent
};

/// What the loader of a 64-bit ELF file would see, read without loading it. The loader uses program headers and the
/// dynamic section, not sections, and so does this class. Sections serve only kernel modules, which have nothing else.
///
/// The file may be hostile: every offset is checked against the size, chains of records only go forward and end after
/// 65,536, names after 4096 bytes. Parts that do not fit are left out, and `damage` describes them.
class ElfImage {
public:
    /// Takes the file's bytes. If the file cannot be read, `error` says why: another class or byte order than 64-bit
    /// and this machine's, a script, or not an ELF file at all.
    explicit ElfImage(std::string octets);
    ElfImage(const ElfImage&) = delete;
    ElfImage& operator=(const ElfImage&) = delete;

    const std::string& error() const { return error_; }
    /// The parts of the file that were damaged; empty if absent.
    const std::string& damage() const { return damage_; }

    std::uint16_t type() const { return type_; }        ///< ET_EXEC, ET_DYN, ET_REL
    std::uint16_t machine() const { return machine_; }  ///< EM_X86_64
    bool is_dynamic() const { return dynamic_; }
    std::string_view interpreter() const { return interpreter_; }
    std::string_view soname() const { return soname_; }
    std::string_view rpath() const { return rpath_; }
    std::string_view runpath() const { return runpath_; }
    const std::vector<std::string_view>& needed() const { return needed_; }
    bool binds_now() const { return binds_now_; }
    /// NT_GNU_BUILD_ID in hexadecimal; empty if absent.
    const std::string& build_id() const { return build_id_; }
    const std::vector<ElfVersionNeed>& version_needs() const { return version_needs_; }
    const std::vector<std::string_view>& version_definitions() const { return version_definitions_; }
    const std::vector<DynamicSymbol>& symbols() const { return symbols_; }

    bool defines_version(std::string_view version) const;
    /// A section's bytes, by name; empty if absent.
    std::string_view section(std::string_view name) const;
    std::string_view octets() const { return octets_; }

    std::optional<std::uint64_t> offset_of(std::uint64_t address) const { return elf::offset_of(segments_, address); }
    /// The places of pointers into the file itself, and what they point at.
    void relative_pointers(const std::function<void(std::uint64_t pointer, std::uint64_t target)>& take) const;
    /// A record in the file; null if it lies beyond the end.
    template <class Record>
    std::optional<Record> at(std::uint64_t offset) const {
        return elf::record_at<Record>(octets_, offset);
    }

private:
    static constexpr std::size_t longest_name = 4096;
    struct Dynamic;

    std::string_view text_at(std::uint64_t offset) const { return elf::name_at(octets_, offset, longest_name); }
    std::string_view string(const Dynamic& dynamic, std::uint64_t index) const;

    bool read_header();
    void read_segments();
    void read_notes(std::uint64_t offset, std::uint64_t size);
    void read_dynamic(std::uint64_t offset, std::uint64_t size);
    void read_names(const Dynamic& dynamic, std::uint64_t offset, std::uint64_t size);
    void read_version_needs(const Dynamic& dynamic);
    void read_version_definitions(const Dynamic& dynamic);
    void read_symbols(const Dynamic& dynamic);
    std::uint64_t symbol_count(const Dynamic& dynamic) const;
    /// One more than the highest index of a symbol that a table of relocations names.
    std::uint64_t relocated_symbols(std::uint64_t address, std::uint64_t octets) const;
    std::uint64_t gnu_hash_count(std::uint64_t address) const;
    void damaged(std::string_view what);

    std::string octets_;
    std::string error_ = {};
    std::string damage_ = {};
    std::uint16_t type_ = 0;
    std::uint16_t machine_ = 0;
    bool dynamic_ = false;
    bool binds_now_ = false;
    std::string_view interpreter_ = {};
    std::string_view soname_ = {};
    std::string_view rpath_ = {};
    std::string_view runpath_ = {};
    std::string build_id_ = {};
    std::vector<std::string_view> needed_ = {};
    std::vector<elf::Segment> segments_ = {};
    std::vector<ElfVersionNeed> version_needs_ = {};
    std::vector<std::string_view> version_definitions_ = {};
    struct Version {
        std::uint16_t index;
        std::string_view name, file;
    };
    std::vector<Version> versions_ = {};
    std::vector<DynamicSymbol> symbols_ = {};
    std::uint64_t relocations_ = 0;  ///< address of the RELA table
    std::uint64_t relocation_octets_ = 0;
    std::uint64_t lazy_ = 0;  ///< address of the table of calls (DT_JMPREL), RELA too
    std::uint64_t lazy_octets_ = 0;
    std::uint64_t packed_ = 0;  ///< address of the RELR table
    std::uint64_t packed_octets_ = 0;
};

}  // namespace base
