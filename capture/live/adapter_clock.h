#pragma once
#include <string>

namespace capture::inline live {

/// What became of stamping arriving frames by an adapter's clock.
struct AdapterClock {
    bool on = false;
    std::string why_not = {};  ///< empty where on
    std::string warning = {};  ///< where on, but not to be trusted blindly
};

/// Makes the interface stamp every frame that arrives and the packet socket deliver these stamps. Frames that leave
/// keep the system's time. So unless `insist`, it is done only where the adapter's clock is kept with the system's:
/// times of a request and of its answer would otherwise not compare. Needs CAP_NET_ADMIN.
AdapterClock use_adapter_clock(int socket, const std::string& interface, bool insist);

}  // namespace capture::live
