#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "metrics/figures/path_figures.h"

namespace metrics::inline measure::inline flow {

/// The number of different values, estimated in 64 bytes. Flajolet, Fusy, Gandouet, Meunier: HyperLogLog, 2007, with
/// linear counting of small numbers. The standard error is 13 %.
class DistinctCounter {
public:
    void add(std::uint64_t value);
    std::uint64_t estimate() const;

private:
    static constexpr unsigned index_bits = 6;
    std::array<std::uint8_t, 1u << index_bits> registers_{};
};

/// The packets of one entropy of a flow.
struct EntropyRow {
    Entropy entropy;
    std::uint64_t packets = 0;
    std::uint64_t wire_bytes = 0;
    std::uint32_t ce = 0;
    std::uint32_t late = 0;
    std::uint32_t repeated = 0;
    std::uint32_t loss_episodes = 0;
};
static_assert(sizeof(EntropyRow) == 40);

/// Rows for a flow with more than PathFigures::most_exact entropies. From a pool.
using ManyEntropies = std::array<EntropyRow, PathFigures::most_rows>;

/// The counts of a flow at one moment, which are the sum over its entropies.
struct EntropyTotals {
    std::uint64_t packets = 0;
    std::uint64_t wire_bytes = 0;
    std::uint64_t ce = 0;
};

/// The entropies of a flow that has used several. From a pool, taken when the second one passes. Packets are counted
/// where the entropy changes, so that a flow that changes rarely pays nothing for it.
///
/// Up to eight entropies are exact. Of more, the heaviest are kept by space saving (Metwally, Agrawal, El Abbadi,
/// 2005): a new one takes the place and the count of the lightest, so that a count may be too high, never too low.
struct FlowEntropies {
    static constexpr std::uint32_t no_block = 0xffffffff;
    static constexpr std::size_t remembered = 128;
    static constexpr std::uint8_t no_row = 0xff;

    std::array<EntropyRow, PathFigures::most_exact> exact{};
    std::uint32_t many = no_block;  ///< ManyEntropies, in place of `exact`
    std::uint8_t known = 0;         ///< rows in use
    std::uint8_t present = 0;       ///< row of the last data packet
    bool is_full = false;           ///< an entropy has had no row
    std::uint64_t changes = 0;
    EntropyTotals before;  ///< of the flow, when the present row's packets began
    DistinctCounter distinct;
    std::array<std::uint8_t, remembered> first_row{};  ///< by position: the row of the packet that carried it first
};

}  // namespace metrics::measure::flow
