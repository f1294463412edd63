#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/questions/clickhouse_engine.h"
#include "fleet/questions/scope.h"

namespace fleet::questions {

/// What flows suffer from.
struct Trouble {
    std::string_view name;     ///< "timeouts"
    std::string_view text;     ///< "time-outs"
    std::string_view measure;  ///< over joined_flows(): an amount above zero
    std::string_view counter;  ///< the same over rows of `flows`
};
const std::vector<Trouble>& troubles();

/// Flows that have something in common.
struct Group {
    std::string shared;  ///< what: "destination", "source", "pair", "path", "traffic class", "destination rack", ...
    std::string value;   ///< "192.0.2.7"
    std::uint64_t flows = 0;
    std::uint64_t troubled = 0;
    std::string host = {};  ///< the daemon's name of the address that is shared; empty without a daemon there
};

/// One trouble, and what the flows that have it share.
struct Finding {
    const Trouble* trouble = nullptr;
    std::uint64_t flows = 0;     ///< all of the scope
    std::uint64_t troubled = 0;  ///< those with the trouble
    std::uint64_t amount = 0;    ///< of it
    std::int64_t since_ns = 0;   ///< the beginning of the first interval that shows it, or of the scope
    /// The best explanations, the first one the narrowest group that holds most of them. Empty: nothing is shared.
    std::vector<Group> groups = {};

    bool has_culprit() const { return !groups.empty(); }
};

struct Findings {
    std::uint64_t flows = 0;         ///< all of the scope
    std::vector<Finding> list = {};  ///< that with the most troubled flows first; empty if no flow has a trouble
};

/// Labels of addresses: racks, rooms.
using Racks = std::map<std::string, std::string>;
/// False if the text is not an address.
bool add_rack(Racks& racks, const std::string& address, std::string_view rack);

base::Result<Findings> ask_why(Engine& engine, const Scope& scope, const Racks& racks);

/// How well a group explains a trouble: the harmonic mean of the share of the troubled flows that are in the group,
/// and of the share of the group that is troubled. 1: the group is the troubled flows.
double fit(const Group& group, std::uint64_t troubled);
/// Orders groups by fit; of equal ones, the smaller group first. Groups that explain less than half, or whose flows are
/// not more often troubled than the others, are left out.
void choose_groups(std::vector<Group>& groups, std::uint64_t flows, std::uint64_t troubled);

}  // namespace fleet::questions
