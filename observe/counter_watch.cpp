#include "observe/counter_watch.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace observe {

namespace {

using capture::counters::CounterReading;
using capture::counters::Meaning;
using DeviceUnit = capture::counters::Unit;

/// Beyond it nothing new is counted: sets of queue pairs come and go.
constexpr std::size_t most_counters = 65'536;

metrics::CounterUnit unit_of(DeviceUnit unit) {
    using metrics::CounterUnit;
    switch (unit) {
        case DeviceUnit::times: return CounterUnit::times;
        case DeviceUnit::octets:
        case DeviceUnit::words: return CounterUnit::octets;
        case DeviceUnit::microseconds: return CounterUnit::ns;
        case DeviceUnit::ticks: break;
    }
    return CounterUnit::ticks;
}

/// In the unit that unit_of() returns; stays at its maximum.
std::uint64_t in_unit(std::uint64_t steps, const Meaning& meaning) {
    const std::uint64_t factor = meaning.unit == DeviceUnit::words          ? 4
                                 : meaning.unit == DeviceUnit::microseconds ? 1000
                                                                            : 1;
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    return steps > most / factor ? most : steps * factor;
}

/// ib_qp_type and ib_qp_state of include/rdma/ib_verbs.h, as rdma(8) writes them.
std::string type_name(std::uint8_t type) {
    constexpr std::array<std::string_view, 11> names{
        "SMI", "GSI", "RC", "UC", "UD", "RAW_IPV6", "RAW_ETHERTYPE", "", "RAW_PACKET", "XRC_INI", "XRC_TGT"};
    const std::string_view name = type < names.size() ? names[type] : std::string_view{};
    return name.empty() ? "other" : std::string(name);
}
std::string state_name(std::uint8_t state) {
    constexpr std::array<std::string_view, 7> names{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
    return state < names.size() ? std::string(names[state]) : "other";
}

metrics::DeviceQueuePair describe(const capture::counters::QueuePairResource& from) {
    return {.device = from.device,
            .port = from.port,
            .number = from.number,
            .peer_number = from.peer_number,
            .type = type_name(from.type),
            .state = state_name(from.state),
            .process = from.process,
            .owner = from.kernel_name};
}

template <class T>
void append(std::vector<T>& to, base::Result<std::vector<T>> from) {
    if (!from) return;
    for (T& one : *from) to.push_back(std::move(one));
}

}  // namespace

DeviceResources read_resources() {
    DeviceResources out;
    auto netlink = capture::counters::RdmaNetlink::open();
    if (!netlink) return out;
    append(out.devices, netlink->devices());
    for (const capture::counters::RdmaDevice& device : out.devices) {
        append(out.ports, netlink->ports(device));
        append(out.queue_pairs, netlink->queue_pairs(device));
        append(out.sets, netlink->queue_pair_counters(device));
    }
    return out;
}

void CounterWatch::count(const CounterReading& reading, std::uint32_t set,
                         const std::vector<std::uint32_t>& queue_pairs) {
    const Key key{reading.device, reading.port, set, reading.name};
    const auto known = counted_.find(key);
    if (known == counted_.end()) {
        if (counted_.size() >= most_counters) return;
        Counted& fresh = counted_[key];
        fresh.last = reading.value;
        fresh.counter = {.device = reading.device,
                         .port = reading.port,
                         .name = reading.name,
                         .fact = reading.meaning.fact,
                         .unit = unit_of(reading.meaning.unit),
                         .priority = reading.meaning.priority <= 7 ? reading.meaning.priority : -1,
                         .queue_pairs = queue_pairs,
                         .value = 0};
        return;
    }
    Counted& counted = known->second;
    const auto more = capture::counters::growth(counted.last, reading.value, reading.meaning);
    counted.last = reading.value;
    if (!queue_pairs.empty()) counted.counter.queue_pairs = queue_pairs;
    if (more) counted.counter.value += in_unit(*more, reading.meaning);
}

void CounterWatch::look(std::int64_t now_ns) {
    if (!began_ns_) began_ns_ = now_ns;
    for (const CounterReading& reading : sources_.counters()) count(reading, 0, {});
    const DeviceResources resources = sources_.resources();
    for (const auto& set : resources.sets)
        for (const auto& [name, value] : set.values)
            count({set.device, set.port, name, value, capture::counters::meaning_of(name)}, set.identifier,
                  set.queue_pairs);
    figures_ = {};
    figures_.length_ns = now_ns > *began_ns_ ? static_cast<std::uint64_t>(now_ns - *began_ns_) : 0;
    for (const auto& [key, counted] : counted_) figures_.counters.push_back(counted.counter);
    for (const auto& port : resources.ports) {
        constexpr std::uint8_t active = 4;  // IB_PORT_ACTIVE
        metrics::DevicePort shown{port.device, port.port, {}, port.interface, port.state == active};
        for (const auto& device : resources.devices)
            if (device.name == port.device) shown.protocol = device.protocol;
        figures_.ports.push_back(std::move(shown));
    }
    const std::size_t shown = std::min(resources.queue_pairs.size(), metrics::DeviceFigures::most_queue_pairs);
    for (std::size_t i = 0; i < shown; ++i) figures_.queue_pairs.push_back(describe(resources.queue_pairs[i]));
    figures_.queue_pairs_left_out = resources.queue_pairs.size() - shown;
}

}  // namespace observe
