#pragma once
#include "base/result.h"
#include "dissect/filter/program.h"

namespace dissect {
class FieldCollector;
}

namespace dissect::filter {

/// Turns a checked tree into a program that reads its fields from `collector`, which is told to gather them.
base::Result<Program, SyntaxError> compile(const Syntax& tree, FieldCollector& collector);

}  // namespace dissect::filter
