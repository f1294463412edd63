#include "cli/explain/packet_source.h"

#include <algorithm>
#include <fmt/core.h>
#include <utility>

#include "base/clock.h"
#include "base/quantities.h"
#include "metrics/answers/counters.h"

namespace cli::explain {

namespace {

/// The time in the capture is more exact than a formula: adapters shorten the first intervals and lengthen timers.
void add_seen_time(const ::explain::join::Found& found, ::explain::Explanation& explanation) {
    const ::explain::Status* const status = explanation.facts.status;
    if (!found.repeated_for_ns || status == nullptr || status->wait != ::explain::Wait::answer) return;
    ::explain::GiveUp& give_up = explanation.give_up;
    const std::string seen = fmt::format("in the capture {} in {}", base::format_counted(found.sendings, "sending"),
                                         base::format_duration(static_cast<double>(*found.repeated_for_ns)));
    if (give_up.ns) {
        give_up.formula += "; " + seen;
    } else {
        give_up.ns = found.repeated_for_ns;
        give_up.formula = seen + ", and the time after the last one; " + give_up.formula;
    }
}

}  // namespace

PacketSource::PacketSource(ExplainOptions options) : options_(std::move(options)) {}

bool PacketSource::open(std::span<const ::explain::Cause> causes) {
    constexpr std::uint64_t after_ns = 60'000'000'000;
    session_.reset();
    session_options_ = options_;
    if (options_.recalls() && !options_.from_ns && !options_.to_ns) {
        std::optional<std::int64_t> from_ns;
        std::optional<std::int64_t> to_ns;
        bool all_timed = !causes.empty();
        for (const ::explain::Cause& cause : causes) {
            const auto time_ns = cause.explanation.facts.time_ns;
            all_timed = all_timed && time_ns.has_value();
            if (!time_ns) continue;
            const std::int64_t first_ns = base::earlier(*time_ns, window_ns(cause.explanation.give_up));
            from_ns = std::min(from_ns.value_or(first_ns), first_ns);
            to_ns = std::max(to_ns.value_or(0), base::later(*time_ns, after_ns));
        }
        if (all_timed) {
            session_options_.from_ns = from_ns;
            session_options_.to_ns = to_ns;
        }
    }
    session_ = std::make_unique<analysis::Session>(session_options_, "explain");
    if (!session_->run()) return false;
    answers_ = metrics::answer(session_->snapshot(), session_->names(), session_->devices(), nullptr);
    return true;
}

::explain::join::SearchResult PacketSource::search(::explain::Explanation& explanation) const {
    auto result = ::explain::join::find_packets(explanation, {session_->snapshot(), answers_, session_->names()});
    if (!result.found || !result.found->flow) return result;
    const ::explain::RetrySettings& seen = result.found->settings;
    if (seen.timeout && seen.retries) explanation.settings = seen;
    explanation.give_up = give_up(explanation.facts, explanation.settings, result.found->receiver);
    add_seen_time(*result.found, explanation);
    return result;
}

std::optional<std::int64_t> PacketSource::last_ns() const {
    if (!session_ || session_->snapshot().capture.packets == 0) return std::nullopt;
    return session_->snapshot().capture.last_ns;
}

}  // namespace cli::explain
