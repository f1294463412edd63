#pragma once
#include <cstddef>
#include <cstdint>

#include "metrics/measure/flow/slab.h"
#include "metrics/measure/iwarp/direction.h"

namespace metrics::inline measure::iwarp {

/// The holes of all directions; most directions have none.
class HoleTable {
public:
    explicit HoleTable(std::uint32_t max_directions) : holes_(max_directions) {}

    /// nullptr if the direction has none.
    Holes* find(const SentData& sent) { return sent.holes == Flow::no_block ? nullptr : &holes_[sent.holes]; }
    const Holes* find(const SentData& sent) const {
        return sent.holes == Flow::no_block ? nullptr : &holes_[sent.holes];
    }
    /// nullptr if there are too many already.
    Holes* obtain(SentData& sent) {
        if (sent.holes == Flow::no_block) {
            sent.holes = holes_.take();
            if (sent.holes == Slab<Holes>::none) sent.holes = Flow::no_block;
        }
        return find(sent);
    }
    void drop(SentData& sent) {
        if (sent.holes == Flow::no_block) return;
        holes_.give_back(sent.holes);
        sent.holes = Flow::no_block;
    }
    std::size_t octets() const { return holes_.octets(); }

private:
    Slab<Holes> holes_;
};

}  // namespace metrics::measure::iwarp
