#pragma once
#include <optional>
#include <vector>

#include "dissect/arena.h"
#include "dissect/filter/program.h"

namespace dissect {
class FieldCollector;
}

namespace dissect::filter {

/// Arithmetic of two values; nullopt if there is no result (a division by zero, an overflow).
std::optional<Wide> reckon(Op op, Wide left, Wide right);

/// The memory of a running program. Reused from frame to frame.
struct Workspace {
    using Values = std::vector<Operand>;

    explicit Workspace(const Program& program);

    std::vector<Values> registers;
    std::vector<char> kept;
    Values spare;
    Arena arena{std::size_t{4} << 20};
};

/// Runs a program over the values gathered from one frame.
bool evaluate(const Program& program, const FieldCollector& collector, Workspace& workspace);

}  // namespace dissect::filter
