#include "iwarp/verbs/connection_request.h"

#include "fmt/core.h"
#include "iwarp/verbs/listener.h"
#include "iwarp/verbs/queue_pair.h"

namespace iwarp {

ConnectionRequest::Impl::Impl(std::shared_ptr<Device> on_device, std::shared_ptr<verbs::Connection> waiting)
    : device(std::move(on_device)), connection(std::move(waiting)) {
    const mpa::Handshake& handshake = connection->handshake();
    const base::Bytes octets = handshake.private_data();
    private_data.assign(octets.begin(), octets.end());
    const auto& parameters = handshake.peer_parameters();
    ird = parameters ? parameters->ird : wire::mpa_depth_unspecified;
    ord = parameters ? parameters->ord : wire::mpa_depth_unspecified;
    peer_to_peer = parameters && parameters->peer_to_peer;
}

ConnectionRequest::ConnectionRequest(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

ConnectionRequest::~ConnectionRequest() {
    if (impl_->connection->waits_for_answer()) impl_->connection->reject({});
}

std::string ConnectionRequest::peer() const { return impl_->connection->peer(); }
std::string ConnectionRequest::local() const { return impl_->device->impl().transport->local(*impl_->connection); }
const Listener* ConnectionRequest::listener() const {
    const Listener::Impl* const listener = impl_->connection->listener();
    return listener == nullptr ? nullptr : listener->self;
}
std::span<const std::byte> ConnectionRequest::private_data() const { return impl_->private_data; }
std::uint16_t ConnectionRequest::ird() const { return impl_->ird; }
std::uint16_t ConnectionRequest::ord() const { return impl_->ord; }
bool ConnectionRequest::peer_to_peer() const { return impl_->peer_to_peer; }

void ConnectionRequest::accept(const std::shared_ptr<QueuePair>& queue_pair, const ConnectionOptions& options) {
    verbs::check_options(options, false);
    if (!queue_pair) throw Error("a connection request is accepted with a queue pair");
    QueuePair::Impl& pair = queue_pair->impl();
    if (pair.device != impl_->device)
        throw Error("the queue pair belongs to another device than the connection request");
    if (pair.state != QueuePairState::idle || pair.connection)
        throw Error(
            fmt::format("queue pair {} is {}; only an idle one can accept a connection", pair.number,
                        pair.connection && pair.state == QueuePairState::idle ? "connecting" : name_of(pair.state)));
    impl_->connection->accept(pair, options);
}

void ConnectionRequest::reject(std::span<const std::byte> private_data) { impl_->connection->reject(private_data); }

}  // namespace iwarp
