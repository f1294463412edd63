#pragma once
#include <string>

#include "wire/result.h"

namespace service {

/// The folder in which programs leave what they do, made where it is missing: $RDMASCOPE_TRACE_DIR; else
/// /run/rdmascope/trace, for programs of every user, where this process may make it; else this user's own, as
/// capture::trace::trace_directory has it. `machines_own` stands for the second. Fails with a sentence.
wire::Result<std::string, std::string> open_trace_folder(const std::string& machines_own = "/run/rdmascope/trace");

}  // namespace service
