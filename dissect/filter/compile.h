#pragma once
#include "base/result.h"
#include "dissect/filter/program.h"

namespace dissect {
class FieldCollector;
}

namespace dissect::filter {

/// Turns a checked tree into a program that reads its fields from `collector`, which then gathers them.
base::Result<Program, SyntaxError> compile(const Syntax& tree, FieldCollector& collector);

}  // namespace dissect::filter
