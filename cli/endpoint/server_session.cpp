#include "cli/endpoint/server_session.h"

#include <fmt/core.h>

#include "cli/endpoint/pattern.h"

namespace cli::endpoint {

namespace {

/// What a request costs in queues and completions, without its data; counted so that depth is bounded like memory.
constexpr std::uint64_t request_octets = 256;
/// What the stack has of a connection, whatever it does.
constexpr std::uint64_t connection_octets = std::uint64_t{16} << 10;

Budget::Share reserve(Budget& budget, std::uint64_t octets) {
    auto share = budget.take(octets);
    if (!share)
        throw Refused(
            fmt::format("full: the memory of all connections would exceed {} bytes (serve --memory)", budget.total()));
    return std::move(*share);
}

RemoteRegion lent(const iwarp::MemoryRegion& region) { return {region.stag(), region.first_offset(), region.length()}; }

/// Regions to read and write, and no messages.
class MemorySession final : public Session {
public:
    MemorySession(Host& host, std::uint64_t writable_octets) : Session(host, {1, 1, writable_octets, 0}) {}
};

}  // namespace

Session::Session(Host& host, const Sizes& sizes)
    : host_(host),
      share_(reserve(host.budget, connection_octets + sizes.writable_octets + sizes.message_octets +
                                      request_octets * (sizes.send + std::uint64_t{sizes.receive}))),
      writable_(sizes.writable_octets),
      messages_(sizes.message_octets),
      domain_(host.device.allocate_protection_domain()),
      completions_(std::size_t{sizes.send} + sizes.receive) {
    using enum iwarp::Access;
    iwarp::QueuePairOptions options;
    options.max_send = sizes.send;
    options.max_receive = sizes.receive;
    options.max_pieces = 1;
    options.max_inline = 64;
    readable_region_ = domain_->register_memory({host.readable.data(), host.region_octets}, remote_read);
    offer_.readable = lent(*readable_region_);
    if (writable_.size() > 0) {
        Pattern::fill(writable_.octets(), 0);
        writable_region_ =
            domain_->register_memory(writable_.octets(), local_write | remote_read | remote_write | remote_atomic);
        offer_.writable = lent(*writable_region_);
    }
    if (messages_.size() > 0) message_region_ = domain_->register_memory(messages_.octets(), local_write);
    queue_pair_ = host.device.create_queue_pair(domain_, host.completions, host.completions, options);
}

Session::~Session() = default;

bool Session::post_receive(std::uint64_t id, std::byte* at, std::size_t length, std::uint32_t stag) {
    const iwarp::Sge piece{at, static_cast<std::uint32_t>(length), stag};
    return queue_pair_->post_receive({id, {&piece, 1}}) == iwarp::Posted::ok;
}

iwarp::Posted Session::post_inline(std::uint64_t id, std::span<std::byte> octets) {
    const iwarp::Sge piece{octets.data(), static_cast<std::uint32_t>(octets.size()), 0};
    iwarp::SendRequest request;
    request.id = id;
    request.pieces = {&piece, 1};
    request.inline_data = true;
    return queue_pair_->post_send(request);
}

std::unique_ptr<Session> Session::make(Host& host, const std::optional<Hello>& hello) {
    if (!hello) return make_rping_session(host);
    if (hello->writable_octets > host.region_octets || hello->message_octets > host.region_octets)
        throw Refused(fmt::format("{} bytes are asked for, {} can be had (serve --region)",
                                  std::max<std::uint64_t>(hello->writable_octets, hello->message_octets),
                                  host.region_octets));
    switch (hello->service) {
        case Hello::Service::memory: return std::make_unique<MemorySession>(host, hello->writable_octets);
        case Hello::Service::usage: return std::make_unique<MemorySession>(host, 0);
        case Hello::Service::sink: return make_sink_session(host, *hello);
        case Hello::Service::echo: return make_echo_session(host, *hello);
    }
    throw Refused("this service is not known here: use the same version of rdmascope at both ends");
}

}  // namespace cli::endpoint
