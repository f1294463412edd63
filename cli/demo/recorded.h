#pragma once
#include <memory>

#include "capture/file_source.h"

namespace cli::demo {

/// The capture that the program carries: what the demo itself once recorded, cut to headers.
capture::Result<std::unique_ptr<capture::FileSource>> open_recorded();

}  // namespace cli::demo
