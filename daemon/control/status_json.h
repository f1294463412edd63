#pragma once
#include <string>

#include "daemon/control/commands.h"
#include "daemon/control/server.h"

namespace service {

/// A key for every member of Status, and the server's own counts under `control`.
std::string status_json(const Status& status, const ServerCounters& counters);

}  // namespace service
