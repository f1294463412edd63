#include "explain/give_up.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <string_view>

#include "base/quantities.h"

namespace explain {

namespace {

constexpr std::uint64_t timeout_unit_ns = 4'096;
constexpr unsigned rnr_for_ever = 7;
constexpr unsigned most_timeout = 31;

std::string duration(std::uint64_t ns) { return base::format_duration(static_cast<double>(ns)); }

GiveUp without_answer(const RetrySettings& settings) {
    const std::string_view unit = base::charset() == base::Charset::utf8 ? "4.096 \u00b5s" : "4.096 us";
    if (settings.timeout == 0U) return {{}, "the ACK timeout is 0: the adapter waits for ever"};
    if (!settings.timeout || !settings.retries || !ack_timeout_ns(*settings.timeout))
        return {{}, fmt::format("{} x 2^timeout x (retries + 1); a capture of the set-up shows both", unit)};
    const std::uint64_t ns = *ack_timeout_ns(*settings.timeout) * (std::uint64_t{*settings.retries} + 1);
    return {ns, fmt::format("{} x 2^{} x ({} + 1), with {}; adapters may wait up to 4 times as long", unit,
                            *settings.timeout, *settings.retries, settings.origin)};
}

GiveUp without_receive(const ReceiverSettings& receiver) {
    if (receiver.retries && *receiver.retries >= rnr_for_ever)
        return {{}, "the RNR retry count is 7: the adapter tries for ever, so this end has another reason"};
    if (!receiver.retries || !receiver.timer_ns)
        return {{}, "RNR timer x (RNR retries + 1); a capture shows both, the timer in the RNR NAKs"};
    return {*receiver.timer_ns * (std::uint64_t{*receiver.retries} + 1),
            fmt::format("{} x ({} + 1), RNR timer and RNR retries of the capture", duration(*receiver.timer_ns),
                        *receiver.retries)};
}

/// Linux sends a request for a connection 16 times: each waits for twice the life time of a packet (1,024 ms) and for
/// the response time that it granted (4,096 ms).
GiveUp without_reply() {
    constexpr std::uint64_t each_ns = (2 * 1'024 + 4'096) * std::uint64_t{1'000'000};
    constexpr std::uint64_t requests = 16;
    return {each_ns * requests,
            fmt::format("{} requests, {} apart, as Linux sends them on RoCE; iWARP: the time of TCP", requests,
                        duration(each_ns))};
}

}  // namespace

std::optional<std::uint64_t> ack_timeout_ns(unsigned timeout) {
    if (timeout == 0 || timeout > most_timeout) return std::nullopt;
    return timeout_unit_ns << timeout;
}

unsigned timeout_of_seconds(double seconds) {
    const double exponent = std::round(std::log2(seconds * 1e9 / static_cast<double>(timeout_unit_ns)));
    if (!(exponent >= 1)) return 1;
    return exponent >= most_timeout ? most_timeout : static_cast<unsigned>(exponent);
}

GiveUp give_up(const Facts& facts, const RetrySettings& settings, const ReceiverSettings& receiver) {
    if (facts.status != nullptr && facts.status->wait == Wait::answer) return without_answer(settings);
    if (facts.status != nullptr && facts.status->wait == Wait::receiver) return without_receive(receiver);
    if (facts.waited_ns) return {facts.waited_ns, "the time-out of the software"};
    if (facts.event != nullptr && facts.event->name == "UNREACHABLE") return without_reply();
    return {};
}

std::uint64_t window_ns(const GiveUp& give_up) {
    constexpr std::uint64_t usual_ns = 150'000'000'000;  // NCCL's 34 s, four times, and some room
    return std::max(usual_ns, give_up.ns.value_or(0) * 4);
}

}  // namespace explain
