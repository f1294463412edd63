#include "daemon/server/flows_body.h"

#include <algorithm>
#include <fmt/core.h>

#include "base/similar.h"

namespace service::inline server {

namespace {

base::Failure<base::Error> unknown_column(std::string_view member, const std::string& name) {
    const auto known = exporters::field_names();
    const std::string shown = name.substr(0, 80);
    return base::failure(fmt::format("{}: there is no column '{}'{}; `rdmascope flows --columns help` lists them",
                                     member, shown, base::did_you_mean(shown, known)));
}

}  // namespace

base::Result<FlowsChoice> FlowsChoice::of(const control::Request& request, bool by_interval) {
    FlowsChoice choice;
    choice.limit = request.limit;
    choice.flow = request.flow;
    auto columns = exporters::chosen_columns(request.columns);
    if (!columns) return unknown_column("columns", columns.error().name);
    if (!request.columns.empty() && columns->empty()) return unknown_column("columns", {});
    choice.columns = std::move(columns).value();
    if (choice.columns.empty()) choice.columns = exporters::all_columns(by_interval);
    const auto order = exporters::flow_order(request.sort, request.limit.has_value());
    if (!order && order.error().group == nullptr) return unknown_column("sort", order.error().name);
    if (!order)
        return base::failure(fmt::format("sort: '{}' is a group of columns and no order; {} is one of them",
                                         order.error().name, order.error().group->path));
    choice.order = *order;
    return choice;
}

FlowsBody::FlowsBody(std::string head, std::shared_ptr<const metrics::Snapshot> snapshot, const FlowsChoice& choice,
                     const exporters::Context& context)
    : head_(std::move(head)),
      snapshot_(std::move(snapshot)),
      problems_(metrics::flow_problems(*snapshot_)),
      context_(context),
      document_(choice.columns) {
    context_.problems = &problems_;
    if (!choice.flow) {
        flows_ = exporters::ordered_flows(*snapshot_, context_, choice.order, choice.limit);
    } else if (const metrics::FlowSnapshot* flow = snapshot_->flow(*choice.flow)) {
        flows_.push_back(flow);
    }
}

bool FlowsBody::produce(std::string& out, std::size_t octets) {
    const std::size_t before = out.size();
    if (!head_.empty()) {
        out += head_;
        out += ",\"result\":";
        head_.clear();
        document_.begin(out, snapshot_->capture, context_);
    }
    while (at_ < flows_.size() && out.size() - before < octets) document_.flow(out, {*flows_[at_++], context_});
    const bool done = at_ == flows_.size();
    if (done) {
        document_.end(out, *snapshot_, context_);
        out += '}';
    }
    // The document has a line a flow; an answer is one line. Text has no newline in JSON.
    out.erase(std::remove(out.begin() + static_cast<std::ptrdiff_t>(before), out.end(), '\n'), out.end());
    if (done) out += '\n';
    return !done;
}

}  // namespace service::server
