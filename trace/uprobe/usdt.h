#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/elf_file.h"

/// Static trace points of programs (USDT): `nop`s that notes of the file, section .note.stapsdt, say the place and the
/// arguments of. https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
namespace trace::inline uprobe {

/// Where an argument is when its probe is hit.
struct UsdtArgument {
    enum class Place : std::uint8_t {
        constant,        ///< `value`
        in_register,     ///< `base`
        in_memory,       ///< at `base` + `displacement`, or + `index` * `scale` besides
        at_symbol,       ///< `symbol` + `displacement`, relative to the program counter
        not_understood,  ///< an operand of another kind
    };
    Place place = Place::not_understood;
    std::uint8_t octets = 8;  ///< 1, 2, 4 or 8
    bool is_signed = false;
    std::int64_t value = 0;
    std::int64_t displacement = 0;
    std::string base;
    std::string index = {};
    std::uint8_t scale = 1;
    std::string symbol = {};
    std::string text;  ///< as the note has it

    bool operator==(const UsdtArgument&) const = default;
};

struct UsdtProbe {
    std::string provider;
    std::string name;
    std::uint64_t address = 0;           ///< as linked
    std::uint64_t file_offset = 0;       ///< of the `nop`
    std::uint64_t semaphore_offset = 0;  ///< of its counter of tracers, in the file; 0: it has none
    std::vector<UsdtArgument> arguments = {};
};

/// The argument descriptors of a note: `-4@%eax 8@-16(%rbp) 8@$5` of x86-64 (AT&T syntax), `-4@w0 8@[sp, 16] 4@5` of
/// aarch64. What is not understood keeps its place in the list.
std::vector<UsdtArgument> parse_usdt_arguments(std::string_view text, base::ElfFile::Machine machine);

/// The probes of a file, in the order of their notes; one name comes once for each place in the code. Those whose note
/// is damaged, or whose place is in no loaded segment, are left out. An error where the section cannot be read.
base::Result<std::vector<UsdtProbe>> read_usdt_probes(const base::ElfFile& file);

/// How the kernel is to fetch an argument: `%ax:s32`, `+16(%bx):u64` (Linux, Documentation/trace/uprobetracer.rst).
/// None for a constant, and for what it cannot fetch: an indexed operand, or a symbol that is not in the file's table.
std::optional<std::string> fetch_text(const UsdtArgument& argument, const UsdtProbe& probe, const base::ElfFile& file);

}  // namespace trace::uprobe
