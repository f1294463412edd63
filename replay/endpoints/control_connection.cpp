#include "replay/endpoints/control_connection.h"

#include <algorithm>

namespace replay::inline endpoints {

namespace {

iwarp::QueuePairOptions pair_options() {
    iwarp::QueuePairOptions options;
    options.max_send = ControlConnection::slots;
    options.max_receive = ControlConnection::slots;
    options.max_pieces = 1;
    options.max_inline = 0;
    return options;
}

}  // namespace

ControlConnection::ControlConnection(iwarp::Device& device, const std::shared_ptr<iwarp::ProtectionDomain>& domain,
                                     const std::shared_ptr<iwarp::CompletionQueue>& completions)
    : memory_(std::make_unique<std::byte[]>(2 * slots * ControlMessage::octets)),
      region_(domain->register_memory({memory_.get(), 2 * slots * ControlMessage::octets}, iwarp::Access::local_write)),
      queue_pair_(device.create_queue_pair(domain, completions, completions, pair_options())) {
    for (std::uint32_t at = 0; at < slots; ++at) offer(at);
}

void ControlConnection::offer(std::uint32_t at) {
    const iwarp::Sge piece{slot(slots + at), ControlMessage::octets, region_->stag()};
    static_cast<void>(queue_pair_->post_receive({std::uint64_t{number} << 32 | (tag_receive + at), {&piece, 1}}));
}

bool ControlConnection::room(bool for_arrivals) const {
    const std::size_t most = for_arrivals ? slots - reserve : slots;
    return sent_ - completed_ < most && sent_ - taken_ < most;
}

void ControlConnection::send(ControlMessage message) {
    std::byte* const at = slot(sent_ % slots);
    message.taken = reported_ = received_;
    const std::size_t octets = message.encode({at, ControlMessage::octets});
    const iwarp::Sge piece{at, static_cast<std::uint32_t>(octets), region_->stag()};
    iwarp::SendRequest request;
    request.id = std::uint64_t{number} << 32;
    request.pieces = {&piece, 1};
    if (queue_pair_->post_send(request) == iwarp::Posted::ok) ++sent_;
}

std::optional<ControlMessage> ControlConnection::completed(std::uint32_t tag, const iwarp::Completion& completion) {
    if (tag < tag_receive) {
        ++completed_;
        return std::nullopt;
    }
    ++received_;
    const std::uint32_t at = tag - tag_receive;
    auto message = ControlMessage::decode({slot(slots + at), completion.length});
    if (message) taken_ = std::max(taken_, message->taken);
    offer(at);
    return message;
}

}  // namespace replay::endpoints
