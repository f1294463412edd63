#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "doctor/checks/check.h"

namespace doctor::inline binary {

/// Whether a program or a library will work with this machine's stack.
struct BinaryReport {
    std::string path = {};
    bool examined = false;  ///< false if it is not a program that we can read; then `findings` says why
    bool starts = false;    ///< as far as the loader is concerned
    std::string verdict = {};
    /// The libraries that it needs, directly or not: names, and the files that the loader chooses; empty if it finds
    /// none.
    std::vector<std::pair<std::string, std::string>> libraries = {};
    std::vector<Finding> findings = {};
};

/// The rows that findings about a program have; `run` is null.
std::span<const Check> binary_checks();

/// Does what ld.so(8) would do: finds libraries by DT_NEEDED, RPATH and RUNPATH, and checks versions and symbols that
/// each needs of the others. Nothing is run or loaded. `path` is one of the examined machine.
BinaryReport examine_binary(const Root& root, const Inventory& machine, const std::string& path);

}  // namespace doctor::binary
