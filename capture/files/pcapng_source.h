#pragma once
#include <memory>
#include <string>

#include "capture/files/file_source.h"

namespace capture::inline files {

/// Takes ownership of `input`, whose data begins with a Section Header Block.
base::Result<std::unique_ptr<FileSource>> open_pcapng(std::unique_ptr<Input> input, const std::string& path);

}  // namespace capture::files
