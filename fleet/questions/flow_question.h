#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fleet/questions/clickhouse_engine.h"
#include "fleet/questions/scope.h"
#include "metrics/answers/flow_problems.h"
#include "metrics/figures/snapshot.h"

namespace fleet::questions {

/// What the engine can sort by and filter with.
struct Figure {
    std::string_view path;    ///< in expressions, as of one host: "source.address"
    std::string_view column;  ///< of the query: "x_source_address"
    bool is_text;
    bool is_counter;
};
/// Null if there is no such figure.
const Figure* find_figure(std::span<const Figure> figures, std::string_view path);

/// Of flows: names of exporters::flow_fields(), and columns of flow_sums().
const std::vector<Figure>& flow_figures();

struct FlowChoice {
    std::string having = {};  ///< of flow_sums(); empty passes all
    const Figure* order = nullptr;
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
