#include "tests/model/routes.h"

#include <fmt/format.h>

namespace model {

std::vector<RoutedPair> alike(std::uint32_t count, std::uint32_t packets, std::int64_t gap_ns) {
    std::vector<RoutedPair> pairs(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        pairs[i].port = static_cast<std::uint16_t>(0xc000 + i * 37 % 0x4000);
        pairs[i].packets = packets;
        pairs[i].gap_ns = gap_ns;
    }
    return pairs;
}

std::string to_json(const RoutePlan& plan, const RouteTruth& truth) {
    std::string out = fmt::format(
        "{{\"seed\": {}, \"late\": {}, \"naks\": {}, \"timeouts\": {}, \"route_packets\": [{}], \"entropies\": [",
        plan.seed, truth.late, truth.naks, truth.timeouts, fmt::join(truth.route_packets, ", "));
    const char* separator = "\n";
    for (const auto& [entropy, found] : truth.entropies) {
        out += fmt::format(
            "{}{{\"source\": \"{}\", \"port\": {}, \"label\": {}, \"outer_port\": {}, \"route\": {}, \"sent\": {}, "
            "\"lost\": {}, \"repeats\": {}, \"episodes\": {}, \"packets\": {}, \"octets\": {}, \"marked\": {}}}",
            separator, entropy.from_b ? "b" : "a", entropy.port, entropy.label, entropy.outer_port, found.route,
            found.sent, found.lost, found.repeats, found.episodes, found.packets, found.octets, found.marked);
        separator = ",\n";
    }
    return out + "]}\n";
}

}  // namespace model
