#include "trace/uprobe/usdt.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <elf.h>
#include <fmt/core.h>

#include "base/ascii.h"

namespace trace::inline uprobe {

using base::Failure;

namespace {

constexpr std::uint32_t stapsdt_note = 3;
constexpr std::size_t max_arguments = 12;  // as many as <sys/sdt.h> has
constexpr std::size_t max_probes = 100'000;

/// The whole of `text` as a number, decimal or 0x, with or without a sign.
std::optional<std::int64_t> signed_number(std::string_view text) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    const int base = text.starts_with("0x") ? 16 : 10;
    if (base == 16) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return static_cast<std::int64_t>(negative ? ~value + 1 : value);
}

bool is_identifier(std::string_view text) {
    if (text.empty() || base::is_digit(text.front())) return false;
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return base::is_alphanumeric(c) || c == '_' || c == '.' || c == '$'; });
}

/// `counter`, `counter+8`, `8+counter`, `counter-4`.
bool parse_symbol(std::string_view text, UsdtArgument& into) {
    const std::size_t sign = text.find_first_of("+-", 1);
    const std::string_view left = text.substr(0, sign);
    const std::string_view right = sign == std::string_view::npos ? std::string_view() : text.substr(sign);
    const auto left_number = signed_number(left);
    if (left_number && right.starts_with('+') && is_identifier(right.substr(1))) {
        into.symbol = right.substr(1);
        into.displacement = *left_number;
        return true;
    }
    const auto displacement = right.empty() ? std::int64_t{0} : signed_number(right);
    if (!is_identifier(left) || !displacement) return false;
    into.symbol = left;
    into.displacement = *displacement;
    return true;
}

/// `%rax`, `$5`, `-16(%rbp)`, `(%rax,%rbx,8)`, `counter(%rip)`. GNU as, "AT&T Syntax versus Intel Syntax".
bool parse_x86(std::string_view text, UsdtArgument& into) {
    if (text.starts_with('$')) {
        const auto value = signed_number(text.substr(1));
        into.place = UsdtArgument::Place::constant;
        into.value = value.value_or(0);
        return value.has_value();
    }
    if (text.starts_with('%') && text.find_first_of(":(") == std::string_view::npos) {
        into.place = UsdtArgument::Place::in_register;
        into.base = text.substr(1);
        return is_identifier(into.base);
    }
    const std::size_t open = text.find('(');
    if (open == std::string_view::npos || !text.ends_with(')') || text.find(':') != std::string_view::npos)
        return false;
    const std::string_view before = base::trimmed(text.substr(0, open), " ");
    std::string_view inside = text.substr(open + 1, text.size() - open - 2);
    std::array<std::string_view, 3> parts = {};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::size_t comma = std::min(inside.find(','), inside.size());
        parts[i] = base::trimmed(inside.substr(0, comma), " ");
        inside.remove_prefix(std::min(comma + 1, inside.size()));
    }
    if (!inside.empty() || !parts[0].starts_with('%')) return false;
    into.base = parts[0].substr(1);
    if (into.base == "rip") {
        into.place = UsdtArgument::Place::at_symbol;
        return parse_symbol(before, into);
    }
    into.place = UsdtArgument::Place::in_memory;
    const auto displacement = before.empty() ? std::int64_t{0} : signed_number(before);
    into.displacement = displacement.value_or(0);
    if (!parts[1].empty()) {
        if (!parts[1].starts_with('%')) return false;
        into.index = parts[1].substr(1);
        const auto scale = parts[2].empty() ? std::int64_t{1} : signed_number(parts[2]);
        if (!scale || (*scale != 1 && *scale != 2 && *scale != 4 && *scale != 8)) return false;
        into.scale = static_cast<std::uint8_t>(*scale);
    }
    return displacement.has_value() && is_identifier(into.base);
}

/// `x0`, `wzr`, `5`, `[sp]`, `[sp, 16]`, `[x1, x2]`, `[x1, x2, lsl 3]`.
bool parse_aarch64(std::string_view text, UsdtArgument& into) {
    if (text.starts_with('#')) text.remove_prefix(1);
    if (const auto value = signed_number(text)) {
        into.place = UsdtArgument::Place::constant;
        into.value = *value;
        return true;
    }
    if (text == "xzr" || text == "wzr") {
        into.place = UsdtArgument::Place::constant;
        return true;
    }
    if (!text.starts_with('[')) {
        into.place = UsdtArgument::Place::in_register;
        into.base = text;
        return is_identifier(text);
    }
    if (!text.ends_with(']')) return false;
    text = text.substr(1, text.size() - 2);
    into.place = UsdtArgument::Place::in_memory;
    const std::size_t comma = text.find(',');
    into.base = base::trimmed(text.substr(0, comma), " ");
    if (!is_identifier(into.base)) return false;
    if (comma == std::string_view::npos) return true;
    std::string_view second = base::trimmed(text.substr(comma + 1), " ");
    if (second.starts_with('#')) second.remove_prefix(1);
    if (const auto displacement = signed_number(second)) {
        into.displacement = *displacement;
        return true;
    }
    const std::size_t shift = second.find(',');
    into.index = base::trimmed(second.substr(0, shift), " ");
    if (shift != std::string_view::npos) {
        const std::string_view how = base::trimmed(second.substr(shift + 1), " ");
        const auto by = how.starts_with("lsl ") ? signed_number(how.substr(how[4] == '#' ? 5 : 4)) : std::nullopt;
        if (!by || *by < 0 || *by > 3) return false;
        into.scale = static_cast<std::uint8_t>(1 << *by);
    }
    return is_identifier(into.index);
}

/// One descriptor: `-4@%eax`. Without a size it is a word.
UsdtArgument parse_argument(std::string_view text, base::ElfFile::Machine machine) {
    UsdtArgument argument;
    argument.text = text;
    const UsdtArgument nothing = argument;
    std::string_view operand = text;
    if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
        operand = text.substr(at + 1);
        const auto size = signed_number(text.substr(0, at));  // floating point has an `f` there, and stays unknown
        if (!size) return nothing;
        const std::int64_t octets = *size < 0 && *size > -9 ? -*size : *size;
        if (octets != 1 && octets != 2 && octets != 4 && octets != 8) return nothing;
        argument.is_signed = *size < 0;
        argument.octets = static_cast<std::uint8_t>(octets);
    }
    operand = base::trimmed(operand, " ");
    if (operand.empty()) return nothing;
    const bool understood =
        machine == base::ElfFile::Machine::x86_64 ? parse_x86(operand, argument) : parse_aarch64(operand, argument);
    return understood ? argument : nothing;
}

/// The names of pt_regs are those of the 16-bit registers, `ax` to `sp` and `r8` to `r15`.
struct X86Register {
    std::string_view kernel;
    bool high = false;  ///< the second byte: %ah
};

std::optional<X86Register> x86_register(std::string_view name) {
    struct Row {
        std::string_view kernel;
        std::array<std::string_view, 4> names;  // of 8, 4, 2 bytes and 1
    };
    static constexpr Row rows[] = {
        {"ax", {"rax", "eax", "ax", "al"}},       {"bx", {"rbx", "ebx", "bx", "bl"}},
        {"cx", {"rcx", "ecx", "cx", "cl"}},       {"dx", {"rdx", "edx", "dx", "dl"}},
        {"si", {"rsi", "esi", "si", "sil"}},      {"di", {"rdi", "edi", "di", "dil"}},
        {"bp", {"rbp", "ebp", "bp", "bpl"}},      {"sp", {"rsp", "esp", "sp", "spl"}},
        {"r8", {"r8", "r8d", "r8w", "r8b"}},      {"r9", {"r9", "r9d", "r9w", "r9b"}},
        {"r10", {"r10", "r10d", "r10w", "r10b"}}, {"r11", {"r11", "r11d", "r11w", "r11b"}},
        {"r12", {"r12", "r12d", "r12w", "r12b"}}, {"r13", {"r13", "r13d", "r13w", "r13b"}},
        {"r14", {"r14", "r14d", "r14w", "r14b"}}, {"r15", {"r15", "r15d", "r15w", "r15b"}},
    };
    if (name.size() == 2 && name[1] == 'h')
        for (const Row& row : rows)
            if (row.kernel[0] == name[0] && row.kernel[1] == 'x') return X86Register{row.kernel, true};
    for (const Row& row : rows)
        if (std::find(row.names.begin(), row.names.end(), name) != row.names.end())
            return X86Register{row.kernel, false};
    return std::nullopt;
}

std::optional<std::string> aarch64_register(std::string_view name) {
    if (name == "sp") return "sp";
    if (name.size() < 2 || (name[0] != 'x' && name[0] != 'w')) return std::nullopt;
    const auto number = signed_number(name.substr(1));
    if (!number || *number < 0 || *number > 30) return std::nullopt;
    return fmt::format("x{}", *number);
}

std::optional<std::string> kernel_register(std::string_view name, base::ElfFile::Machine machine) {
    if (machine == base::ElfFile::Machine::aarch64) return aarch64_register(name);
    const auto found = x86_register(name);
    if (!found || found->high) return std::nullopt;
    return std::string(found->kernel);
}

}  // namespace

std::vector<UsdtArgument> parse_usdt_arguments(std::string_view text, base::ElfFile::Machine machine) {
    std::vector<UsdtArgument> arguments;
    std::size_t begin = 0;
    int depth = 0;  // of brackets, within which a blank ends nothing
    for (std::size_t at = 0; at <= text.size() && arguments.size() < max_arguments; ++at) {
        const char c = at < text.size() ? text[at] : ' ';
        if (c == '[' || c == '(') ++depth;
        if (c == ']' || c == ')') --depth;
        if (c != ' ' || (depth > 0 && at < text.size())) continue;
        if (at > begin) arguments.push_back(parse_argument(text.substr(begin, at - begin), machine));
        begin = at + 1;
    }
    return arguments;
}

base::Result<std::vector<UsdtProbe>> read_usdt_probes(const base::ElfFile& file) {
    std::vector<UsdtProbe> probes;
    const base::ElfSection* const section = file.find(".note.stapsdt");
    if (section == nullptr) return probes;
    const auto octets = file.content(*section);
    if (!octets) return Failure{octets.error()};
    const base::ElfSection* const anchor = file.find(".stapsdt.base");
    for (const base::elf::Note& note : base::elf::notes_in(octets.value())) {
        std::array<std::uint64_t, 3> places =
            {};  // of the probe, of .stapsdt.base when it was linked, of the semaphore
        if (note.owner != "stapsdt" || note.type != stapsdt_note || note.content.size() < sizeof places) continue;
        std::memcpy(places.data(), note.content.data(), sizeof places);
        std::array<std::string_view, 3> texts = {};
        std::string_view rest = note.content.substr(sizeof places);
        bool whole = true;
        for (std::string_view& text : texts) {
            const std::size_t end = rest.find('\0');
            whole = whole && end != std::string_view::npos;
            text = rest.substr(0, end);
            rest.remove_prefix(std::min(text.size() + 1, rest.size()));
        }
        if (!whole || probes.size() == max_probes) continue;
        // Prelinking moves sections, but not what notes say of them.
        const std::uint64_t moved = anchor != nullptr ? anchor->address - places[1] : 0;
        const auto offset = file.file_offset(places[0] + moved);
        if (!offset) continue;
        const std::uint64_t semaphore = places[2] != 0 ? file.file_offset(places[2] + moved).value_or(0) : 0;
        probes.push_back({std::string(texts[0]), std::string(texts[1]), places[0] + moved, *offset, semaphore,
                          parse_usdt_arguments(texts[2], file.machine())});
    }
    return probes;
}

std::optional<std::string> fetch_text(const UsdtArgument& argument, const UsdtProbe& probe, const base::ElfFile& file) {
    const std::string type = fmt::format("{}{}", argument.is_signed ? 's' : 'u', argument.octets * 8);
    switch (argument.place) {
        case UsdtArgument::Place::in_register: {
            if (file.machine() == base::ElfFile::Machine::x86_64)
                if (const auto found = x86_register(argument.base); found && found->high)
                    return fmt::format("%{}:b8@8/16", found->kernel);
            const auto name = kernel_register(argument.base, file.machine());
            return name ? std::optional(fmt::format("%{}:{}", *name, type)) : std::nullopt;
        }
        case UsdtArgument::Place::in_memory: {
            const auto name = kernel_register(argument.base, file.machine());
            if (!name || !argument.index.empty()) return std::nullopt;
            return fmt::format("{:+}(%{}):{}", argument.displacement, *name, type);
        }
        case UsdtArgument::Place::at_symbol: {
            for (const base::ElfSymbol& symbol : file.symbols()) {
                if (symbol.name != argument.symbol) continue;
                // The kernel adds to the place where the file's beginning would be, according to the probe's own place.
                const std::uint64_t address = symbol.address + static_cast<std::uint64_t>(argument.displacement);
                return fmt::format("@+{}:{}", address - probe.address + probe.file_offset, type);
            }
            return std::nullopt;
        }
        default: return std::nullopt;
    }
}

}  // namespace trace::uprobe
