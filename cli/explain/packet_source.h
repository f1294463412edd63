#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/explain/options.h"
#include "explain/cause_list.h"
#include "explain/join/packet_search.h"

namespace cli::explain {

/// The figures in which packets are searched for: a file is measured once, and a daemon is asked for each search.
class PacketSource {
public:
    explicit PacketSource(ExplainOptions options);

    /// Measures a capture, or asks a daemon. Of a history, reads the time around the causes, unless the user gives a
    /// time. False if there are no figures; the reason was reported.
    bool open(std::span<const ::explain::Cause> causes);
    /// Call this after open(). The set-up in the capture corrects the time of giving up.
    ::explain::join::SearchResult search(::explain::Explanation& explanation) const;

    std::optional<std::int64_t> last_ns() const;  ///< the end of the capture
    bool is_fixed() const { return !options_.read_paths.empty(); }
    bool failed() const { return session_ && session_->failed(); }
    int status() const { return session_->status(); }

private:
    ExplainOptions options_;
    ExplainOptions session_options_;  ///< with the times of the causes; session_ refers to them
    std::unique_ptr<analysis::Session> session_;
    std::vector<metrics::Answer> answers_;
};

}  // namespace cli::explain
