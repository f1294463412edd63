#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "doctor/binary/binary.h"
#include "doctor/checks/check.h"

namespace doctor::inline output {

using Json = nlohmann::ordered_json;

/// What `--export` writes and `--compare` reads; docs/doctor.md has its members. Unknown values are null.
Json to_json(const Inventory& machine);
/// What `--json` prints of findings: `worst`, `counts`, `findings`.
Json to_json(const Host& host, std::span<const Finding> findings);
Json to_json(const BinaryReport& report);
/// As text, indented, with a newline. Bytes that are not UTF-8 become U+FFFD.
std::string dumped(const Json& json);

}  // namespace doctor::output
