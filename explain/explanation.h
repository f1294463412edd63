#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explain/facts.h"
#include "explain/give_up.h"

namespace explain {

/// What a line, or a code, means.
struct Explanation {
    std::string line = {};     ///< as it was given, without control characters, and cut if it is long
    std::string pattern = {};  ///< the id; "code" for a bare code
    std::string software = {};
    Facts facts = {};
    bool consequence = false;  ///< the cause is in an earlier line
    bool continues = false;    ///< belongs to the line before of the same software
    std::string meaning = {};
    std::vector<std::string> causes = {};  ///< the usual one first
    RetrySettings settings = {};
    GiveUp give_up = {};
    std::string look_for = {};
    std::string next = {};
};

}  // namespace explain
