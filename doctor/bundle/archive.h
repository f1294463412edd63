#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/result.h"

namespace doctor::inline bundle {

/// A .tar.gz of plain files: POSIX ustar, gzip. Names have at most 99 bytes, texts less than 8 GiB.
base::Result<std::string> make_archive(const std::vector<std::pair<std::string, std::string>>& files,
                                       std::int64_t modified_s);

}  // namespace doctor::bundle
