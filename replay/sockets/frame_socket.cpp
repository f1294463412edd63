#include "replay/sockets/frame_socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fmt/core.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

namespace replay::inline sockets {
namespace {

constexpr std::size_t most_at_once = 64;
constexpr int send_buffer = 4 << 20;
constexpr long queue_full_ns = 50'000;

}  // namespace

SocketResult<std::unique_ptr<FrameSocket>> FrameSocket::open(const InterfaceFacts& interface) {
    // Protocol 0: nothing is received.
    base::Descriptor socket{::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)};
    if (!socket && (errno == EPERM || errno == EACCES))
        return base::Failure{
            std::string("no permission to send frames: the capability CAP_NET_RAW is needed; run as root, or "
                        "once as root: setcap cap_net_raw+ep PROGRAM")};
    sockaddr_ll where = {};
    where.sll_family = AF_PACKET;
    where.sll_ifindex = interface.index;
    if (!socket || ::bind(socket.number(), reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
        return base::Failure{fmt::format("{}: cannot open a packet socket: {}", interface.name, std::strerror(errno))};
    if (::setsockopt(socket.number(), SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer, sizeof send_buffer) != 0)
        ::setsockopt(socket.number(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    return std::unique_ptr<FrameSocket>(new FrameSocket(std::move(socket), interface.name));
}

FrameOutput::Sent FrameSocket::send(const std::vector<base::Bytes>& frames) {
    std::array<mmsghdr, most_at_once> messages{};
    std::array<iovec, most_at_once> pieces{};
    std::size_t done = 0;
    while (done < frames.size()) {
        const std::size_t count = std::min(frames.size() - done, most_at_once);
        for (std::size_t i = 0; i < count; ++i) {
            const base::Bytes octets = frames[done + i];
            pieces[i] = {const_cast<std::byte*>(octets.data()), octets.size()};
            messages[i] = {};
            messages[i].msg_hdr.msg_iov = &pieces[i];
            messages[i].msg_hdr.msg_iovlen = 1;
        }
        const int sent = ::sendmmsg(socket_.number(), messages.data(), static_cast<unsigned>(count), 0);
        if (sent > 0) {
            done += static_cast<std::size_t>(sent);
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EMSGSIZE) return {done, Outcome::too_long};
        if (errno == ENOBUFS || errno == EAGAIN) {
            ++waited_;
            const timespec pause{0, queue_full_ns};
            ::nanosleep(&pause, nullptr);
            continue;
        }
        error_ = errno == ENETDOWN ? fmt::format("{}: the interface went down", name_)
                 : errno == ENXIO || errno == ENODEV
                     ? fmt::format("{}: the interface is gone", name_)
                     : fmt::format("{}: a frame cannot be sent: {}", name_, std::strerror(errno));
        return {done, Outcome::lost};
    }
    return {done};
}

}  // namespace replay::sockets
