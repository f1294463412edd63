#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cli::endpoint {

/// rping's port, so that both find each other by default.
constexpr std::uint16_t default_port = 7174;

/// The address to listen at or to connect to: a name or an address, and TCP's port.
struct Address {
    std::string host = "127.0.0.1";
    std::uint16_t port = default_port;
};

/// `192.0.2.1:7174`, `[::1]:7174`, `server.example:7174`, or without a port; without a host, 127.0.0.1. Port 0 is any
/// free port, and is only valid if `listening`. Sets `into` or returns what is expected.
std::string take_address(const std::string& text, bool listening, Address& into);

/// As a user types it.
std::string text_of(const Address& address);

/// Whether only this machine can reach it.
bool is_loopback(std::string_view host);

}  // namespace cli::endpoint
