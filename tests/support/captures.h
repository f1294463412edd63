#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wire/frame.h"

namespace support {

/// A frame with octets of its own.
struct KeptFrame {
    std::vector<std::byte> octets;
    std::uint32_t wire_length = 0;
    wire::LinkType link_type = wire::LinkType::ethernet;
    std::int64_t time_ns = 0;

    /// A view, valid for as long as this is.
    wire::Frame frame(std::uint64_t number) const;
};

struct KeptCapture {
    std::string name;
    std::vector<KeptFrame> frames;
};

/// Appends the first `limit` frames of a capture file; ends the program where it cannot be read.
void load_capture(const std::string& path, std::size_t limit, std::vector<KeptFrame>& frames);

/// All captures of pcaps/, by name.
std::vector<KeptCapture> load_captures(std::size_t limit_of_each);

}  // namespace support
