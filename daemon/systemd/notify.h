#pragma once
#include <cstdint>
#include <optional>
#include <string>

/// sd_notify(3). Does nothing if systemd did not start the process.
namespace service::systemd {

void ready(const std::string& status);
void status(const std::string& status);
/// Must be followed by ready(), also if the new configuration is refused.
void reloading();
void stopping();
void watchdog();
/// Half of the time within which systemd expects a sign of life; no value if it expects none.
std::optional<std::uint64_t> watchdog_period_ns();

}  // namespace service::systemd
