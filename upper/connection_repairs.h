#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace upper {

/// A time in which packets of a flow were sent again: from the last new packet to the last packet of the recovery.
struct Repair {
    std::uint32_t serial = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    bool is_sure = false;  ///< packets were lost, and not only reordered
};

/// The latest repairs of the two flows of a connection, by serial number. Takes no memory before the first repair.
class Repairs {
public:
    Repair& begin(std::int64_t begin_ns);
    /// nullptr if the repair is forgotten.
    Repair* find(std::uint32_t serial);
    const Repair* find(std::uint32_t serial) const;
    /// The time within [begin, end) in which packets were sent again. Repairs of the two flows may overlap.
    std::uint64_t within(std::int64_t begin_ns, std::int64_t end_ns) const;

private:
    static constexpr std::size_t kept = 64;
    std::vector<Repair> repairs_ = {};
    std::uint32_t serial_ = 0;
};

}  // namespace upper
