#include "iwarp/transport/tcp_transport.h"
#include "iwarp/verbs/device.h"

namespace iwarp {

std::shared_ptr<Device> Device::open(const DeviceOptions& options) {
    transport::TcpOptions tcp;
    tcp.descriptor_tells_posts = options.descriptor_tells_posts;
    return verbs::make_device(options, std::make_unique<transport::TcpTransport>(tcp));
}

}  // namespace iwarp
