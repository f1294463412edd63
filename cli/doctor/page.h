#pragma once
#include <span>
#include <string>

#include "doctor/binary/binary.h"
#include "doctor/checks/check.h"

namespace cli::doctor {

struct PageStyle {
    unsigned columns = 80;
    bool color = false;
    bool verbose = false;  ///< also what is as it should be, and what is not visible
};

/// As wide as the descriptor's terminal, and with its colours.
PageStyle style_for_terminal(int descriptor);

/// Whose machine, its findings, and how many there were of each severity.
std::string page(const ::doctor::Host& host, std::span<const ::doctor::Finding> findings, const PageStyle& style);
/// The verdict about a program, its findings, its libraries.
std::string binary_page(const ::doctor::Host& host, const ::doctor::BinaryReport& report, const PageStyle& style);
/// One line a check: id, worst severity, what it asks, where the answer comes from.
std::string list_of_checks();

}  // namespace cli::doctor
