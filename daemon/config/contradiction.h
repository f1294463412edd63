#pragma once
#include <string>
#include <vector>

#include "daemon/config/config.h"

namespace service::inline config {

/// Values that are good each, but not together.
struct Contradiction {
    std::vector<std::string> paths;  ///< of the keys or tables that take part, the one to be changed first
    std::string message;
};
std::vector<Contradiction> find_contradictions(const Config& config);

/// "recorder.trigger[2]", of the third.
std::string trigger_path(std::size_t index);

}  // namespace service::config
