#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "dissect/filter/filter_value.h"
#include "dissect/filter/regex.h"
#include "dissect/filter/syntax.h"

namespace dissect::filter {

/// Steps of a compiled filter. A test leaves its result in the one flag; values are lists with one entry for each
/// occurrence, in numbered registers. Jumps go forward only, so every program ends.
enum class Op : std::uint8_t {
    // tests
    has_field,      ///< a slot
    has_values,     ///< a register
    has_bits,       ///< a register: any value other than zero
    compare_field,  ///< a slot, b constant
    compare,        ///< a register, b register
    contains,       ///< a register, b register
    matches,        ///< a register, b regular expression
    member,         ///< a register, b set
    // the flag
    negate,
    keep,     ///< a place of a kept flag
    exclude,  ///< flag = flag xor kept flag a
    jump_if,  ///< the step to continue with
    jump_unless,
    // values, into register a
    load_field,     ///< b slot
    load_layers,    ///< b slot, c ranges
    load_constant,  ///< b constant
    slice,          ///< in place, c ranges
    bit_and,
    sum,
    difference,
    product,
    quotient,
    remainder,  ///< b register, c register
    negative,
    absolute,
    length,
    count,
    upper,
    lower,   ///< in place
    string,  ///< in place, c type
    largest,
    smallest,  ///< b first register, c number of registers
};

enum class Comparison : std::uint8_t { equal, unequal, less, less_equal, greater, greater_equal };

struct Instruction {
    Op op{};
    Comparison comparison = Comparison::equal;
    bool all = false;           ///< every pair of values has to satisfy the test, not just one
    bool whole = false;         ///< of a protocol, everything that it carries is loaded, not only its own bytes
    Type type = Type::untyped;  ///< of the values
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint32_t c = 0;
};

/// `{1, 3 .. 5}`; an element that is a field is read from registers.
struct Set {
    struct Element {
        Operand low;
        Operand high;
    };
    struct Registers {
        std::uint32_t low;
        std::uint32_t high;
    };
    std::vector<Element> constants;
    std::vector<Registers> registers;
};

struct Program {
    std::vector<Instruction> code;
    std::vector<Operand> constants;
    std::deque<std::string> octets;  ///< constants point here; places do not move
    std::vector<Regex> expressions;
    std::vector<Set> sets;
    std::vector<std::vector<Range>> ranges;
    std::uint32_t register_count = 0;
    std::uint32_t kept_count = 0;
};

}  // namespace dissect::filter
