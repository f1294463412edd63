#include "upper/command_text.h"

#include <fmt/core.h>

namespace upper {

std::string id_text(const Protocol& protocol, std::uint64_t id) {
    return fmt::format("0x{:0{}x}", id, protocol.id_digits);
}

std::string target_text(const Protocol& protocol, const Command& command) {
    return command.target ? fmt::format("{} {}", protocol.target_word, *command.target) : std::string{};
}

std::string status_text(const StatusMeaning& meaning, std::uint32_t status) {
    return meaning.text.empty() ? fmt::format("0x{:03x}", status) : std::string(meaning.text);
}

}  // namespace upper
