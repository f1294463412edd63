#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "exporters/value.h"

namespace exporters {

/// What becomes of a field that has no value.
enum class Presence : std::uint8_t {
    always,        ///< null
    with_group,    ///< null; where its whole outermost group has none, the group is null
    when_present,  ///< in JSON, it is not there
};

/// What a field says of a distribution, or of a level over time.
enum class Statistic : std::uint8_t { samples, min, mean, p50, p90, p99, p999, max };

/// One column of what is exported about a Row. JSON, CSV, the table, sorting keys and the manual's list read this.
template <class Row>
struct Field {
    std::string path;    ///< "latency_ns.send.p50": names of nested objects, then the member's
    std::string family;  ///< the same with words for what varies: "latency_ns.OPERATION.p50"; the manual lists these
    std::string title;   ///< above a column of the table
    Unit unit;
    std::string help;  ///< one line: what it is, in this flow's direction unless it says otherwise
    Presence presence = Presence::always;
    std::function<Value(const Row&)> value;
    std::function<std::string(const Row&)> text = {};  ///< for the table, where readable(value) does not do
    std::optional<Statistic> statistic = {};           ///< absent if it is a figure of its own
    bool lists_frames = false;                         ///< its values are Frames
    std::function<Value(const Row&)> rank = {};        ///< what rows are sorted by, the greatest first; empty: value
};

}  // namespace exporters
