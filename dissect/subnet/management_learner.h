#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>

#include "dissect/dissector.h"
#include "dissect/subnet/subnet_names.h"

namespace dissect::subnet {

/// Learns names from management datagrams: answers of nodes to the subnet manager (on both kinds of routes), records of
/// Subnet Administration, also those across segments, and paths that connections are made on.
class ManagementLearner {
public:
    /// A unit that is no management datagram teaches nothing.
    void learn(const Unit& unit);

    const SubnetNames& names() const { return names_; }
    std::size_t octets() const;

private:
    /// A node at the end of a directed route: answers from there have no LID.
    struct RouteEnd {
        Guid node = 0;
        std::uint8_t type = 0;
        Lid lid = 0;  ///< that PortInfo named before NodeInfo came
        std::uint8_t lmc = 0;
        std::string description = {};  ///< the same
    };

    void learn_answer(const Unit& unit, base::Bytes mad);
    void learn_directed(base::Bytes mad);
    void learn_records(const Unit& unit, base::Bytes mad);
    void learn_record(std::uint16_t attribute, base::Bytes record);
    void learn_paths(base::Bytes request);
    void learn_path(base::Bytes path);

    SubnetNames names_ = {};
    std::unordered_map<std::uint64_t, RouteEnd> routes_ = {};
    std::uint64_t frame_ = 0;
};

}  // namespace dissect::subnet
