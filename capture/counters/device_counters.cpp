#include "capture/counters/device_counters.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <tuple>

#include "base/file.h"
#include "capture/counters/folder_entries.h"

namespace capture::counters {

namespace {

namespace fs = std::filesystem;

/// Absent where the file holds no number.
std::optional<std::uint64_t> read_number(const fs::path& path) {
    const std::string text = base::first_line(path);
    std::uint64_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

void read_folder(const fs::path& folder, const std::string& device, std::uint32_t port,
                 std::vector<DeviceCounterValue>& out) {
    for (const fs::path& file : folder_entries(folder)) {
        if (file.filename() == "lifespan") continue;
        if (const auto value = read_number(file)) out.push_back({device, port, file.filename(), *value});
    }
}

}  // namespace

std::vector<DeviceCounterValue> read_device_counters(const std::string& root) {
    std::vector<DeviceCounterValue> counters;
    for (const fs::path& device : folder_entries(root)) {
        const std::string name = device.filename();
        read_folder(device / "hw_counters", name, 0, counters);
        for (const fs::path& port : folder_entries(device / "ports")) {
            std::uint32_t number = 0;
            const std::string text = port.filename();
            std::from_chars(text.data(), text.data() + text.size(), number);
            read_folder(port / "hw_counters", name, number, counters);
            read_folder(port / "counters", name, number, counters);
        }
    }
    const auto key = [](const DeviceCounterValue& counter) {
        return std::tie(counter.device, counter.port, counter.name);
    };
    std::stable_sort(counters.begin(), counters.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
    counters.erase(
        std::unique(counters.begin(), counters.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
        counters.end());
    return counters;
}

}  // namespace capture::counters
