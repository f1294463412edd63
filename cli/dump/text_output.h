#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace cli::dump {

/// Standard output through a buffer that grows to a large block and is then written with one write(2). What does not
/// belong to a packet that matches can be taken back, as long as it has not been handed over.
class TextOutput {
public:
    explicit TextOutput(int descriptor) : descriptor_(descriptor) { text_.reserve(2 * BLOCK); }

    /// To be appended to.
    std::string& text() { return text_; }

    /// Call between packets: writes where a block is full. False where writing has failed, then and for ever after.
    bool settle() { return text_.size() < BLOCK || flush(); }
    bool flush();

    bool failed() const { return error_ != 0; }
    bool reader_is_gone() const;
    /// What went wrong, after how many octets, and what to do.
    std::string error() const;

private:
    static constexpr std::size_t BLOCK = std::size_t{128} << 10;

    int descriptor_;
    int error_ = 0;  ///< errno
    std::uint64_t written_ = 0;
    std::string text_ = {};
};

}  // namespace cli::dump
