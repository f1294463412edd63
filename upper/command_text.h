#pragma once
#include <cstdint>
#include <string>

#include "upper/upper_command.h"
#include "upper/upper_protocol.h"

namespace upper {

/// A command's identifier in the protocol's notation: "0x800b".
std::string id_text(const Protocol& protocol, std::uint64_t id);
/// "ns 1"; empty if the command has no target.
std::string target_text(const Protocol& protocol, const Command& command);
/// The meaning of a status in words, or its number: "0x0c3".
std::string status_text(const StatusMeaning& meaning, std::uint32_t status);

}  // namespace upper
