#pragma once
#include <string>

#include "exporters/flow_fields.h"
#include "policy/compliance.h"

namespace cli::policy {

/// A smaller part of the bytes that break a rule is MINOR.
inline constexpr double minor_share = 0.01;

/// For people. `read_path` is the capture, for commands that show the frames; empty if frames cannot be read again.
std::string compliance_page(const ::policy::Compliance& compliance, const exporters::Context& context,
                            const std::string& read_path);
/// One JSON object with a newline.
std::string compliance_json(const ::policy::Compliance& compliance, const exporters::Context& context);

}  // namespace cli::policy
