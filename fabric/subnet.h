#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fabric/counter.h"
#include "fabric/width_speed.h"

/// An InfiniBand subnet: its nodes, their ports and links, and its subnet managers, as they were at one time.
namespace fabric {

using Guid = std::uint64_t;
using Lid = std::uint16_t;

/// IBTA vol. 1, 14.2.5.3.
enum class NodeType : std::uint8_t { adapter = 1, switch_node = 2, router = 3 };
/// IBTA vol. 1, 14.2.5.6.
enum class PortState : std::uint8_t { unknown = 0, down = 1, initialize = 2, armed = 3, active = 4 };
enum class PhysicalState : std::uint8_t {
    unknown = 0,
    sleep = 1,
    polling = 2,
    disabled = 3,
    training = 4,
    link_up = 5,
    error_recovery = 6,
    test = 7,
};
/// IBTA vol. 1, 14.2.5.13.
enum class ManagerState : std::uint8_t { not_active = 0, discovering = 1, standby = 2, master = 3 };

/// A port of the subnet: a node, and the number that the port has there.
struct PortId {
    Guid node = 0;
    std::uint8_t number = 0;

    auto operator<=>(const PortId&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0
};

/// How often a port refused a packet for its keys. Of the port that received it.
struct KeyViolations {
    std::uint16_t m_key = 0;
    std::uint16_t p_key = 0;
    std::uint16_t q_key = 0;
};

struct Port {
    std::uint8_t number = 0;
    std::optional<Guid> guid = {};
    std::optional<Lid> lid = {};  ///< of port 0, if the node is a switch; no value before a subnet manager assigned one
    std::uint8_t lmc = 0;         ///< the port has 2^lmc LIDs, from `lid` on
    std::optional<Lid> manager_lid = {};
    std::uint64_t gid_prefix = 0;
    PortState state = PortState::unknown;
    PhysicalState physical = PhysicalState::unknown;
    LinkRate rate = {};
    WidthMask widths_supported = 0;
    WidthMask widths_enabled = 0;
    SpeedMask speeds_supported = 0;
    SpeedMask speeds_enabled = 0;
    bool has_manager = false;  ///< a subnet manager runs there
    KeyViolations violations = {};
    std::optional<PortId> peer = {};
    std::optional<CounterReading> counters = {};
    std::optional<CounterReading> later_counters = {};  ///< of the second reading, if there was one

    bool is_up() const { return physical == PhysicalState::link_up || physical == PhysicalState::error_recovery; }
    /// The latest that is known.
    const std::optional<CounterReading>& latest() const { return later_counters ? later_counters : counters; }
};

struct Node {
    Guid guid = 0;
    NodeType type = NodeType::adapter;
    std::string description = {};  ///< NodeDescription: bytes of the node, not to be printed as they are
    std::uint8_t port_count = 0;
    std::uint32_t vendor = 0;
    std::uint16_t device = 0;
    Guid system_guid = 0;
    std::vector<Port> ports = {};  ///< those that were read, in ascending order of their numbers

    const Port* port(std::uint8_t number) const;
    Port* port(std::uint8_t number);
    /// The LID that packets to the port have.
    std::optional<Lid> lid(std::uint8_t number) const;
    /// The least LID of the node.
    std::optional<Lid> lid() const;
};

struct SubnetManager {
    Guid port_guid = 0;
    std::optional<PortId> port = {};
    std::optional<Lid> lid = {};
    std::uint8_t priority = 0;
    ManagerState state = ManagerState::not_active;
    std::uint32_t activity = 0;  ///< a counter that grows with the manager's work
};

/// A question that got no answer, or a refusal.
struct Unanswered {
    std::string question = {};  ///< "NodeInfo at the route 0,1,4"
    std::string reason = {};
};

struct Subnet {
    std::int64_t time_ns = 0;  ///< when reading began, since 1970
    std::optional<PortId> seen_from = {};
    std::string adapter = {};  ///< the local device's name: mlx5_0
    std::vector<Node> nodes = {};
    std::vector<SubnetManager> managers = {};
    std::vector<Unanswered> unanswered = {};

    /// Adds a node, and returns its index.
    std::size_t add(Node node);
    std::optional<std::size_t> index_of(Guid guid) const;
    const Node* find(Guid guid) const;
    Node* find(Guid guid);
    const Port* find(PortId id) const;
    Port* find(PortId id);

private:
    std::unordered_map<Guid, std::size_t> index_ = {};
};

/// One end of a link.
struct LinkEnd {
    const Node* node = nullptr;
    const Port* port = nullptr;

    PortId id() const { return {node->guid, port->number}; }
};

struct Link {
    LinkEnd from = {};
    LinkEnd to = {};

    /// What both ends are trained to, as `from` says.
    LinkRate rate() const { return from.port->rate; }
    /// The greatest that both ends support; unknown if an end does not say.
    LinkRate best() const;
    bool is_active() const { return from.port->state == PortState::active && to.port->state == PortState::active; }
};

/// Whether the counters of any port were read.
bool has_counters(const Subnet& subnet);

/// Each link once, in ascending order of its lesser end. They refer to the subnet.
std::vector<Link> links_of(const Subnet& subnet);

}  // namespace fabric
