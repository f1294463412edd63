#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/endpoint/option_table.h"

namespace cli::endpoint {

/// The parts of `endpoint`; each gets the words after its name.
int serve(const std::vector<std::string>& arguments, const Environment& environment);
int ping(const std::vector<std::string>& arguments, const Environment& environment);
int bench(const std::vector<std::string>& arguments, const Environment& environment);
int listen(const std::vector<std::string>& arguments, const Environment& environment);

std::string serve_help();
std::string ping_help();
std::string bench_help();
std::string listen_help();

std::vector<options::ListedOption> serve_options();
std::vector<options::ListedOption> ping_options();
std::vector<options::ListedOption> bench_options();
std::vector<options::ListedOption> listen_options();

/// Reports an error of `endpoint PART`; returns exit_failed.
int failed(std::string_view part, const std::string& what);

}  // namespace cli::endpoint
