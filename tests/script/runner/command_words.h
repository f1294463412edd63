#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace script {

/// The words of one line: positional ones, and `key=value`. Whoever reads a line takes words out of it; what nobody
/// took is an error, so that a slip of the pen does not weaken a script.
class Words {
public:
    /// Without the comment, which begins with `#` at a word's beginning. Text in '…' may hold blanks.
    explicit Words(std::string_view line);

    bool empty() const { return words_.empty(); }
    /// The next word; `what` it should be, for the message where there is none.
    std::string next(const std::string& what);
    std::string peek() const { return words_.empty() ? std::string() : words_.front(); }
    /// Whether the word stands anywhere in the line; taken out.
    bool flag(std::string_view word);
    /// The value of `key=value`; taken out.
    std::optional<std::string> option(std::string_view key);
    /// `on` or `off`, or as a plain word.
    std::optional<bool> choice(std::string_view key);
    /// All options `prefix…=` and words `prefix…`, without the prefix, as a line of their own.
    Words with_prefix(std::string_view prefix);
    /// Throws Failure where words are left.
    void finish() const;
    std::string text() const;

private:
    std::vector<std::string> words_;
};

/// "250ms", "5s", "10us", "1ns" in nanoseconds. Throws Failure.
std::int64_t duration_ns(std::string_view text);
/// Decimal or 0x… . Throws Failure.
std::uint64_t plain_number(std::string_view text);

}  // namespace script
