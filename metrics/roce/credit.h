#pragma once
#include "metrics/flow/flow.h"
#include "wire/aeth.h"

namespace metrics {

/// Whether the last acknowledgement allows no further message that takes a receive. IBTA vol. 1, 9.7.7.2.
inline bool lacks_credit(const Flow& carrier, const Flow& requester) {
    return carrier.credits < wire::credits_of_code.size() &&
           requester.ledger.messages() >= wire::credits_of_code[carrier.credits];
}

}  // namespace metrics
