#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace trace::inline uprobe {

struct ElfSection {
    std::string name;
    std::uint32_t type = 0;
    std::uint64_t address = 0;
    std::uint64_t offset = 0;
    std::uint64_t octets = 0;
    std::uint32_t link = 0;
};

struct ElfSymbol {
    std::string name;
    std::uint64_t address = 0;
    std::uint64_t octets = 0;
    bool function = false;
};

/// A program or shared object of 64 bits, little endian (x86-64, aarch64), as System V's ABI describes it. The file may
/// be anybody's: every place and length is checked, and at most 256 MiB of any section are read.
class ElfFile {
public:
    enum class Machine : std::uint8_t { x86_64, aarch64 };

    /// Headers only. An error says what is wrong with the file.
    static base::Result<ElfFile> open(const std::string& path);
    ElfFile(ElfFile&& other) noexcept;
    ElfFile& operator=(ElfFile&&) = delete;
    ~ElfFile();

    const std::string& path() const { return path_; }
    Machine machine() const { return machine_; }
    const std::vector<ElfSection>& sections() const { return sections_; }
    /// nullptr where there is none of that name.
    const ElfSection* find(std::string_view name) const;
    /// What the file holds of a section; an error where it lies beyond the file's end.
    base::Result<std::vector<std::byte>> content(const ElfSection& section) const;
    /// Where in the file an address of a loaded segment comes from; none for what is made when it is loaded (.bss).
    std::optional<std::uint64_t> file_offset(std::uint64_t address) const;
    /// Defined symbols with a name, of the whole table and of the dynamic one; none where both were stripped.
    std::vector<ElfSymbol> symbols() const;
    /// In hexadecimal; empty where it has none.
    std::string build_id() const;

private:
    struct Segment {
        std::uint64_t address = 0;
        std::uint64_t offset = 0;
        std::uint64_t octets = 0;  // in the file
    };
    explicit ElfFile(std::string path) : path_(std::move(path)) {}
    base::Result<bool> read_headers();
    base::Result<bool> read_sections(std::uint64_t offset, std::uint32_t count, std::uint32_t names);
    base::Result<std::vector<std::byte>> read(std::uint64_t offset, std::uint64_t octets) const;

    std::string path_;
    int descriptor_ = -1;
    std::uint64_t octets_ = 0;
    Machine machine_ = Machine::x86_64;
    std::vector<ElfSection> sections_ = {};
    std::vector<Segment> segments_ = {};
};

/// A note of a section: System V ABI, "Note Section".
struct ElfNote {
    std::string_view owner;
    std::uint32_t type = 0;
    std::string_view content;
};

/// The notes in a section's content, up to the first that does not fit into it.
std::vector<ElfNote> notes_in(std::string_view content);

}  // namespace trace::uprobe
