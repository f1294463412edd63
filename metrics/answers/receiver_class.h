#pragma once
#include <cstdint>
#include <map>
#include <string_view>

#include "metrics/figures/snapshot.h"

namespace metrics::inline answers {

/// How a host receives packets that are out of order, by what it did in this capture.
enum class ReceiverClass : std::uint8_t {
    unknown,
    in_order,   ///< drops what comes after a missing packet
    selective,  ///< keeps it, and asks only for what is missing
    placing,    ///< keeps it, and waits for what is missing
};
std::string_view name_of(ReceiverClass receiver);

/// The class that at least 95 % of the cases show, of five cases at least.
ReceiverClass class_of(const HoleOutcomes& outcomes);
/// Of the hosts that flows show one of, by all flows towards a host. A host without a class is not there.
std::map<Address, ReceiverClass> receiver_classes(const Snapshot& snapshot);

}  // namespace metrics::answers
