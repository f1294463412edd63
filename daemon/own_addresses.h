#pragma once
#include <vector>

#include "metrics/figures/address.h"

namespace service {

/// The addresses that this machine's interfaces have now.
std::vector<metrics::Address> own_addresses();

}  // namespace service
