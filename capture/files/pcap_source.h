#pragma once
#include <memory>
#include <string>

#include "capture/files/file_source.h"

namespace capture::inline files {

/// Magic numbers of the pcap family, as a little-endian machine reads a little-endian file.
namespace pcap_magic {
constexpr std::uint32_t microseconds = 0xa1b2c3d4;
constexpr std::uint32_t nanoseconds = 0xa1b23c4d;
constexpr std::uint32_t kuznetzov = 0xa1b2cd34;  ///< longer record headers: interface index, protocol, packet type
}  // namespace pcap_magic

/// Takes ownership of `input`, whose data begins with one of the magics above in either byte order.
base::Result<std::unique_ptr<FileSource>> open_pcap(std::unique_ptr<Input> input, const std::string& path);

}  // namespace capture::files
