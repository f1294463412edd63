#include "dissect/subnet/subnet_names.h"

#include <cstring>
#include <span>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/text_format.h"

namespace dissect::subnet {

namespace {

constexpr std::size_t description_octets = 64;
/// IBTA vol. 1, 4.1.1: LIDs from 0xc000 on are of multicast groups, and 0 is reserved.
constexpr Lid first_multicast_lid = 0xc000;
constexpr unsigned most_lmc = 7;

bool is_unicast(Lid lid) { return lid != 0 && lid < first_multicast_lid; }

/// The text before the first zero byte, without blanks at its end, printable.
std::string printable(std::string_view text) {
    text = text.substr(0, description_octets);
    text = text.substr(0, text.find('\0'));
    const std::size_t last = text.find_last_not_of(" \t\r\n");
    text = last == std::string_view::npos ? std::string_view{} : text.substr(0, last + 1);
    std::string out;
    base::append_printable(out, text);
    return out;
}

Guid interface_of(const Gid& gid) { return base::load_be64(std::as_bytes(std::span(gid)).data() + sizeof(Guid)); }

}  // namespace

std::size_t SubnetNames::GidHash::operator()(const Gid& gid) const {
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), gid.data(), sizeof words);
    return base::mix(base::mix(0, words[0]), words[1]);
}

template <class Map, class Value>
void SubnetNames::add(Map& map, std::size_t most, const typename Map::key_type& key, const Value& value,
                      std::uint64_t frame) {
    auto found = map.find(key);
    if (found == map.end()) {
        if (map.size() >= most) return;
        found = map.try_emplace(key).first;
    }
    found->second.update(value, frame);
}

void SubnetNames::describe_node(Guid node, std::string_view description, std::uint64_t frame) {
    if (node != 0) add(nodes_, max_nodes, node, printable(description), frame);
}

void SubnetNames::describe_lid(Lid lid, std::string_view description, std::uint64_t frame) {
    if (!is_unicast(lid)) return;
    lids_[lid].description.update(printable(description), frame);
    if (const auto node = node_of(lid)) describe_node(*node, description, frame);
}

void SubnetNames::add_port(Guid port, Guid node, std::uint64_t frame) {
    if (port != 0 && node != 0) add(ports_, max_ports, port, node, frame);
}

void SubnetNames::assign_node(Lid first, unsigned lmc, Guid node, std::uint64_t frame) {
    if (node == 0 || !is_unicast(first) || lmc > most_lmc) return;
    for (unsigned lid = first; lid < first + (1u << lmc) && lid < first_multicast_lid; ++lid) {
        LidFacts& facts = lids_[static_cast<Lid>(lid)];
        const bool moves = facts.node.frame != 0 && facts.node.value != node;
        if (!facts.node.update(node, frame)) continue;
        if (moves && facts.description.frame < frame) facts.description = {};
        if (facts.description.frame != 0)
            add(nodes_, max_nodes, node, facts.description.value, facts.description.frame);
    }
}

void SubnetNames::assign_port(Lid lid, Guid port, std::uint64_t frame) {
    if (port != 0 && is_unicast(lid)) lids_[lid].port.update(port, frame);
}

void SubnetNames::assign_gid(const Gid& gid, Lid lid, std::uint64_t frame) {
    if (!is_unicast(lid) || interface_of(gid) == 0) return;
    add(gids_, max_ports, gid, lid, frame);
    assign_port(lid, interface_of(gid), frame);
}

KnownNode SubnetNames::known(Guid node) const {
    const auto found = nodes_.find(node);
    return {node, found == nodes_.end() ? std::string_view{} : std::string_view(found->second.value)};
}

/// A GUID of no known node stands for itself: most adapters have it in the NodeGUID's range.
KnownNode SubnetNames::of_port(Guid port) const {
    const auto found = ports_.find(port);
    return known(found == ports_.end() ? port : found->second.value);
}

KnownNode SubnetNames::find(Lid lid) const {
    const auto found = lids_.find(lid);
    if (found == lids_.end()) return {};
    const LidFacts& facts = found->second;
    KnownNode node = facts.node.frame != 0 ? known(facts.node.value) : KnownNode{};
    if (facts.port.frame != 0) {
        // A port that no node is known to have may be an alias: the node's own word is better.
        const KnownNode by_port = of_port(facts.port.value);
        const bool is_later = facts.port.frame > facts.node.frame && ports_.contains(facts.port.value);
        if (node.empty() || is_later) node = by_port;
    }
    if (node.description.empty() && facts.description.frame != 0) node.description = facts.description.value;
    return node;
}

KnownNode SubnetNames::find(const Gid& gid) const {
    const Guid port = interface_of(gid);
    if (ports_.contains(port)) return of_port(port);
    const auto found = gids_.find(gid);
    return found == gids_.end() ? KnownNode{} : find(found->second.value);
}

std::optional<Guid> SubnetNames::node_of(Lid lid) const {
    const auto found = lids_.find(lid);
    if (found == lids_.end() || found->second.node.frame == 0) return std::nullopt;
    return found->second.node.value;
}

void SubnetNames::merge(const SubnetNames& other) {
    for (const auto& [guid, fact] : other.nodes_) add(nodes_, max_nodes, guid, fact.value, fact.frame);
    for (const auto& [guid, fact] : other.ports_) add(ports_, max_ports, guid, fact.value, fact.frame);
    for (const auto& [gid, fact] : other.gids_) add(gids_, max_ports, gid, fact.value, fact.frame);
    for (const auto& [lid, facts] : other.lids_) {
        LidFacts& own = lids_[lid];
        if (facts.node.frame != 0) assign_node(lid, 0, facts.node.value, facts.node.frame);
        if (facts.port.frame != 0) own.port.update(facts.port.value, facts.port.frame);
        if (facts.description.frame != 0) own.description.update(facts.description.value, facts.description.frame);
    }
}

std::size_t SubnetNames::octets() const {
    constexpr std::size_t entry = 64;  // an entry with its place in the table, without the text
    std::size_t sum = (nodes_.size() + ports_.size() + gids_.size()) * entry + lids_.size() * 2 * entry;
    for (const auto& [guid, fact] : nodes_) sum += fact.value.capacity();
    return sum;
}

}  // namespace dissect::subnet
