#pragma once
#include <memory>
#include <string>

#include "capture/files/file_source.h"

namespace capture::inline files {

/// Whether the data are records of Endace's format, which has no magic number. The types and lengths of the first
/// records must be valid, each record must lead to the next one or to the end, and no time stamp may be far before the
/// previous one. Moves nothing.
bool looks_like_erf(Input& input);

/// Takes ownership of `input`, for which looks_like_erf() is true. Frames are whole records, as in pcap files of the
/// link type ERF. Padding between records is left out.
std::unique_ptr<FileSource> open_erf(std::unique_ptr<Input> input, const std::string& path);

}  // namespace capture::files
