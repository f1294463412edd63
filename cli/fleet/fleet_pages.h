#pragma once
#include <span>
#include <string>
#include <vector>

#include "cli/analysis/session.h"
#include "exporters/flow_fields.h"
#include "fleet/questions/flow_question.h"
#include "fleet/questions/io_question.h"
#include "fleet/questions/pair_question.h"
#include "fleet/questions/path_question.h"
#include "fleet/questions/scope.h"
#include "fleet/questions/traffic_question.h"
#include "fleet/questions/why_question.h"
#include "metrics/answers/answer.h"

/// Answers of the engine as tables for people, and as JSON.
namespace cli::fleet {

using ::fleet::questions::Scope;

/// The columns that --columns names; empty: those that fit the rows. An unknown name leaves the reason in `error`.
exporters::FlowColumns flow_columns_of(const std::vector<std::string>& names, std::string& error);

std::string flows_table(const ::fleet::questions::FleetFlows& flows, const exporters::FlowColumns& chosen,
                        const metrics::HostNames& names);
std::string flows_json(const ::fleet::questions::FleetFlows& flows, const exporters::FlowColumns& chosen,
                       const metrics::HostNames& names, const Scope& scope);

std::string traffic_table(const ::fleet::questions::Traffic& traffic, exporters::GroupBy by);
std::string traffic_json(const ::fleet::questions::Traffic& traffic, exporters::GroupBy by, const Scope& scope);

std::string hosts_table(const std::vector<::fleet::questions::HostState>& hosts);
std::string hosts_json(const std::vector<::fleet::questions::HostState>& hosts, const Scope& scope);

/// As `io` prints connections, or with `is_grouped` groups of them.
std::string io_table(const ::fleet::questions::IoGroups& groups, bool is_grouped, const analysis::Names& names);
std::string io_json(const ::fleet::questions::IoGroups& groups, bool is_grouped, const analysis::Names& names,
                    const Scope& scope);

/// As `paths` prints pairs of hosts.
std::string paths_table(const ::fleet::questions::FleetPaths& paths, std::span<const std::uint64_t> counts,
                        const metrics::HostNames& names);
std::string paths_json(const ::fleet::questions::FleetPaths& paths, std::span<const std::uint64_t> counts,
                       const metrics::HostNames& names, const Scope& scope);

std::string pairs_table(const ::fleet::questions::FlowPairs& pairs);
std::string pairs_json(const ::fleet::questions::FlowPairs& pairs, const Scope& scope);

std::string why_page(const ::fleet::questions::Findings& findings, const Scope& scope);
std::string why_json(const ::fleet::questions::Findings& findings, const Scope& scope);

}  // namespace cli::fleet
