#include "exporters/prometheus/label_sets.h"

#include <cstring>
#include <unordered_set>

#include "base/hash.h"
#include "exporters/prometheus/labels.h"

namespace exporters::prometheus {
namespace {
constexpr std::uint8_t ecn_bits = 3;
constexpr std::size_t max_places(std::size_t max_peers) { return LabelSets::sets_per_peer * (max_peers + 1); }
}  // namespace

void NamedPlaces::settle(double elapsed_seconds) {
    for (const std::string& lost : list_.settle(elapsed_seconds)) {
        const auto found = numbers_.find(lost);
        if (found == numbers_.end()) continue;
        names_.erase(found->second);
        numbers_.erase(found);
    }
    for (const std::string& name : list_.held()) {
        if (numbers_.contains(name)) continue;
        // Interfaces have 16 bits for theirs.
        do last_ = last_ == 0xffff ? 1 : last_ + 1;
        while (names_.contains(last_));
        numbers_.emplace(name, last_);
        names_.emplace(last_, name);
    }
}

std::uint32_t NamedPlaces::number(const std::string& name) const {
    const auto found = numbers_.find(name);
    return found == numbers_.end() ? 0 : found->second;
}

std::string_view NamedPlaces::name(std::uint32_t number) const {
    const auto found = names_.find(number);
    return found == names_.end() ? other : std::string_view(found->second);
}

std::size_t LabelSets::AddressHash::operator()(const metrics::Address& address) const {
    std::array<std::uint64_t, 2> halves;
    std::memcpy(halves.data(), address.octets.data(), sizeof halves);
    return base::mix(base::mix(0, halves[0]), halves[1]);
}

LabelSets::LabelSets(const TrafficOptions& options)
    : interface_names_(options.interfaces), peers_(options.max_peers), sets_(max_places(options.max_peers)) {}

void LabelSets::set_options(const TrafficOptions& options) {
    interface_names_ = options.interfaces;
    peers_.set_places(options.max_peers);
    sets_.set_places(max_places(options.max_peers));
}

const LabelSets::Host& LabelSets::host(const metrics::Address& address) {
    const auto [at, is_new] = hosts_.try_emplace(address);
    Host& host = at->second;
    if (!is_new) return host;
    host.own = std::binary_search(own_addresses_.begin(), own_addresses_.end(), address);
    std::string name = metrics::address_text(address, names_);
    if (name == other || address.family == wire::AddressFamily::none)
        name = address.family == wire::AddressFamily::none ? "unknown" : metrics::to_text(address);
    host.label = label_value(name);
    host.has_place = peers_.number(host.label) != 0;
    return host;
}

LabelSets::Way LabelSets::way_of(const metrics::FlowSnapshot& flow) {
    const Host& source = host(flow.source.address);
    const Host& destination = host(flow.destination.address);
    if (source.own) return {0, &destination};
    if (destination.own) return {1, &source};
    return {2, &destination};
}

std::string LabelSets::interface_label(std::uint32_t interface) const {
    return interface < interface_names_.size() ? label_value(interface_names_[interface]) : "unknown";
}
std::uint16_t LabelSets::interface_of(std::uint32_t interface) const {
    return static_cast<std::uint16_t>(interfaces_.number(interface_label(interface)));
}

LabelSet LabelSets::unfolded(const metrics::FlowSnapshot& flow) {
    const Way way = way_of(flow);
    const auto octet = static_cast<std::uint8_t>(flow.traffic_class & ~ecn_bits);
    return LabelSet::of(peers_.number(way.peer->label), interface_of(flow.interface),
                        classes_.holds(octet) ? octet : LabelSet::other_class, flow.transport, way.direction);
}

void LabelSets::assign(const metrics::Snapshot& difference, const metrics::HostNames& names,
                       const std::vector<metrics::Address>& own_addresses, double elapsed_seconds) {
    names_ = &names;
    own_addresses_ = own_addresses;
    std::sort(own_addresses_.begin(), own_addresses_.end());
    hosts_.clear();
    for (const auto& flow : difference.flows) {
        const std::uint64_t octets = std::max<std::uint64_t>(flow.wire_bytes, 1);
        peers_.weigh(way_of(flow).peer->label, octets);
        interfaces_.weigh(interface_label(flow.interface), octets);
        classes_.weigh(static_cast<std::uint8_t>(flow.traffic_class & ~ecn_bits), octets);
    }
    for (const auto& pause : difference.pauses) interfaces_.weigh(interface_label(pause.interface), 1);
    peers_.settle(elapsed_seconds);
    interfaces_.settle(elapsed_seconds);
    classes_.settle(elapsed_seconds);
    for (auto& [address, host] : hosts_) host.has_place = peers_.number(host.label) != 0;

    for (const auto& flow : difference.flows) {
        const LabelSet set = unfolded(flow);
        if (set != set.folded()) sets_.weigh(set.key, std::max<std::uint64_t>(flow.wire_bytes, 1));
    }
    sets_.settle(elapsed_seconds);
}

LabelSet LabelSets::of(const metrics::FlowSnapshot& flow) {
    const LabelSet set = unfolded(flow);
    return sets_.holds(set.key) ? set : set.folded();
}

bool LabelSets::lives(LabelSet set) const {
    if (set == set.folded()) return true;
    const std::uint8_t octet = set.traffic_class();
    return peers_.has(set.peer()) && interfaces_.has(set.interface()) &&
           (octet == LabelSet::other_class || classes_.holds(octet)) && sets_.holds(set.key);
}

std::array<std::string, 5> LabelSets::values(LabelSet set) const {
    const std::uint8_t octet = set.traffic_class();
    return {std::string(interfaces_.name(set.interface())), std::string(metrics::name_of(set.transport())),
            std::string(directions[set.direction()]),
            octet == LabelSet::other_class ? std::string(other) : std::to_string(octet),
            std::string(peers_.name(set.peer()))};
}

Truncation LabelSets::truncation(const metrics::Snapshot& difference, const metrics::Snapshot& now) {
    std::unordered_set<std::string_view> peers;
    for (const auto& flow : now.flows) {
        const Host& peer = *way_of(flow).peer;
        if (!peer.has_place) peers.insert(peer.label);
    }
    std::unordered_set<std::uint64_t> sets;
    for (const auto& flow : difference.flows) {
        const LabelSet set = unfolded(flow);
        if (set != set.folded() && !sets_.holds(set.key)) sets.insert(set.key);
    }
    return {peers.size(), sets.size()};
}

}  // namespace exporters::prometheus
