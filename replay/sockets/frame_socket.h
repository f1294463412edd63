#pragma once
#include <memory>
#include <string>
#include <vector>

#include "replay/frames/injector.h"
#include "replay/sockets/interface.h"

namespace replay::inline sockets {

/// A packet socket that sends whole Ethernet frames by one interface, and receives nothing. packet(7).
class FrameSocket final : public FrameOutput {
public:
    /// Fails if this process lacks the permission, and names the capability.
    static SocketResult<std::unique_ptr<FrameSocket>> open(const InterfaceFacts& interface);

    /// Waits while the interface's queue is full.
    Sent send(const std::vector<base::Bytes>& frames) override;
    const std::string& error() const override { return error_; }
    std::uint64_t waited() const { return waited_; }  ///< times that the queue was full

private:
    FrameSocket(base::Descriptor socket, std::string name) : socket_(std::move(socket)), name_(std::move(name)) {}

    base::Descriptor socket_;
    std::string name_;
    std::string error_;
    std::uint64_t waited_ = 0;
};

}  // namespace replay::sockets
