// What rdmascope's own readers say of the kernel's RDMA devices: netlink and sysfs, as one JSON object.
//
// For `./dev lab observe`, which compares it with rdma(8) and the files of the same moment. Exit status 1 where the
// kernel cannot be asked, with the reason.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "capture/counters/device_counters.h"
#include "capture/counters/rdma_netlink.h"

namespace {

using capture::counters::QueuePairCounters;
using capture::counters::RdmaNetlink;

template <class T>
T take(base::Result<T> result) {
    if (result) return std::move(result).value();
    std::fprintf(stderr, "kernel_view: %s\n", result.error().text().c_str());
    std::exit(1);
}

nlohmann::json to_json(const std::vector<QueuePairCounters>& sets) {
    nlohmann::json all = nlohmann::json::array();
    for (const QueuePairCounters& set : sets) {
        nlohmann::json values = nlohmann::json::object();
        for (const auto& [name, value] : set.values) values[name] = value;
        all.push_back(
            {{"port", set.port}, {"identifier", set.identifier}, {"queue_pairs", set.queue_pairs}, {"values", values}});
    }
    return all;
}

nlohmann::json view(RdmaNetlink& netlink) {
    nlohmann::json devices = nlohmann::json::array();
    for (const auto& device : take(netlink.devices())) {
        nlohmann::json one = {{"name", device.name}, {"protocol", device.protocol}, {"ports", nlohmann::json::array()}};
        for (const auto& port : take(netlink.ports(device)))
            one["ports"].push_back({{"port", port.port},
                                    {"state", port.state},
                                    {"netdev", port.interface},
                                    {"counters", to_json(take(netlink.port_counters(device, port.port)))}});
        one["queue_pair_counters"] = to_json(take(netlink.queue_pair_counters(device)));
        one["queue_pairs"] = nlohmann::json::array();
        for (const auto& pair : take(netlink.queue_pairs(device)))
            one["queue_pairs"].push_back({{"lqpn", pair.number},
                                          {"rqpn", pair.peer_number},
                                          {"sq-psn", pair.send_psn},
                                          {"rq-psn", pair.receive_psn},
                                          {"type", pair.type},
                                          {"state", pair.state},
                                          {"pid", pair.process},
                                          {"comm", pair.kernel_name}});
        devices.push_back(one);
    }
    nlohmann::json files = nlohmann::json::object();
    for (const auto& counter : capture::counters::read_device_counters())
        files[counter.device + "/" + std::to_string(counter.port) + "/" + counter.name] = counter.value;
    return {{"devices", devices}, {"files", files}};
}

}  // namespace

int main() {
    RdmaNetlink netlink = take(RdmaNetlink::open());
    std::puts(view(netlink).dump(1).c_str());
}
