#pragma once
#include <string>

#include "base/error.h"
#include "base/result.h"
#include "trace/ring/trace_directory.h"

namespace observe {

/// The folder in which programs write their traces, made if it is missing. $RDMASCOPE_TRACE_DIR comes first. Else
/// `everybodys`, for programs of every user, if this process may make it and the users may enter the folder above it.
/// Else this user's own, as trace::trace_directory has it.
base::Result<std::string> open_trace_folder(const std::string& everybodys = trace::machines_directory);

}  // namespace observe
