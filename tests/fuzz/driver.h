#pragma once
/// What the programs that mutate without libFuzzer have in common.
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fuzz {

/// Calls `leave` where the program dies of its input, by a signal or by a sanitizer's word.
void on_death(void (*leave)());

/// 0 where the text does not begin with a number.
std::uint64_t number_of(std::string_view text);

struct Shard {
    std::size_t index = 0;
    std::size_t count = 1;  ///< not 0
};
/// "2/4"
Shard shard_of(std::string_view text);

/// What RDMASCOPE_MUTATIONS says, or 400000.
std::uint64_t wished_mutations();

}  // namespace fuzz
