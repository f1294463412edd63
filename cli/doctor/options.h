#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "doctor/checks/check.h"

namespace cli::doctor {

struct DoctorOptions : options::HelpOptions {
    std::string binary = {};
    std::string export_path = {};
    std::string compare_path = {};
    std::string bundle_path = {};
    std::string root = {};
    ::doctor::Severity fail_on = ::doctor::Severity::broken;
    bool never_fail = false;
    bool list = false;
    bool json = false;
    bool verbose = false;
    options::Color color = options::Color::automatic;
};

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, DoctorOptions& out);
options::OptionTable<DoctorOptions> option_table();

}  // namespace cli::doctor
