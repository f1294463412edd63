#include "daemon/policy_log.h"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "base/quantities.h"
#include "policy/policy_answers.h"

namespace service {

void PolicyLog::judge(const policy::Compliance& compliance, const metrics::HostNames& names, std::int64_t now_ns) {
    std::map<std::string, std::int64_t> broken_ns;
    for (const policy::RuleOutcome& outcome : compliance.rules) {
        const std::string& name = outcome.rule->name;
        const auto before = broken_ns_.find(name);
        if (outcome.broken()) {
            if (before == broken_ns_.end()) log_.warning("policy", policy::sentence_of(outcome, compliance, names));
            broken_ns.emplace(name, now_ns);
        } else if (before != broken_ns_.end()) {
            // The clock may have been set back.
            const std::int64_t since_ns = std::min(before->second, now_ns);
            if (now_ns - since_ns < settling_ns)
                broken_ns.emplace(name, since_ns);
            else
                log_.info("policy", fmt::format("Rule \"{}\" is kept again: nothing has broken it for {}.", name,
                                                base::format_duration(static_cast<double>(now_ns - since_ns))));
        }
    }
    broken_ns_ = std::move(broken_ns);
}

}  // namespace service
