#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "dissect/output/printer.h"

namespace cli::dump {

/// Text for a descriptor, written in large pieces. A failure is kept: nothing is written any more from then on.
class TextOutput {
public:
    explicit TextOutput(int descriptor)
        : descriptor_(descriptor), outlet_([this](std::string_view piece) { return write(piece); }) {}
    TextOutput(const TextOutput&) = delete;
    TextOutput& operator=(const TextOutput&) = delete;

    /// Where printers leave their text.
    dissect::output::Outlet& outlet() { return outlet_; }
    bool flush() { return outlet_.flush(); }

    bool failed() const { return error_ != 0; }
    bool reader_is_gone() const;
    /// What went wrong, after how many octets, and what to do.
    std::string error() const;

private:
    bool write(std::string_view piece);

    int descriptor_;
    int error_ = 0;  ///< errno
    std::uint64_t written_ = 0;
    dissect::output::Outlet outlet_;
};

}  // namespace cli::dump
