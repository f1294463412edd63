#pragma once
#include <string>

#include "cli/options/option.h"
#include "upper/assignment.h"

namespace cli::analysis {

/// Of settings with `assignments`, a std::vector<upper::Assignment>.
template <class Settings>
std::string take_assignment(Settings& settings, const std::string& value) {
    auto assignment = upper::parse_assignment(value);
    if (!assignment) return assignment.error();
    settings.assignments.push_back(*assignment);
    return {};
}

template <class Settings>
inline constexpr options::Option<Settings> assignment_option{
    {0, "as", "PORT=PROTOCOL",
     "read connections to that port, or with qp:NUMBER that queue pair, as PROTOCOL: nvme, rpc, srp, iser, smb, "
     "ipoib, rds, rsocket; repeatable"},
    options::Section::measuring,
    take_assignment<Settings>};

}  // namespace cli::analysis
