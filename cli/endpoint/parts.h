#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/endpoint/option_table.h"

namespace cli::endpoint {

/// The parts of `endpoint`; each gets what stands behind its name.
int serve(const std::vector<std::string>& arguments, std::string_view version);
int ping(const std::vector<std::string>& arguments, std::string_view version);
int bench(const std::vector<std::string>& arguments, std::string_view version);
int listen(const std::vector<std::string>& arguments, std::string_view version);

std::string serve_help();
std::string ping_help();
std::string bench_help();
std::string listen_help();

/// Tells what went wrong with `endpoint PART`; returns exit_failed.
int failed(std::string_view part, const std::string& what);

/// The exit status of `--help`, `--version`, or a usage error in `reason`; absent where there is work to do.
std::optional<int> answered(const CommonOptions& options, const std::string& reason, std::string_view part,
                            std::string (*help)(), std::string_view version);

}  // namespace cli::endpoint
