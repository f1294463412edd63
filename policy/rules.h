#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"

namespace policy {

enum class AddressKind : std::uint8_t { ipv4, ipv6 };

/// What the flows of a rule must be; a flow of a forbidden kind must not exist.
struct Rule {
    std::string name;
    std::string match;  ///< an expression of `flows --filter`; empty: every flow
    std::optional<std::uint8_t> dscp = {};
    std::optional<AddressKind> addresses = {};
    bool forbidden = false;
};

/// The first rule whose expression fits a flow decides, so that a last rule can be about the rest.
using Rules = std::vector<Rule>;

/// Rules as TOML: tables [[rule]]. Each error has line and column. `path` is for the messages.
base::Result<Rules, base::Errors> parse_rules(std::string_view toml, const std::string& path);
base::Result<Rules, base::Errors> read_rules(const std::string& path);

}  // namespace policy
