#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "doctor/checks/check.h"

namespace doctor::inline bundle {

/// The content of a bug report, as a .tar.gz: findings, inventory, and the small files of /sys and /proc that were
/// read, all masked (Mask). \param transcript what a Root kept while the inventory was taken \param page the findings
/// as they are shown
base::Result<std::string> make_bundle(const Root& root, const Inventory& machine, std::span<const Finding> findings,
                                      const Transcript& transcript, std::string_view page, std::string_view version,
                                      std::int64_t now_s);

}  // namespace doctor::bundle
