#include "tests/support/captures.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "capture/files/file_source.h"
#include "tests/support/pcaps.h"

namespace support {

wire::Frame KeptFrame::frame(std::uint64_t number) const {
    wire::Frame view;
    view.bytes = octets;
    view.wire_length = wire_length;
    view.link_type = link_type;
    view.time_ns = time_ns;
    view.number = number;
    return view;
}

void load_capture(const std::string& path, std::size_t limit, std::vector<KeptFrame>& frames) {
    auto source = capture::open_file(path);
    if (!source.ok()) {
        std::fprintf(stderr, "%s\n", source.error().text().c_str());
        std::exit(1);
    }
    wire::Frame frame;
    for (std::size_t i = 0; i < limit && (*source)->next(frame) == capture::ReadStatus::frame; ++i)
        frames.push_back({{frame.bytes.begin(), frame.bytes.end()}, frame.wire_length, frame.link_type, frame.time_ns});
}

std::vector<KeptCapture> load_captures(std::size_t limit_of_each) {
    std::vector<KeptCapture> captures;
    for (const auto& entry : std::filesystem::directory_iterator(support::pcaps())) {
        const std::string name = entry.path().filename();
        if (name.find(".pcap") == std::string::npos) continue;
        captures.push_back({name, {}});
        load_capture(entry.path(), limit_of_each, captures.back().frames);
    }
    // A folder's order is not the same everywhere; a seed must mean the same everywhere.
    std::sort(captures.begin(), captures.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return captures;
}

}  // namespace support
