#pragma once
#include <cstdint>

#include "cli/report/options.h"

namespace cli::report {

/// The length of a bin with which a time line begins: 1, 2 or 5 times a power of ten, for about 300 bins in all. Files
/// are read for their times alone, which takes a fraction of the time that measuring takes. A length that turns out too
/// short is doubled later.
std::uint64_t first_bin_ns(const ReportOptions& options);

/// The least of 1, 2 and 5 times a power of ten that is no less than `ns`; at least 1 us.
std::uint64_t round_up_to_125(std::uint64_t ns);

}  // namespace cli::report
