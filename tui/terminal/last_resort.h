#pragma once
#include <string_view>
#include <termios.h>

namespace tui::inline terminal {

/// Gives the terminal back where the program ends without unwinding: an exception that nobody caught, abort(), a
/// fault. One at a time; handlers that others have installed are left alone.
class LastResort {
public:
    /// `leave`: what a terminal must be sent to be as it was before.
    LastResort(int descriptor, const termios& before, std::string_view leave);
    ~LastResort();
    LastResort(const LastResort&) = delete;
    LastResort& operator=(const LastResort&) = delete;
};

}  // namespace tui::terminal
