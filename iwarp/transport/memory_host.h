#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/transport/memory_wire.h"

namespace iwarp::transport::memory {

struct Pending {
    std::shared_ptr<verbs::Stream> stream;
    std::string host;
    std::uint16_t port = 0;
    std::int64_t answer_ns = 0;
    std::int64_t give_up_ns = 0;
};

/// The transport of one device.
class Host final : public iwarp::verbs::Transport {
public:
    Host(std::shared_ptr<MemoryNetwork> network, Wire& wire, std::string name)
        : network_(std::move(network)), wire_(wire), name_(std::move(name)) {
        wire_.hosts.push_back(this);
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    ~Host() override;

    std::int64_t now_ns() const override { return wire_.now_ns; }
    void connect(std::shared_ptr<verbs::Stream> stream, const std::string& host, std::uint16_t port,
                 const ConnectionOptions& options) override;
    iwarp::verbs::Listening listen(const std::string& host, std::uint16_t port, int backlog,
                                   const ConnectionOptions& options, iwarp::verbs::Acceptor& acceptor) override;
    void stop_listening(std::uint64_t handle) override;
    void attention(verbs::Stream& stream) override;
    bool progress(std::int64_t wait_ns) override;
    int descriptor() const override { return -1; }

    const std::string& name() const { return name_; }
    void look_after(const std::shared_ptr<Connection>& connection, End& end) { ends_.emplace_back(connection, &end); }
    std::int64_t next_ns() const;
    bool work();

private:
    bool answer(Pending& pending);
    bool accept(End& end);
    bool deliver(End& end);
    void hand_over(verbs::Stream& stream, base::Bytes octets);
    bool tick(End& end);
    bool send(End& end);
    bool serve(End& end);

    std::shared_ptr<MemoryNetwork> network_;
    Wire& wire_;
    std::string name_;
    std::vector<Pending> pending_;
    std::vector<std::pair<std::shared_ptr<Connection>, End*>> ends_;
};

}  // namespace iwarp::transport::memory
