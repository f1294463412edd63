#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/server/answers.h"
#include "exporters/flow_order.h"
#include "exporters/json.h"

namespace service::inline server {

/// Which flows are requested, which of their fields, and in which order.
struct FlowsChoice {
    exporters::FlowColumns columns;
    exporters::FlowOrder order;
    std::optional<std::uint64_t> limit;
    std::optional<std::uint64_t> flow;

    /// Fails if a column does not exist, or if the order is invalid.
    static base::Result<FlowsChoice> of(const control::Request& request, bool by_interval);
};

/// `head`, then the document of `flows --json` as `result`, on one line.
class FlowsBody final : public Body {
public:
    FlowsBody(std::string head, std::shared_ptr<const metrics::Snapshot> snapshot, const FlowsChoice& choice,
              const exporters::Context& context);
    bool produce(std::string& out, std::size_t octets) override;

private:
    std::string head_;
    std::shared_ptr<const metrics::Snapshot> snapshot_;
    metrics::FlowProblems problems_;
    exporters::Context context_;
    exporters::FlowsDocument document_;
    std::vector<const metrics::FlowSnapshot*> flows_ = {};
    std::size_t at_ = 0;
};

}  // namespace service::server
