#pragma once
#include <string>

#include "base/error.h"

namespace capture::inline live {

/// An adapter's clock that stamps arriving frames.
struct AdapterClock {
    std::string warning = {};  ///< why its times may mislead; empty if they agree with the system's
};

/// Makes the interface stamp every frame that arrives and the packet socket deliver these stamps. Frames that leave
/// keep the system's time. So unless `insist`, it is done only where the adapter's clock is kept with the system's:
/// times of a request and of its answer would otherwise not compare. Needs CAP_NET_ADMIN.
base::Result<AdapterClock> use_adapter_clock(int socket, const std::string& interface, bool insist);

}  // namespace capture::live
