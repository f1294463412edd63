#include "iwarp/verbs/listener.h"

#include "iwarp/verbs/connection.h"

namespace iwarp {

Listener::Impl::~Impl() {
    Device::Impl& on = device->impl();
    if (listening.handle != 0) on.transport->stop_listening(listening.handle);
    const auto unanswered = std::exchange(waiting, {});
    for (verbs::Connection* const connection : unanswered) connection->forget_listener();
}

std::shared_ptr<verbs::Stream> Listener::Impl::accepted(const std::string& peer) {
    Device::Impl& on = device->impl();
    if (on.connections >= on.options.max_connections && !end_oldest_silent()) {
        ++on.counters.connections_refused;
        return nullptr;
    }
    return verbs::Connection::responder(on, *this, options, peer);
}

bool Listener::Impl::end_oldest_silent() {
    for (verbs::Connection* const connection : waiting) {
        if (connection->waits_for_answer()) continue;
        connection->give_way();
        return true;
    }
    return false;
}

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) { impl_->self = this; }
Listener::~Listener() = default;

std::uint16_t Listener::port() const { return impl_->listening.port; }
std::string Listener::address() const { return impl_->listening.address; }

}  // namespace iwarp
