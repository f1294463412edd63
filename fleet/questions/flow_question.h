#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/questions/clickhouse_engine.h"
#include "fleet/questions/scope.h"
#include "metrics/answers/flow_problems.h"
#include "metrics/figures/snapshot.h"

namespace fleet::questions {

/// What the engine can sort flows by and filter them with: columns of `flows` of that name, in both.
struct FlowFigure {
    std::string_view path;    ///< in exporters::flow_fields(): "source.address"
    std::string_view column;  ///< in flow_sums(): "x_source_address"
    bool is_text;
    bool is_counter;
};
const std::vector<FlowFigure>& flow_figures();
/// Null if the engine does not have the column.
const FlowFigure* find_flow_figure(std::string_view path);

struct FlowChoice {
    std::string having = {};  ///< of flow_sums(); empty passes all
    const FlowFigure* order = nullptr;
    bool descending = true;
    std::uint64_t top = 100;
};

/// A flow as one daemon saw it, with its figures of the scope.
struct FleetFlow {
    std::string host;
    metrics::FlowSnapshot flow = {};
    metrics::FlowProblems problem = {};  ///< the worst of the scope's intervals; empty without one
};

struct FleetFlows {
    std::vector<FleetFlow> flows = {};  ///< in the order that was asked for
    std::uint64_t all = 0;              ///< flows that the choice passes
};

base::Result<FleetFlows> ask_flows(Engine& engine, const Scope& scope, const FlowChoice& choice);

}  // namespace fleet::questions
