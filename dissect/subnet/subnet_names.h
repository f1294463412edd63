#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dissect::subnet {

using Guid = std::uint64_t;
using Lid = std::uint16_t;
using Gid = std::array<std::uint8_t, 16>;

/// What is known about the node that has an address.
struct KnownNode {
    Guid guid = 0;                      ///< NodeGUID, or the port's GUID if no other is known; 0: unknown
    std::string_view description = {};  ///< NodeDescription, printable; empty if unknown. Valid until the next change.

    bool empty() const { return guid == 0 && description.empty(); }
};

/// Which node has which LID and GID, as management datagrams say. Each fact has the number of the frame that says it:
/// where two contradict each other, the later one counts, so that a LID may pass from node to node.
///
/// Memory is bounded: there are at most 65,535 LIDs, and tables of GUIDs and GIDs accept nothing new when they are
/// full.
class SubnetNames {
public:
    static constexpr std::size_t max_nodes = 65'536;
    static constexpr std::size_t max_ports = 131'072;

    /// NodeDescription: at most 64 bytes, which may be anything.
    void describe_node(Guid node, std::string_view description, std::uint64_t frame);
    /// The same of the node that has a LID, whose GUID need not be known.
    void describe_lid(Lid lid, std::string_view description, std::uint64_t frame);
    /// A GUID of a port, or an alias of it, belongs to the node.
    void add_port(Guid port, Guid node, std::uint64_t frame);
    /// The 2^lmc LIDs from `first` on belong to the node.
    void assign_node(Lid first, unsigned lmc, Guid node, std::uint64_t frame);
    /// The LID belongs to the port that has the GUID.
    void assign_port(Lid lid, Guid port, std::uint64_t frame);
    /// Packets to the GID go to the LID, within its subnet.
    void assign_gid(const Gid& gid, Lid lid, std::uint64_t frame);

    KnownNode find(Lid lid) const;
    KnownNode find(const Gid& gid) const;
    /// The node that has the LID, if its GUID is known.
    std::optional<Guid> node_of(Lid lid) const;

    bool empty() const { return nodes_.empty() && lids_.empty() && gids_.empty(); }
    /// Adds what others have learnt.
    void merge(const SubnetNames& other);
    std::size_t octets() const;

private:
    /// A value and the frame that said it; frame 0: no value.
    template <class T>
    struct Fact {
        T value = {};
        std::uint64_t frame = 0;

        /// Returns whether the value is now this one.
        bool update(const T& other, std::uint64_t later) {
            if (later < frame) return false;
            value = other;
            frame = later;
            return true;
        }
    };
    struct LidFacts {
        Fact<Guid> node = {};
        Fact<Guid> port = {};
        Fact<std::string> description = {};
    };
    struct GidHash {
        std::size_t operator()(const Gid& gid) const;
    };
    template <class Map, class Value>
    static void add(Map& map, std::size_t most, const typename Map::key_type& key, const Value& value,
                    std::uint64_t frame);

    KnownNode known(Guid node) const;
    KnownNode of_port(Guid port) const;

    std::unordered_map<Guid, Fact<std::string>> nodes_ = {};
    std::unordered_map<Guid, Fact<Guid>> ports_ = {};  ///< the node of a port's GUID
    std::unordered_map<Lid, LidFacts> lids_ = {};
    std::unordered_map<Gid, Fact<Lid>, GidHash> gids_ = {};
};

}  // namespace dissect::subnet
