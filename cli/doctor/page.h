#pragma once
#include <span>
#include <string>

#include "doctor/binary/binary.h"
#include "doctor/checks/check.h"

namespace cli::doctor {

struct PageStyle {
    unsigned columns = 80;
    bool color = false;
    bool verbose = false;  ///< also shows checks that passed, and checks that could not be made
};

/// As wide as the descriptor's terminal, and with its colours.
PageStyle style_for_terminal(int descriptor);

/// The machine, its findings, and the number of findings of each severity.
std::string page(const ::doctor::Host& host, std::span<const ::doctor::Finding> findings, const PageStyle& style);
/// The verdict about a program, its findings, its libraries.
std::string binary_page(const ::doctor::Host& host, const ::doctor::BinaryReport& report, const PageStyle& style);
/// One line for each check: id, worst severity, its question, the source of the answer.
std::string list_of_checks();

}  // namespace cli::doctor
