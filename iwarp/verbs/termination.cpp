#include "iwarp/verbs/termination.h"

namespace iwarp::verbs {
namespace {

constexpr std::uint64_t no_ticket = ~std::uint64_t{0};

std::uint64_t affected_ticket(const Terminate& why, rdmap::SendQueue& sends) {
    const bool memory = why.type == 1;
    const auto means = [&](const rdmap::WorkRequest& work) {
        constexpr std::uint8_t cannot_invalidate = 9;
        if (memory && why.layer == 0)
            return why.code == cannot_invalidate ? work.operation == Operation::send : work.awaits_answer();
        if (memory && why.layer == 1)
            return work.operation == Operation::write || work.operation == Operation::write_immediate;
        return !work.is_local();
    };
    for (std::uint64_t ticket = sends.oldest_ticket(); ticket <= sends.next_ticket(); ++ticket) {
        if (ticket == sends.next_ticket() && sends.next() == nullptr) break;
        if (means(sends.at(ticket))) return ticket;
    }
    return no_ticket;
}

}  // namespace

AffectedRequest affected_by(const Terminate& why, rdmap::SendQueue& sends) {
    constexpr std::uint8_t protection = 1;
    constexpr std::uint8_t untagged = 2;
    Status status = Status::remote_operation;
    if (why.layer <= 1 && why.type == protection) status = Status::remote_access;
    if (why.layer == 1 && why.type == untagged) status = Status::remote_invalid;
    return {affected_ticket(why, sends), status};
}

std::uint64_t oldest_begun(const rdmap::SendQueue& sends) {
    return sends.oldest_ticket() < sends.next_ticket() ? sends.oldest_ticket() : no_ticket;
}

}  // namespace iwarp::verbs
