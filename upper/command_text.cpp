#include "upper/command_text.h"

#include <fmt/core.h>

namespace upper {

std::string id_text(const Protocol& protocol, std::uint64_t id) {
    constexpr std::uint64_t of_its_side = ~std::uint64_t{0} >> 1;
    if (protocol.id_digits == 0) return fmt::format("{}", id & of_its_side);
    const std::uint64_t digits =
        protocol.id_digits >= 16 ? ~std::uint64_t{0} : (std::uint64_t{1} << 4 * protocol.id_digits) - 1;
    return fmt::format("0x{:0{}x}", id & digits, protocol.id_digits);
}

std::string target_text(const Protocol& protocol, const Command& command) {
    if (!command.target()) return {};
    if (protocol.add_target != nullptr) {
        std::string text;
        protocol.add_target(*command.target(), text);
        return text;
    }
    if (protocol.target_digits == 0) return fmt::format("{} {}", protocol.target_word, *command.target());
    return fmt::format("{} 0x{:0{}x}", protocol.target_word, *command.target(), protocol.target_digits);
}

std::string status_text(const StatusMeaning& meaning, std::uint32_t status) {
    return meaning.text.empty() ? fmt::format("0x{:03x}", status) : std::string(meaning.text);
}

}  // namespace upper
