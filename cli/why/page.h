#pragma once
#include <span>
#include <string>
#include <vector>

#include "metrics/snapshot.h"
#include "metrics/why/answer.h"

namespace cli::why {

/// How the page is printed.
struct PageStyle {
    unsigned columns = 80;
    bool color = false;
    bool utf8 = false;
    bool verbose = false;
    std::vector<std::string> read_paths = {};  ///< of which the frames' numbers speak; empty where none was read
};

/// As wide as the descriptor's terminal, with its colours and in the letters that the user's locale writes.
PageStyle style_for_terminal(int descriptor);

/// The page that an operator reads: the verdict in one line, what is wrong and what to do about it, then the questions
/// that found nothing.
std::string page(const metrics::Snapshot& snapshot, std::span<const metrics::Answer> answers, const PageStyle& style);

/// One JSON object, with a newline: `capture` and `answers`.
std::string json(const metrics::Snapshot& snapshot, std::span<const metrics::Answer> answers, bool crc_verified);

}  // namespace cli::why
