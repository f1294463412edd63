#include "capture/counters/counter_reading.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "capture/counters/device_counters.h"

namespace capture::counters {
namespace {

auto key(const CounterReading& reading) { return std::tie(reading.device, reading.port, reading.name); }

}  // namespace

std::vector<CounterReading> read_counters(const std::string& root, const EthernetReader& ethernet) {
    std::vector<CounterReading> readings;
    for (DeviceCounterValue& counter : read_device_counters(root)) {
        const Meaning meaning = meaning_of(counter.name);
        readings.push_back({std::move(counter.device), counter.port, std::move(counter.name), counter.value, meaning});
    }
    std::set<std::string> interfaces;  // several ports, or virtual functions, can be of one
    for (CarryingInterface& carrying : carrying_interfaces(root)) interfaces.insert(std::move(carrying.interface));
    for (const std::string& interface : interfaces) {
        const auto counters = ethernet(interface);
        if (!counters) continue;
        for (const EthernetCounter& counter : counters.value())
            if (const auto meaning = meaning_of_ethernet(counter.name))
                readings.push_back({interface, 0, counter.name, counter.value, *meaning});
    }
    std::sort(readings.begin(), readings.end(), [](const auto& a, const auto& b) { return key(a) < key(b); });
    return readings;
}

std::vector<std::optional<std::uint64_t>> growth(const std::vector<CounterReading>& before,
                                                 const std::vector<CounterReading>& now) {
    std::vector<std::optional<std::uint64_t>> more;
    auto old = before.begin();
    for (const CounterReading& reading : now) {
        while (old != before.end() && key(*old) < key(reading)) ++old;
        const bool known = old != before.end() && key(*old) == key(reading);
        more.push_back(known ? growth(old->value, reading.value, reading.meaning) : std::nullopt);
    }
    return more;
}

}  // namespace capture::counters
