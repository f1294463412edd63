#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/figures/snapshot.h"

namespace exporters {

/// What its verdict means, in a sentence.
std::string_view meaning_of(const metrics::Answer& answer);

/// The first line: what was found, how bad it is, and what it costs.
struct Headline {
    metrics::Grade grade{};
    std::string label;  ///< "WRONG (99 % of the busy time)"; "OK"
    std::string text;   ///< what was found, in a sentence
};
Headline headline_of(const metrics::Snapshot& snapshot, std::span<const metrics::Answer> answers);
/// "WRONG (99 % of the busy time)", "SUSPECTED (10 % sure)", "OK".
std::string label_of(const metrics::Answer& answer);

/// How the page is printed.
struct WhyPageStyle {
    unsigned columns = 80;
    bool color = false;
    bool utf8 = false;
    bool verbose = false;
    std::vector<std::string> read_paths = {};  ///< to which the frames' numbers refer; empty where none was read
    bool says_how_to_record = true;            ///< where none was read: how frames are kept that can be looked at
};

/// The page that an operator reads: the verdict in one line, what is wrong and what to do about it, then the questions
/// that found nothing.
std::string why_page(const metrics::Snapshot& snapshot, std::span<const metrics::Answer> answers,
                     const WhyPageStyle& style);

}  // namespace exporters
