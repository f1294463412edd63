#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "metrics/figures/command_figures.h"
#include "metrics/figures/snapshot.h"

namespace exporters::report {

/// Replaces addresses by those that documentation uses, each always by the same one: 198.18.0.1, 2001:db8::1, lid 1,
/// 02:00:00:00:00:01. They are numbered in the order in which they are asked for.
class Anonymous {
public:
    metrics::Address address(const metrics::Address& address);
    std::array<std::uint8_t, 6> mac(const std::array<std::uint8_t, 6>& mac);

    /// The same figures, with other addresses and without names of programs.
    metrics::Snapshot snapshot(metrics::Snapshot snapshot);
    std::vector<metrics::CommandConnectionFigures> connections(std::vector<metrics::CommandConnectionFigures> all);

private:
    metrics::CommandConnectionFigures anonymous(metrics::CommandConnectionFigures connection);
    std::string name(const std::string& name, std::string_view kind);

    std::map<metrics::Address, metrics::Address> addresses_ = {};
    std::map<wire::AddressFamily, std::uint32_t> counts_ = {};
    std::map<std::array<std::uint8_t, 6>, std::array<std::uint8_t, 6>> macs_ = {};
    std::map<std::string, std::string> names_ = {};
};

}  // namespace exporters::report
