#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "explain/explanation.h"

namespace explain {

/// Lines of one cause: the same pattern, code and peer.
struct Cause {
    Explanation explanation;  ///< of the first line
    std::uint64_t first_line = 0;
    std::uint64_t lines = 1;
    bool followed = false;  ///< a line that `continues` has added its facts
};

/// Explanations of many lines, each cause once, in bounded memory.
class CauseList {
public:
    static constexpr std::size_t most = 1'000;

    /// True if the cause is new: it is then the last of causes(). `line` counts from 1.
    bool add(Explanation explanation, std::uint64_t line);

    const std::vector<Cause>& causes() const { return causes_; }
    std::vector<Cause>& causes() { return causes_; }
    std::uint64_t recognised_lines() const { return recognised_; }
    /// Lines of causes beyond `most`.
    std::uint64_t left_out() const { return left_out_; }

private:
    bool follow(const Explanation& explanation, std::uint64_t line);

    std::vector<Cause> causes_ = {};
    std::unordered_map<std::string, std::size_t> by_key_ = {};
    std::optional<std::size_t> last_ = {};  ///< the cause of the last recognised line; absent if it was left out
    std::uint64_t last_line_ = 0;
    std::uint64_t recognised_ = 0;
    std::uint64_t left_out_ = 0;
};

/// The earliest cause: by time if all have a time, else by line. Consequences come after all others. Null if there are
/// no causes.
const Cause* first_cause(const std::vector<Cause>& causes);

}  // namespace explain
