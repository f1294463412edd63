#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace dissect::filter {

/// A Perl-compatible regular expression over bytes that ignores case, as Wireshark's do. A subject that would cost too
/// much to decide does not match.
class Regex {
public:
    struct Error {
        std::string message;
        std::size_t offset = 0;  ///< into the pattern
    };
    static base::Result<Regex, Error> compile(std::string_view pattern);

    bool search(std::string_view subject) const;

    /// A named group that took part in a match: a part of the subject.
    struct Group {
        std::string_view name;  ///< as long as the expression lives
        std::string_view text;
    };
    /// The named groups of the first match; no value if nothing matches.
    std::optional<std::vector<Group>> find_groups(std::string_view subject) const;

    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;
    ~Regex();

private:
    struct State;
    explicit Regex(std::unique_ptr<State> state);
    std::vector<Group> named_groups(std::string_view subject) const;
    std::unique_ptr<State> state_;
};

/// The text of the first group of this name that took part; empty if none did.
std::string_view text_of_group(const std::vector<Regex::Group>& groups, std::string_view name);

}  // namespace dissect::filter
