#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "fleet/questions/scope.h"
#include "fleet/rows/amounts.h"

namespace fleet::questions {

/// Things that several daemons may have seen, in a table of states with `own_end` and amounts.
struct Series {
    const rows::Table& table;
    std::string_view place;  ///< the columns that tell things of one daemon apart, with commas between
    std::string_view joint;  ///< the columns that daemons have alike: names of `x_` and `place`
    std::vector<std::string_view> shown = {};       ///< columns with an identity or a state
    std::vector<std::string_view> restarting = {};  ///< columns that restart: the thing that was seen last has them
    std::vector<std::string_view> counted = {};     ///< columns with a counter or an estimate
    std::vector<std::string_view> least = {};       ///< columns with a state, 0 if unknown: the least of all
    std::vector<std::string_view> listed = {};      ///< columns with a list: all values of the scope's rows
    std::string_view near = "'source', 'both'";     ///< values of own_end at the end whose figures count
    std::string_view far = "'destination'";         ///< at the end whose figures count if the near end has no daemon
    std::string where = {};                         ///< of rows; empty: all
};

/// A query with one row for each thing of each daemon that had a row in the scope: host, boot, `place`, `x_NAME` of
/// each column, of those that restart also `x_before_NAME` when the scope began, `x_keys`, `x_values` with the amounts'
/// increase, `x_end`: when its last row ended, and `x_rank`: how near the daemon is.
std::string series_of(const Scope& scope, const Series& series, std::string_view more = {});

/// One row for each thing, with the figures of the nearest daemon: the columns of `joint`, `y_NAME`, `y_before_NAME`,
/// `y_amounts`. Of several runs of a daemon, counters are summed, and states are those of the last one.
std::string joined_series(const Scope& scope, const Series& series, std::string_view more = {});

/// An aggregate: the amounts of the last state less those of the state at the beginning, a pair of lists.
std::string amounts_increase(const Scope& scope);

/// Lists of keys and values, as an answer has them. Amounts that were given back to others are left out.
rows::Amounts amounts_of(const std::string& keys, const std::string& values);

}  // namespace fleet::questions
