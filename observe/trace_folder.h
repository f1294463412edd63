#pragma once
#include <string>

#include "base/error.h"
#include "base/result.h"
#include "trace/ring/trace_directory.h"

namespace observe {

/// The folder in which programs leave what they do, made where it is missing: $RDMASCOPE_TRACE_DIR; else
/// `everybodys`, for programs of every user, where this process may make it and they may enter the folder that it is
/// in; else this user's own, as trace::trace_directory has it.
base::Result<std::string> open_trace_folder(const std::string& everybodys = trace::machines_directory);

}  // namespace observe
