#include "iwarp/transport/tcp.h"
#include "iwarp/verbs/device.h"

namespace iwarp {

std::shared_ptr<Device> Device::open(const DeviceOptions& options) {
    return verbs::make_device(options, std::make_unique<transport::TcpTransport>());
}

}  // namespace iwarp
