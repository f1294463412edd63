#pragma once
#include <memory>
#include <string>

#include "capture/file_source.h"

namespace capture {

/// Takes over `input`, whose data begins with a Section Header Block.
Result<std::unique_ptr<FileSource>> open_pcapng(std::unique_ptr<Input> input, const std::string& path);

}  // namespace capture
