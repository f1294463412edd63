#pragma once
#include <string>

#include "daemon/server/command_backend.h"
#include "daemon/server/server.h"

namespace service::inline server {

/// A key for every member of Status, and the server's own counts under `control`.
std::string status_json(const Status& status, const ServerCounters& counters);

}  // namespace service::server
