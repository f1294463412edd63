#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What readers of ELF files share (System V ABI). The file may be hostile: every place is checked against the size.
namespace base::elf {

/// A record of a table; null if it lies beyond the end.
template <class Record>
std::optional<Record> record_at(std::string_view octets, std::uint64_t offset) {
    if (offset > octets.size() || octets.size() - offset < sizeof(Record)) return std::nullopt;
    Record record;
    std::memcpy(&record, octets.data() + offset, sizeof record);
    return record;
}

/// A name of a table of names; empty if it does not end within the table, or within `longest` bytes.
inline std::string_view name_at(std::string_view table, std::uint64_t offset,
                                std::size_t longest = std::string_view::npos) {
    if (offset >= table.size()) return {};
    const std::string_view rest = table.substr(offset, longest);
    const std::size_t end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

/// A part of the file that is loaded.
struct Segment {
    std::uint64_t address = 0;
    std::uint64_t octets = 0;  ///< in the file
    std::uint64_t offset = 0;
};

/// The place in the file of an address of a loaded segment; no value for memory that has no content in the file (.bss).
inline std::optional<std::uint64_t> offset_of(const std::vector<Segment>& segments, std::uint64_t address) {
    for (const Segment& segment : segments)
        if (address >= segment.address && address - segment.address < segment.octets)
            return segment.offset + (address - segment.address);
    return std::nullopt;
}

/// A note: System V ABI, "Note Section".
struct Note {
    std::string_view owner;
    std::uint32_t type = 0;
    std::string_view content;
};

/// The notes of a section or segment, up to the first that does not fit into it, and at most `most`.
std::vector<Note> notes_in(std::string_view content, std::size_t most = std::size_t{1} << 20);
/// NT_GNU_BUILD_ID among the notes, in hexadecimal; empty if absent.
std::string build_id_of(const std::vector<Note>& notes);

}  // namespace base::elf
