#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "fabric/counter.h"
#include "fabric/subnet.h"

/// Attributes of management datagrams, read into the terms of a subnet. Every span has the size of its class's data.
namespace fabric::discovery {

struct NodeInfo {
    Node node = {};               ///< without ports and description
    Guid port_guid = 0;           ///< of the port that answered; of port 0 if the node is a switch
    std::uint8_t local_port = 0;  ///< the port that the question came in by
};
/// No value for a node type, a number of ports or a port that cannot be.
std::optional<NodeInfo> read_node_info(std::span<const std::byte> attribute);
std::string read_node_description(std::span<const std::byte> attribute);
/// Everything except number, peer and counters.
Port read_port_info(std::span<const std::byte> attribute);
SubnetManager read_manager_info(std::span<const std::byte> attribute);

/// Which counters a performance agent has. IBTA vol. 1, 16.1.3.2.
struct PerformanceAbilities {
    bool wait_counter = false;
    bool wide_counters = false;  ///< data and packets in 64 bits
    bool wide_errors = false;    ///< the other counters as well
};
PerformanceAbilities read_abilities(std::span<const std::byte> attribute);
void read_port_counters(std::span<const std::byte> attribute, PerformanceAbilities abilities, CounterReading& into);
void read_wide_counters(std::span<const std::byte> attribute, PerformanceAbilities abilities, CounterReading& into);

}  // namespace fabric::discovery
