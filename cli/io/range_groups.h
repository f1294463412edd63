#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/io/connection_groups.h"
#include "metrics/figures/command_figures.h"

namespace cli::io {

/// Adds up commands by what they address: ranges of 1 GiB of a namespace, a logical unit or a file. Commands without an
/// address are left out.
class RangeGroups {
public:
    explicit RangeGroups(const analysis::Names& names) : names_(names) {}

    void add(const metrics::CommandConnectionFigures& connection, const metrics::CommandRecord& record);
    /// The groups of the commands since the last call, those with most commands first. `connections`: the figures of
    /// the connections since then, in the order of their numbers. An operation that belongs to no command may be of any
    /// range of its connection, so each of these ranges counts it.
    std::vector<Group> take(const std::vector<metrics::CommandConnectionFigures>& connections);

private:
    struct Range {
        Group group;
        std::set<std::uint64_t> connections;
        std::uint64_t commands = 0;
    };
    Range& range_of(const metrics::CommandConnectionFigures& connection, const std::string& target,
                    std::uint64_t number);

    const analysis::Names& names_;
    std::map<std::pair<std::string, std::uint64_t>, Range> ranges_ = {};  ///< by target and number of the range
};

}  // namespace cli::io
