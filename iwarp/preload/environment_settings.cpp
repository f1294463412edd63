#include "iwarp/preload/environment_settings.h"

#include <charconv>
#include <cstdlib>
#include <string_view>

#include "fmt/core.h"
#include "iwarp/preload/local_addresses.h"

namespace iwarp::preload {
namespace {

/// Value of RDMASCOPE_SOFTWARE_`name`; empty if it is not set.
std::string_view variable(const char* name) {
    const char* const value = std::getenv(fmt::format("RDMASCOPE_SOFTWARE_{}", name).c_str());
    return value == nullptr ? std::string_view() : std::string_view(value);
}

[[noreturn]] void refuse(const char* name, std::string_view value, const char* wanted) {
    throw Error(fmt::format("RDMASCOPE_SOFTWARE_{} is \"{}\"; it is {}", name, value, wanted));
}

void take_switch(const char* name, bool& into) {
    const std::string_view value = variable(name);
    if (value.empty()) return;
    if (value != "on" && value != "off") refuse(name, value, "on or off");
    into = value == "on";
}

template <class Number>
void take_number(const char* name, Number& into, const char* wanted, bool (*permitted)(std::uint32_t)) {
    const std::string_view value = variable(name);
    if (value.empty()) return;
    std::uint32_t number = 0;
    const char* const end = value.data() + value.size();
    const auto [stopped, error] = std::from_chars(value.data(), end, number);
    if (error != std::errc() || stopped != end || !permitted(number)) refuse(name, value, wanted);
    into = static_cast<Number>(number);
}

void take_patience(std::chrono::milliseconds& into) {
    auto number = static_cast<std::uint32_t>(into.count());
    take_number("RECEIVE_PATIENCE", number, "0 to 600000 ms", [](std::uint32_t n) { return n <= 600'000; });
    into = std::chrono::milliseconds(number);
}

void take_addresses(std::vector<std::string>& into) {
    std::string_view rest = variable("ADDRESS");
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        if (!is_numeric_address(std::string(one)))
            refuse("ADDRESS", one, "IPv4 or IPv6 addresses of this machine, with commas between");
        into.emplace_back(one);
    }
}

}  // namespace

Settings Settings::from_environment() {
    Settings settings;
    ConnectionOptions& connection = settings.connection;
    connection.strict = false;
    connection.receive_patience = std::chrono::seconds(5);
    connection.peer_to_peer = true;  // in verbs either side may speak first, in MPA the initiator must
    take_addresses(settings.addresses);
    take_switch("CRC", connection.crc);
    take_switch("MARKERS", connection.markers);
    take_switch("PEER_TO_PEER", connection.peer_to_peer);
    take_switch("STRICT", connection.strict);
    bool verbose = false;
    take_switch("VERBOSE", verbose);
    if (!variable("VERBOSE").empty()) settings.telling = verbose ? Settings::Telling::all : Settings::Telling::nothing;
    take_patience(connection.receive_patience);
    take_number("MPA_REVISION", connection.revision, "1 or 2", [](std::uint32_t n) { return n == 1 || n == 2; });
    take_number("MAX_ULPDU", connection.max_ulpdu, "128 to 64768, or 0 for what fits a segment",
                [](std::uint32_t n) { return n == 0 || (n >= 128 && n <= 64768); });
    if (connection.revision == 1) {
        if (variable("PEER_TO_PEER") == "on")
            throw Error("RDMASCOPE_SOFTWARE_PEER_TO_PEER=on needs RDMASCOPE_SOFTWARE_MPA_REVISION=2");
        connection.peer_to_peer = false;
    }
    return settings;
}

}  // namespace iwarp::preload
