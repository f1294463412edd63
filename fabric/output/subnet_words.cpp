#include "fabric/output/subnet_words.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fabric::output {

namespace {

template <class Value>
using Word = std::pair<Value, std::string_view>;

constexpr std::array type_words{
    Word<NodeType>{NodeType::adapter, "adapter"},
    Word<NodeType>{NodeType::switch_node, "switch"},
    Word<NodeType>{NodeType::router, "router"},
};
constexpr std::array port_words{
    Word<PortState>{PortState::unknown, "unknown"},       Word<PortState>{PortState::down, "down"},
    Word<PortState>{PortState::initialize, "initialize"}, Word<PortState>{PortState::armed, "armed"},
    Word<PortState>{PortState::active, "active"},
};
constexpr std::array physical_words{
    Word<PhysicalState>{PhysicalState::unknown, "unknown"},
    Word<PhysicalState>{PhysicalState::sleep, "sleep"},
    Word<PhysicalState>{PhysicalState::polling, "polling"},
    Word<PhysicalState>{PhysicalState::disabled, "disabled"},
    Word<PhysicalState>{PhysicalState::training, "training"},
    Word<PhysicalState>{PhysicalState::link_up, "link_up"},
    Word<PhysicalState>{PhysicalState::error_recovery, "error_recovery"},
    Word<PhysicalState>{PhysicalState::test, "test"},
};
constexpr std::array manager_words{
    Word<ManagerState>{ManagerState::not_active, "not_active"},
    Word<ManagerState>{ManagerState::discovering, "discovering"},
    Word<ManagerState>{ManagerState::standby, "standby"},
    Word<ManagerState>{ManagerState::master, "master"},
};

template <class Value, std::size_t Size>
std::string_view word(const std::array<Word<Value>, Size>& words, Value value) {
    const auto found = std::ranges::find(words, value, &Word<Value>::first);
    return found == words.end() ? std::string_view("unknown") : found->second;
}

template <class Value, std::size_t Size>
std::optional<Value> value(const std::array<Word<Value>, Size>& words, std::string_view name) {
    const auto found = std::ranges::find(words, name, &Word<Value>::second);
    return found == words.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace

std::string_view name_of(NodeType type) { return word(type_words, type); }
std::string_view name_of(PortState state) { return word(port_words, state); }
std::string_view name_of(PhysicalState state) { return word(physical_words, state); }
std::string_view name_of(ManagerState state) { return word(manager_words, state); }

std::optional<NodeType> node_type_of(std::string_view name) { return value(type_words, name); }
std::optional<PortState> port_state_of(std::string_view name) { return value(port_words, name); }
std::optional<PhysicalState> physical_state_of(std::string_view name) { return value(physical_words, name); }
std::optional<ManagerState> manager_state_of(std::string_view name) { return value(manager_words, name); }

}  // namespace fabric::output
