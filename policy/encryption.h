#pragma once
#include "wire/carrier.h"

namespace policy {

/// Whether the carrier hides what it carries from everybody on the way.
bool is_encrypted(wire::Carrier carrier);

}  // namespace policy
