#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "daemon/log.h"
#include "metrics/answers/answer.h"
#include "policy/compliance.h"

namespace service {

/// Logs when a rule of the policy begins to be broken, and when it is kept again: a line for each change, and at most
/// two lines for a rule in a minute.
class PolicyLog {
public:
    /// A rule is kept again when nothing has broken it for this time. Flows that come and go are one change.
    static constexpr std::int64_t settling_ns = 60'000'000'000;

    explicit PolicyLog(Log& log) : log_(log) {}

    /// What an interval that ended at `now_ns` shows. A rule that is not among the outcomes is forgotten.
    void judge(const policy::Compliance& compliance, const metrics::HostNames& names, std::int64_t now_ns);

private:
    Log& log_;
    std::map<std::string, std::int64_t> broken_ns_ = {};  ///< broken rules, and when each of them was last broken
};

}  // namespace service
