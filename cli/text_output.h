#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace cli {

/// Text for a descriptor, buffered and written in large pieces. A failure is kept: nothing is written from then on.
class TextOutput {
public:
    explicit TextOutput(int descriptor) : descriptor_(descriptor) { text_.reserve(2 * piece); }

    /// The text to append to; what has not been written yet may be removed again.
    std::string& text() { return text_; }

    /// Call this between packets: writes a full piece. False if writing has failed, now or before.
    bool settle() { return text_.size() < piece ? error_ == 0 : flush(); }
    bool flush();

    bool failed() const { return error_ != 0; }
    bool reader_is_gone() const;
    /// What went wrong, after how many bytes, and what to do.
    std::string error() const;

private:
    static constexpr std::size_t piece = std::size_t{64} << 10;

    int descriptor_;
    int error_ = 0;  ///< errno
    std::uint64_t written_ = 0;
    std::string text_ = {};
};

}  // namespace cli
