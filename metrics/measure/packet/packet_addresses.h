#pragma once
#include "dissect/dissection.h"
#include "metrics/figures/address.h"

namespace metrics::inline measure::inline packet {

/// The addresses of a dissection's innermost network layer. `bytes` is what the dissection describes.
inline Address source_address(const dissect::Dissection& dissection, base::Bytes bytes) {
    return address_at(dissection.network.family, dissection.network.source_offset, bytes);
}
inline Address destination_address(const dissect::Dissection& dissection, base::Bytes bytes) {
    return address_at(dissection.network.family, dissection.network.destination_offset, bytes);
}

}  // namespace metrics::measure::packet
