#pragma once
#include <string_view>

#include "base/error.h"
#include "base/result.h"
#include "exporters/filter/column_filter.h"
#include "exporters/flow_fields.h"

namespace exporters::filter {

/// Chooses flows by an expression of `dump -Y`'s language over the columns of `flows`: `goodput > 1Gbit && resent > 0`,
/// `source.name contains "storage"`, `latency_p99 > 1ms`. Numbers may have the units of number_forms.h; plain ones are
/// in the column's own unit. A single word that is not a column, or a text in quotes, is searched for in the text of
/// the row (`storage-3`, `0x14`, `iwarp`), in any case, or is the id. A flow without a value in a column does not
/// satisfy any comparison with it.
class FlowFilter {
public:
    /// An empty text passes every flow. The error says what is wrong, at which column of the text, and which names are
    /// similar.
    static base::Result<FlowFilter> compile(std::string_view text);

    bool everything() const { return filter_.everything(); }
    /// `idle`: nothing passed in the interval of the table; rates and times have no value then.
    bool matches(const FlowRow& row, bool idle = false);

private:
    ColumnFilter filter_ = {};
};

}  // namespace exporters::filter
