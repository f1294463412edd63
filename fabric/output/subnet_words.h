#pragma once
#include <optional>
#include <string_view>

#include "fabric/subnet.h"

/// Words of the subnet's states, for tables and JSON.
namespace fabric::output {

std::string_view name_of(NodeType type);        ///< "switch"
std::string_view name_of(PortState state);      ///< "active"
std::string_view name_of(PhysicalState state);  ///< "link_up"
std::string_view name_of(ManagerState state);   ///< "master"

std::optional<NodeType> node_type_of(std::string_view name);
std::optional<PortState> port_state_of(std::string_view name);
std::optional<PhysicalState> physical_state_of(std::string_view name);
std::optional<ManagerState> manager_state_of(std::string_view name);

}  // namespace fabric::output
