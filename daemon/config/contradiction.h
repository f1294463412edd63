#pragma once
#include <string>
#include <vector>

#include "daemon/config/config.h"

namespace service::inline config {

/// Values that are valid alone, but not together.
struct Contradiction {
    std::vector<std::string> paths;  ///< of the keys or tables that contradict each other; the one to change comes
                                     ///< first
    std::string message;
};
std::vector<Contradiction> find_contradictions(const Config& config);

/// "recorder.trigger[2]" for the third.
std::string trigger_path(std::size_t index);

}  // namespace service::config
