#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/elf_parts.h"
#include "base/error.h"
#include "base/result.h"

namespace base {

/// A part of the file that tools know by its name.
struct ElfSection {
    std::string name;
    std::uint32_t type = 0;
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t octets = 0;
    std::uint32_t link = 0;
};

/// A defined symbol.
struct ElfSymbol {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t octets = 0;
    bool function = false;
};

/// The sections of a program or shared object of 64 bits, little endian (x86-64, aarch64), as System V's ABI describes
/// them; debuggers and tracers use them. Only the requested parts of the file are read, because debug symbols may have
/// gigabytes. The file may be hostile: every place and length is checked, and at most 256 MiB of any section are read.
class ElfFile {
public:
    enum class Machine : std::uint8_t { x86_64, aarch64 };

    /// Reads the headers only. An error says what is wrong with the file.
    static Result<ElfFile> open(const std::string& path);

    const std::string& path() const { return path_; }
    Machine machine() const { return machine_; }
    const std::vector<ElfSection>& sections() const { return sections_; }
    /// nullptr if no section has that name.
    const ElfSection* find(std::string_view name) const;
    /// The content of a section in the file; an error if it lies beyond the file's end.
    Result<std::string> content(const ElfSection& section) const;
    /// The place in the file of an address of a loaded segment; no value for memory that has no content in the file
    /// (.bss).
    std::optional<std::uint64_t> file_offset(std::uint64_t address) const { return elf::offset_of(segments_, address); }
    /// Defined symbols with a name, of the full table and of the dynamic one; empty if both were stripped.
    std::vector<ElfSymbol> symbols() const;
    /// In hexadecimal; empty if absent.
    std::string build_id() const;

private:
    explicit ElfFile(std::string path) : path_(std::move(path)) {}
    Result<void> read_headers();
    Result<void> read_sections(std::uint64_t offset, std::uint32_t count, std::uint32_t names);
    Error error(std::string message) const { return {std::move(message), path_}; }
    Result<std::string> read(std::uint64_t offset, std::uint64_t octets) const;

    std::string path_;
    Descriptor descriptor_ = {};
    std::uint64_t octets_ = 0;
    Machine machine_ = Machine::x86_64;
    std::vector<ElfSection> sections_ = {};
    std::vector<elf::Segment> segments_ = {};
};

}  // namespace base
