#pragma once
#include <string>

#include "dissect/registry.h"

namespace dissect::output {

/// `-G fields`, in tshark's form: a line `P`, label and name for each protocol; a line `F`, label, name, type,
/// protocol, base and bit mask for each field, tab-separated. The last column, tshark's description, names the known
/// values.
std::string list_fields(const FieldRegistry& registry);

}  // namespace dissect::output
