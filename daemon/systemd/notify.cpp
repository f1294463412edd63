#include "daemon/systemd/notify.h"

#include <algorithm>
#include <fmt/core.h>
#include <systemd/sd-daemon.h>

#include "base/clock.h"

namespace service::systemd {

namespace {

/// The protocol has a line an assignment: what comes from elsewhere may not begin one.
std::string without_newlines(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
    return text;
}

/// A service manager that is not listening is no reason to stop capturing.
void notify(const std::string& state) { static_cast<void>(sd_notify(0, state.c_str())); }

}  // namespace

void ready(const std::string& status) { notify("READY=1\nSTATUS=" + without_newlines(status)); }
void status(const std::string& status) { notify("STATUS=" + without_newlines(status)); }
void stopping() { notify("STOPPING=1"); }
void watchdog() { notify("WATCHDOG=1"); }

void reloading() { notify(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", base::steady_ns() / 1000)); }

std::optional<std::uint64_t> watchdog_period_ns() {
    std::uint64_t period_us = 0;
    if (sd_watchdog_enabled(0, &period_us) <= 0) return {};
    return period_us * 1000 / 2;
}

}  // namespace service::systemd
