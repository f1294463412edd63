#pragma once
#include <fmt/core.h>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace cli {

/// A line on standard error.
void print_message_line(std::string_view line);

template <class... Arguments>
void print_message(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    print_message_line(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// "rdmascope policy check: rules.toml:3:1: dscp: a number is expected", a line for each error.
void print_errors(std::string_view command, const base::Errors& errors);

/// Prints the one result of a command on standard output; returns the exit status.
int print(std::string_view text);

/// The message for a failed write to standard output.
std::string output_error(int code);

bool is_terminal(int descriptor);
/// Columns of the terminal; 80 if it does not report them.
unsigned terminal_columns(int descriptor);
/// The default for colours on `descriptor`: a terminal that has colours, and no NO_COLOR.
bool wants_color(int descriptor);
/// Whether the user's locale writes UTF-8; the program's own is not changed.
bool writes_utf8();

}  // namespace cli
