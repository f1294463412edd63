#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "metrics/answers/answer.h"
#include "tui/model/settings.h"

namespace tui::inline model {

/// The group of every flow of a list.
struct Groups {
    std::vector<std::string> titles = {};  ///< in the order of their first flow
    std::vector<std::size_t> of = {};      ///< by flow: index in titles
};
Groups groups_of(const std::vector<const metrics::FlowSnapshot*>& flows, Grouping grouping,
                 const metrics::HostNames* names);

/// Adds another flow to a sum, as flow_list.h says. A sum begins as a copy of its first flow.
void add_up(metrics::FlowSnapshot& sum, const metrics::FlowSnapshot& flow, Window window);

}  // namespace tui::model
