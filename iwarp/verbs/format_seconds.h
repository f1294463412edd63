#pragma once
#include <chrono>
#include <string>

#include "fmt/core.h"

namespace iwarp::verbs {

inline std::string format_seconds(std::chrono::milliseconds time) {
    return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
}

}  // namespace iwarp::verbs
