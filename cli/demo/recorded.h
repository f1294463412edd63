#pragma once
#include <memory>

#include "capture/files/file_source.h"

namespace cli::demo {

/// The capture that the program carries: what the demo itself once recorded, cut to headers.
base::Result<std::unique_ptr<capture::FileSource>> open_recorded();

}  // namespace cli::demo
