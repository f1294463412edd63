#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "exporters/flow_fields.h"

namespace exporters::filter {

/// Chooses flows by an expression of `dump -Y`'s language over the columns of `flows`: `goodput > 1Gbit && resent > 0`,
/// `source.name contains "storage"`, `latency_p99 > 1ms`. Numbers may carry the units that people write, which
/// number_forms.h has; plain ones are of the column's own unit. A single word that is no column, or a text in quotes,
/// is looked for in what the row shows (`storage-3`, `0x14`, `iwarp`), without regard to case, or is the id.
/// A column that a flow has no value of does not satisfy any comparison.
class FlowFilter {
public:
    /// Empty text lets every flow through. The error says what is wrong, at which column of the text, and what is near.
    static base::Result<FlowFilter> compile(std::string_view text);

    FlowFilter();
    ~FlowFilter();
    FlowFilter(FlowFilter&&) noexcept;
    FlowFilter& operator=(FlowFilter&&) noexcept;

    bool everything() const;
    /// `idle`: nothing passed in the interval that the table is of; rates and times have no value then.
    bool matches(const FlowRow& row, bool idle = false);

private:
    struct State;
    explicit FlowFilter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace exporters::filter
