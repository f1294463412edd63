#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fleet/questions/clickhouse_engine.h"
#include "fleet/questions/flow_question.h"
#include "fleet/questions/scope.h"
#include "metrics/figures/command_figures.h"

namespace fleet::questions {

/// What connections of a group have in common.
enum class IoGroupBy : std::uint8_t { connection, pair, initiator, target, protocol, all };

/// What the engine can sort connections by and filter them with.
std::span<const Figure> io_figures();

struct IoChoice {
    IoGroupBy by = IoGroupBy::connection;
    std::string having = {};        ///< of single connections; empty passes all
    const Figure* order = nullptr;  ///< of groups; null: by the number of commands
    bool descending = true;
    std::uint64_t top = 100;
};

/// Connections of one protocol, added up by the engine, each as the daemon nearest to its initiator saw it.
struct IoGroup {
    std::string name = {};  ///< what they have in common; empty for single connections
    std::uint64_t connections = 0;
    metrics::CommandConnectionFigures sum = {};
};

struct IoGroups {
    std::vector<IoGroup> groups = {};  ///< in the order that was asked for
    std::uint64_t all = 0;
};

base::Result<IoGroups> ask_io(Engine& engine, const Scope& scope, const IoChoice& choice);

}  // namespace fleet::questions
