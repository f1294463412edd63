#pragma once
#include "metrics/measure/flow/flow.h"
#include "wire/aeth.h"

namespace metrics::inline measure::inline roce {

/// Whether the last acknowledgement allows no further message that takes a receive. IBTA vol. 1, 9.7.7.2.
inline bool lacks_credit(const Flow& carrier, const Flow& requester) {
    return carrier.credits < wire::credits_of_code.size() &&
           requester.ledger.messages() >= wire::credits_of_code[carrier.credits];
}

/// The credits of an acknowledging AETH on `carrier`. Returns whether this one used them up.
inline bool note_credits(Flow& carrier, std::uint8_t syndrome) {
    const std::uint8_t credits = wire::value_of_syndrome(syndrome);
    if (credits == wire::no_credit_limit) return false;
    const bool exhausted = credits == 0 && carrier.credits != 0;
    carrier.credits = credits;
    return exhausted;
}

}  // namespace metrics::measure::roce
