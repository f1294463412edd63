#include "doctor/inventory/elf_contents.h"

#include <string>

#include "doctor/strings.h"

namespace doctor::inline inventory {

std::optional<AbiRange> provider_range(const base::ElfImage& file, std::string_view name) {
    std::optional<AbiRange> range;
    bool several = false;
    const std::string with_end = std::string(name) + '\0';
    file.relative_pointers([&](std::uint64_t pointer, std::uint64_t target) {
        const auto text = file.offset_of(target);
        const auto place = file.offset_of(pointer);
        if (!text || !place || file.octets().compare(*text, with_end.size(), with_end) != 0) return;
        const auto found = file.at<AbiRange>(*place + 8);
        // Neither other numbers nor a pointer's halves look like this: ABI versions have two digits at most, or a
        // provider accepts any.
        constexpr std::uint32_t highest = 999, any = 0x7fffffff;
        if (!found || found->least > found->most || found->least > highest ||
            (found->most > highest && found->most < any))
            return;
        several = several || (range && (range->least != found->least || range->most != found->most));
        range = found;
    });
    return several ? std::nullopt : range;
}

std::optional<std::string_view> module_info(const base::ElfImage& file, std::string_view key) {
    for (std::string_view entry : split(file.section(".modinfo"), '\0'))
        if (entry.starts_with(key) && entry.substr(key.size()).starts_with('=')) return entry.substr(key.size() + 1);
    return std::nullopt;
}

}  // namespace doctor::inventory
