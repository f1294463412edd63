#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "metrics/figures/snapshot.h"

namespace policy {

/// Addresses that begin with the same bits: "192.0.2.0/24".
struct AddressBlock {
    metrics::Address address;
    unsigned bits = 0;

    bool holds(const metrics::Address& one) const;
    bool operator==(const AddressBlock&) const = default;
};
/// An IPv4 or IPv6 address, or a block of them. The error says what is expected.
base::Result<AddressBlock> parse_block(std::string_view text);

/// Blocks of addresses. The blocks of a label are shared: many rules may name it.
class AddressBlocks {
public:
    using Label = std::shared_ptr<const std::vector<AddressBlock>>;

    void add(const AddressBlock& block) { own_.push_back(block); }
    void add(Label label) { labels_.push_back(std::move(label)); }
    bool empty() const { return own_.empty() && labels_.empty(); }
    bool holds(const metrics::Address& one) const;
    bool operator==(const AddressBlocks&) const = default;

private:
    std::vector<AddressBlock> own_ = {};
    std::vector<Label> labels_ = {};
};

/// The numbers from `first` to `last`.
template <class T>
struct NumberRange {
    T first = 0;
    T last = 0;

    bool holds(T number) const { return first <= number && number <= last; }
    bool operator==(const NumberRange&) const = default;
};
using PortRange = NumberRange<std::uint16_t>;
/// "4420", "20000-20099".
std::string text_of(PortRange range);
template <class T>
bool any_holds(const std::vector<NumberRange<T>>& ranges, T number) {
    return std::ranges::any_of(ranges, [number](const NumberRange<T>& range) { return range.holds(number); });
}
using ServiceRange = NumberRange<std::uint64_t>;

/// The highest bit of a P_Key says whether the sender is a full member: it does not name the partition. IBTA vol. 1,
/// 10.9.1.1.
constexpr unsigned partition_of(std::uint16_t key) { return key & 0x7fffu; }

/// Which flows a rule is about, in addition to its expression: each list that is not empty must hold the flow.
struct Selection {
    AddressBlocks hosts = {};                    ///< of either end
    AddressBlocks from = {};                     ///< of the sender
    AddressBlocks to = {};                       ///< of the receiver
    std::vector<PortRange> ports = {};           ///< of either end, or of the service that the connection asked for
    std::vector<ServiceRange> service_ids = {};  ///< that the connection asked for
    std::vector<std::uint16_t> partitions = {};  ///< P_Keys of some of the packets
    std::vector<std::string> protocols = {};
    std::vector<std::string> processes = {};   ///< patterns of program names
    std::vector<std::string> containers = {};  ///< how ids begin

    bool empty() const { return *this == Selection{}; }
    bool holds(const metrics::FlowSnapshot& flow) const;
    bool operator==(const Selection&) const = default;
};

/// The port of the service that the flow's connection asked for, if its set-up was captured. IBTA vol. 1, annex A11.
std::uint16_t service_port_of(const metrics::FlowSnapshot& flow);
/// TCP's ports of both ends, or the port of the service that the connection asked for; empty if neither is known.
std::vector<std::uint16_t> ports_of(const metrics::FlowSnapshot& flow);

}  // namespace policy
