#pragma once
#include <cstdint>
#include <optional>
#include <string>

/// sd_notify(3), which is nothing where systemd did not start the process.
namespace service::systemd {

void ready(const std::string& status);
void status(const std::string& status);
/// To be followed by ready(), also where the new configuration is refused.
void reloading();
void stopping();
void watchdog();
/// Half of what systemd waits for a sign of life; absent where it does not.
std::optional<std::uint64_t> watchdog_period_ns();

}  // namespace service::systemd
