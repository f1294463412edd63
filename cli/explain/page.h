#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "explain/cause_list.h"
#include "explain/join/packet_search.h"

namespace cli::explain {

/// A cause, and what was found about it.
struct ExplainedCause {
    ::explain::Cause cause;
    bool searched = false;  ///< whether packets were searched for
    ::explain::join::SearchResult search = {};
};

struct PageStyle {
    unsigned columns = 80;
    std::vector<std::string> read_paths = {};  ///< the captures whose frames are numbered
    bool numbers_lines = false;                ///< the lines come from a log
};

/// One cause for people, with an empty line after it.
std::string cause_text(const ExplainedCause& explained, const PageStyle& style);
/// The paragraph above several causes: their number, and which is the first.
std::string summary_text(const ::explain::CauseList& list, std::uint64_t lines, const PageStyle& style);

nlohmann::ordered_json cause_json(const ExplainedCause& explained);

}  // namespace cli::explain
