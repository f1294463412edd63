#pragma once
#include <memory>
#include <optional>
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

    /// Measures, or asks. Of a history, what was around the times of the causes, unless the user limits it. False if
    /// there are no figures; the reason was reported.
    bool open(const std::vector<::explain::Cause>& causes);
    /// Call this after open(). What the set-up in the capture says corrects the time of giving up.
    ::explain::join::SearchResult search(::explain::Explanation& explanation) const;

    std::optional<std::int64_t> last_ns() const;  ///< the end of the capture
    bool is_fixed() const { return !options_.read_paths.empty(); }
    bool failed() const { return session_ && session_->failed(); }
    int status() const { return session_->status(); }

private:
    ExplainOptions options_;
    std::unique_ptr<analysis::Session> session_;
    std::vector<metrics::Answer> answers_;
};

}  // namespace cli::explain
