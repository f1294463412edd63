#include "iwarp/transport/memory_network.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "iwarp/transport/memory_host.h"
#include "iwarp/transport/memory_wire.h"

namespace iwarp::transport {
namespace {

using memory::Connection;
using memory::End;
using memory::Host;
using memory::Wire;

class Raw final : public MemoryNetwork::RawPeer {
public:
    /// Without a connection: refused.
    Raw(std::shared_ptr<MemoryNetwork> network, Wire& wire, std::shared_ptr<Connection> connection, unsigned side)
        : network_(std::move(network)), wire_(wire), connection_(std::move(connection)), side_(side) {}
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;
    ~Raw() override {
        if (connection_) wire_.let_go(end(), !(end().fin_sent && end().fin_received));
    }

    void send(base::Bytes octets) override {
        if (connection_ && !end().gone && !end().fin_sent) wire_.put_octets(end(), {octets.begin(), octets.end()});
    }
    void close() override {
        if (connection_ && !end().gone) wire_.put_fin(end());
    }
    void reset() override {
        if (!connection_) return;
        wire_.take_in(end());
        kept_ = std::move(end().inbox);
        wire_.let_go(end(), true);
    }
    std::vector<std::byte> take() override {
        if (!connection_) return {};
        wire_.take_in(end());
        std::vector<std::byte> octets = std::exchange(kept_, {});
        octets.insert(octets.end(), end().inbox.begin(), end().inbox.end());
        end().under_way -= end().inbox.size();
        end().inbox.clear();
        return octets;
    }
    bool connected() const override {
        return connection_ && !end().gone && !peer_reset() && !(end().fin_sent && end().fin_received);
    }
    bool peer_closed() const override {
        if (!connection_) return false;
        wire_.take_in(end());
        return end().fin_received;
    }
    bool peer_reset() const override {
        if (!connection_) return true;
        wire_.take_in(end());
        return end().reset_received;
    }

private:
    End& end() const { return connection_->ends[side_]; }

    std::shared_ptr<MemoryNetwork> network_;
    Wire& wire_;
    std::shared_ptr<Connection> connection_;
    unsigned side_;
    std::vector<std::byte> kept_;
};

}  // namespace

struct MemoryNetwork::Impl : Wire {
    using Wire::Wire;
};

MemoryNetwork::MemoryNetwork(const Impairment& impairment) : impl_(std::make_unique<Impl>(impairment)) {}
MemoryNetwork::~MemoryNetwork() = default;

std::shared_ptr<MemoryNetwork> MemoryNetwork::make(const Impairment& impairment) {
    return std::shared_ptr<MemoryNetwork>(new MemoryNetwork(impairment));
}

std::unique_ptr<iwarp::verbs::Transport> MemoryNetwork::attach(const std::string& host) {
    return std::make_unique<Host>(shared_from_this(), *impl_, host);
}

std::unique_ptr<MemoryNetwork::RawPeer> MemoryNetwork::connect_raw(const std::string& host, std::uint16_t port) {
    return std::make_unique<Raw>(shared_from_this(), *impl_, impl_->connect("raw", nullptr, {host, port}), 0U);
}

void MemoryNetwork::listen_raw(const std::string& host, std::uint16_t port) {
    const auto [found, added] = impl_->listeners.try_emplace({host, port});
    if (!added) throw Error("cannot listen on " + host + ":" + std::to_string(port) + ": Address already in use");
    found->second.handle = ++impl_->last_handle;
}

std::unique_ptr<MemoryNetwork::RawPeer> MemoryNetwork::accept_raw(const std::string& host, std::uint16_t port) {
    const auto found = impl_->listeners.find({host, port});
    if (found == impl_->listeners.end() || found->second.waiting.empty()) return nullptr;
    auto connection = std::move(found->second.waiting.front());
    found->second.waiting.pop_front();
    return std::make_unique<Raw>(shared_from_this(), *impl_, std::move(connection), 1U);
}

std::int64_t MemoryNetwork::now_ns() const { return impl_->now_ns; }

void MemoryNetwork::advance(std::int64_t ns) {
    impl_->now_ns = base::add_ns(impl_->now_ns, std::max<std::int64_t>(ns, 0));
}

bool MemoryNetwork::run(std::int64_t limit_ns) {
    const std::int64_t end_ns = base::add_ns(impl_->now_ns, limit_ns);
    bool anything = false;
    for (;;) {
        bool moved = impl_->serve_raw();
        for (Host* const host : impl_->hosts)
            if (host->work()) moved = true;
        anything = anything || moved;
        if (moved) continue;
        std::int64_t next = impl_->next_raw_ns();
        for (const Host* host : impl_->hosts) next = std::min(next, host->next_ns());
        if (next <= impl_->now_ns || next > end_ns) return anything;
        impl_->now_ns = next;
    }
}

void MemoryNetwork::tap(std::function<void(const Passed&)> tap) { impl_->tap = std::move(tap); }

}  // namespace iwarp::transport
