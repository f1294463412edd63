#include "metrics/figures/path_figures.h"

#include <fmt/core.h>

namespace metrics::inline figures {

std::string to_text(Entropy entropy) {
    switch (entropy.kind()) {
        case Entropy::Kind::udp: {
            std::string text = fmt::format("{}", entropy.udp_port());
            if (entropy.flow_label() != 0) text += fmt::format(" label 0x{:05x}", entropy.flow_label());
            if (entropy.outer_port() != 0) text += fmt::format(" in {}", entropy.outer_port());
            return text;
        }
        case Entropy::Kind::tcp:
            return fmt::format("{} > {}", entropy.tcp_source_port(), entropy.tcp_destination_port());
        case Entropy::Kind::infiniband:
            return fmt::format("lid {} > {} sl {}", entropy.source_lid(), entropy.destination_lid(),
                               entropy.service_level());
        case Entropy::Kind::unknown: break;
    }
    return "-";
}

std::uint32_t flow_label_of(std::uint32_t queue_pair, std::uint32_t remote_queue_pair) {
    std::uint64_t value = std::uint64_t{queue_pair} * remote_queue_pair;
    value ^= value >> 20;
    value ^= value >> 40;
    return static_cast<std::uint32_t>(value & 0xfffff);
}

std::uint16_t udp_port_of(std::uint32_t flow_label) {
    return static_cast<std::uint16_t>(0xc000 | ((flow_label & 0x3fff) ^ ((flow_label & 0xfc000) >> 14)));
}

}  // namespace metrics::figures
