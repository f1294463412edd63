#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exporters/prometheus/shortlist.h"
#include "exporters/prometheus/tables.h"

namespace exporters::prometheus {

/// The five labels of a flow's series in one number; peer and interface by the number of their place, 0 is `other`.
struct LabelSet {
    std::uint64_t key = 0;

    static constexpr std::uint8_t other_class = 1;  ///< a class has no ECN bits, so it is not a class
    static LabelSet of(std::uint32_t peer, std::uint16_t interface, std::uint8_t traffic_class,
                       wire::Transport transport, std::uint8_t direction) {
        return {std::uint64_t{peer} << 32 | std::uint64_t{interface} << 16 | std::uint64_t{traffic_class} << 8 |
                static_cast<std::uint64_t>(transport) << 4 | direction};
    }
    std::uint32_t peer() const { return static_cast<std::uint32_t>(key >> 32); }
    std::uint16_t interface() const { return static_cast<std::uint16_t>(key >> 16); }
    std::uint8_t traffic_class() const { return static_cast<std::uint8_t>(key >> 8); }
    wire::Transport transport() const { return static_cast<wire::Transport>(key >> 4 & 0xf); }
    std::uint8_t direction() const { return static_cast<std::uint8_t>(key & 0xf); }
    /// The label set that counts it when there are too many combinations.
    LabelSet folded() const { return of(0, 0, other_class, transport(), direction()); }
    auto operator<=>(const LabelSet&) const = default;
};
inline constexpr std::array<std::string_view, 3> directions{"transmit", "receive", "forward"};
inline constexpr std::size_t transport_count = 4;

/// Places for names, each with a number that no other name had before.
class NamedPlaces {
public:
    explicit NamedPlaces(std::size_t places) : list_(places) {}
    void set_places(std::size_t places) { list_.set_places(places); }
    void weigh(const std::string& name, std::uint64_t octets) { list_.weigh(name, octets); }
    void settle(double elapsed_seconds);
    std::uint32_t number(const std::string& name) const;  ///< 0 without a place
    bool has(std::uint32_t number) const { return number == 0 || names_.contains(number); }
    std::string_view name(std::uint32_t number) const;

private:
    Shortlist<std::string> list_;
    std::map<std::string, std::uint32_t> numbers_;
    std::unordered_map<std::uint32_t, std::string> names_;
    std::uint32_t last_ = 0;
};

/// The labels under which a flow counts. Their number is bounded, whatever the traffic.
class LabelSets {
public:
    static constexpr std::size_t most_interfaces = 16;
    static constexpr std::size_t most_classes = 8;
    static constexpr std::size_t sets_per_peer = 8;  ///< on average
    static constexpr std::size_t most_sets(std::size_t max_peers) {
        return sets_per_peer * (max_peers + 1) + transport_count * directions.size();
    }

    explicit LabelSets(const TrafficOptions& options);
    void set_options(const TrafficOptions& options);

    /// Call it once for each interval, before of(): decides which sets get and lose a place.
    void assign(const metrics::Snapshot& difference, const metrics::HostNames& names,
                const std::vector<metrics::Address>& own_addresses, double elapsed_seconds);
    LabelSet of(const metrics::FlowSnapshot& flow);
    /// False if one of its labels has lost its place: its series end.
    bool lives(LabelSet set) const;
    std::uint16_t interface_of(std::uint32_t interface) const;
    bool interface_lives(std::uint16_t number) const { return interfaces_.has(number); }
    std::string_view interface_name(std::uint16_t number) const { return interfaces_.name(number); }

    std::array<std::string, 5> values(LabelSet set) const;  ///< of interface, transport, direction, traffic_class, peer
    Truncation truncation(const metrics::Snapshot& difference, const metrics::Snapshot& now);

    struct Host {
        bool own = false;
        std::string label;
        bool has_place = false;  ///< as a peer
    };
    /// As names and own addresses were at the last assign().
    const Host& host(const metrics::Address& address);
    /// Whether a label is that of a peer with a place.
    bool holds_peer(const std::string& label) const { return peers_.number(label) != 0; }

private:
    struct Way {
        std::uint8_t direction = 0;
        const Host* peer = nullptr;
    };
    struct AddressHash {
        std::size_t operator()(const metrics::Address& address) const;
    };
    Way way_of(const metrics::FlowSnapshot& flow);
    std::string interface_label(std::uint32_t interface) const;
    LabelSet unfolded(const metrics::FlowSnapshot& flow);

    std::vector<std::string> interface_names_;
    NamedPlaces peers_;
    NamedPlaces interfaces_{most_interfaces};
    Shortlist<std::uint8_t> classes_{most_classes};
    Shortlist<std::uint64_t> sets_;
    std::unordered_map<metrics::Address, Host, AddressHash> hosts_;
    const metrics::HostNames* names_ = nullptr;
    std::vector<metrics::Address> own_addresses_;
};

}  // namespace exporters::prometheus
