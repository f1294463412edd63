#include "metrics/stream/direction.h"

#include <algorithm>

namespace metrics::stream {

void OutstandingLevel::note(const Ledger& requests, const Ledger& responses, std::int64_t now_ns) {
    at_max_ns = at_max(now_ns);
    changed_ns = std::max(changed_ns, now_ns);
    messages = requests.messages() + responses.messages();
    if (messages > messages_max) {
        messages_max = messages;
        at_max_ns = 0;
    }
    bytes_max = std::max(bytes_max, requests.bytes() + responses.bytes());
}

std::uint64_t OutstandingLevel::at_max(std::int64_t now_ns) const {
    if (messages_max == 0 || messages != messages_max) return at_max_ns;
    return at_max_ns + elapsed(changed_ns, now_ns);
}

}  // namespace metrics::stream
