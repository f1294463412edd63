#include "base/elf_parts.h"

#include <algorithm>
#include <elf.h>
#include <fmt/core.h>

namespace base::elf {

std::vector<Note> notes_in(std::string_view content, std::size_t most) {
    std::vector<Note> notes;
    const auto padded = [](std::uint64_t octets) { return (octets + 3) & ~std::uint64_t{3}; };
    while (notes.size() < most) {
        const auto header = record_at<Elf64_Nhdr>(content, 0);
        if (!header) break;
        content.remove_prefix(sizeof *header);
        const std::uint64_t name = padded(header->n_namesz);
        if (name > content.size() || header->n_descsz > content.size() - name) break;
        const std::string_view owner = content.substr(0, header->n_namesz);
        notes.push_back({owner.substr(0, owner.find('\0')), header->n_type, content.substr(name, header->n_descsz)});
        content.remove_prefix(std::min<std::uint64_t>(name + padded(header->n_descsz), content.size()));
    }
    return notes;
}

std::string build_id_of(const std::vector<Note>& notes) {
    constexpr std::size_t longest = 64;
    std::string id;
    for (const Note& note : notes) {
        if (note.owner != "GNU" || note.type != NT_GNU_BUILD_ID || note.content.size() > longest) continue;
        for (const char octet : note.content) id += fmt::format("{:02x}", static_cast<unsigned char>(octet));
        break;
    }
    return id;
}

}  // namespace base::elf
