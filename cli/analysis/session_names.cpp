#include <algorithm>
#include <array>
#include <span>

#include "cli/analysis/session.h"
#include "cli/host_names.h"

namespace cli::analysis {

struct Names::Table {
    cli::HostNames hosts;
};

Names::Names(bool wanted) {
    if (wanted) table_ = std::make_unique<Table>(Table{cli::HostNames::read()});
}
Names::~Names() = default;

std::string Names::name(const metrics::Address& address) const {
    using Family = wire::AddressFamily;
    // RFC 4291, 2.5.5.2: the GID of a RoCE port that has an IPv4 address.
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    std::string name;
    if (!table_ || address.family == Family::none || address.family == Family::lid) return name;
    const base::Bytes octets = std::as_bytes(std::span(address.octets));
    if (address.family == Family::ipv4)
        table_->hosts.append(name, octets.first(4));
    else if (!table_->hosts.append(name, octets) && std::equal(mapped.begin(), mapped.end(), address.octets.begin()))
        table_->hosts.append(name, octets.last(4));
    return name;
}

}  // namespace cli::analysis
