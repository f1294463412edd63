#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "doctor/checks/check.h"

namespace cli::doctor {

struct DoctorOptions {
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
    std::string color = "auto";
    bool help = false;
    bool version = false;
};

/// Returns the reason where the command line cannot be obeyed, else an empty text.
std::string parse(const std::vector<std::string>& arguments, DoctorOptions& out);

}  // namespace cli::doctor
