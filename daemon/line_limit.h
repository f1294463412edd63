#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace service {

/// Limits the lines of one kind within a second; suppressed lines are counted until a line passes again. Time comes as
/// an argument. The number of kinds is bounded: further kinds share one.
class LineLimit {
public:
    static constexpr std::size_t max_kinds = 64;

    explicit LineLimit(std::uint64_t max_lines_per_sec) : most_(max_lines_per_sec) {}

    struct Answer {
        bool passes = false;
        std::uint64_t left_out = 0;  ///< of this kind, since the last line that passed
    };
    Answer ask(std::string_view kind, std::uint64_t now_ns);
    void set_limit(std::uint64_t max_lines_per_sec) { most_ = max_lines_per_sec; }

    struct Rest {
        std::string kind;
        std::uint64_t left_out = 0;
    };
    /// Suppressed lines whose number was not logged yet.
    std::vector<Rest> rest() const;

private:
    struct Kind {
        std::uint64_t begin_ns = 0;
        std::uint64_t passed = 0;
        std::uint64_t left_out = 0;
    };
    Kind& kind_of(std::string_view name);

    std::uint64_t most_;
    std::map<std::string, Kind, std::less<>> kinds_ = {};
};

}  // namespace service
