#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/result.h"
#include "policy/flow_selection.h"

namespace policy {

enum class AddressKind : std::uint8_t { ipv4, ipv6 };

/// What the flows of a rule must be; a flow of a forbidden kind must not exist. Of several values, each is permitted.
struct Rule {
    std::string name = {};
    std::string match = {};  ///< an expression of `flows --filter`; empty: every flow
    Selection selection = {};
    std::vector<std::uint8_t> dscp = {};
    std::vector<std::uint8_t> vlan_priorities = {};
    std::vector<std::uint8_t> service_levels = {};
    std::vector<std::uint16_t> partition_keys = {};
    std::vector<PortRange> ports = {};             ///< of one end, or of the service that the connection asked for
    std::vector<PortRange> udp_source_ports = {};  ///< RoCEv2
    std::optional<AddressKind> addresses = {};
    bool forbidden = false;
    std::optional<bool> encryption = {};  ///< permitted or not: about frames that nothing can be read of, and no flow

    bool forbids_encryption() const { return encryption == false; }
    bool expects_class() const {
        return !dscp.empty() || !vlan_priorities.empty() || !service_levels.empty() || !partition_keys.empty();
    }
    bool expects_ports() const { return !ports.empty() || !udp_source_ports.empty(); }
    bool selects_nothing() const { return match.empty() && selection.empty(); }
};

/// The first rule whose expression and lists fit a flow decides, so that a last rule can be about the rest.
using Rules = std::vector<Rule>;
inline constexpr std::size_t max_rules = 256;

/// Rules as TOML: tables [[rule]], and a table [labels] of addresses that have a name. Each error has line and column.
/// `path` is for the messages.
base::Result<Rules, base::Errors> parse_rules(std::string_view toml, const std::string& path);
base::Result<Rules, base::Errors> read_rules(const std::string& path);

}  // namespace policy
