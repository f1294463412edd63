#pragma once
#include <string_view>
#include <termios.h>

namespace tui::inline terminal {

/// Restores the terminal if the program ends without unwinding: an exception that was not caught, abort(), a fault. One
/// object at a time; handlers that others have installed stay.
class LastResort {
public:
    /// `leave`: the bytes that restore the terminal's former state.
    LastResort(int descriptor, const termios& before, std::string_view leave);
    ~LastResort();
    LastResort(const LastResort&) = delete;
    LastResort& operator=(const LastResort&) = delete;
};

}  // namespace tui::terminal
