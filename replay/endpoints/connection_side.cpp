#include "replay/endpoints/connection_side.h"

#include <algorithm>
#include <fmt/core.h>

namespace replay::inline endpoints {

namespace {

constexpr std::uint32_t least_receives = 32;
constexpr std::uint32_t most_receives = 1024;
constexpr std::size_t invalidatable_octets = 64;

/// As many as the peer had outstanding, and again as many, which the news of their arrival may take.
std::uint32_t receives_for(const PlannedConnection& connection, std::uint8_t side) {
    return std::clamp(2 * connection.depth[1 - side] + 8, least_receives, most_receives);
}

iwarp::Operation operation_of(Kind kind) {
    switch (kind) {
        case Kind::send:
        case Kind::send_invalidate: return iwarp::Operation::send;
        case Kind::write: return iwarp::Operation::write;
        case Kind::write_immediate: return iwarp::Operation::write_immediate;
        case Kind::immediate: return iwarp::Operation::immediate;
        case Kind::read: return iwarp::Operation::read;
        case Kind::fetch_add: return iwarp::Operation::fetch_add;
        case Kind::compare_swap: return iwarp::Operation::compare_swap;
    }
    return iwarp::Operation::send;
}

iwarp::QueuePairOptions pair_options(std::uint32_t receives) {
    iwarp::QueuePairOptions options;
    options.max_send = ConnectionSide::max_send;
    options.max_receive = receives;
    options.max_pieces = 1;
    options.max_inline = 0;
    return options;
}

}  // namespace

ConnectionSide::ConnectionSide(Shared& shared, std::uint32_t number, std::uint32_t connection, std::uint32_t copy,
                               std::uint8_t side)
    : shared_(shared),
      number_(number),
      connection_(connection),
      copy_(copy),
      side_(side),
      receives_(receives_for(shared.survey.connections[connection], side)),
      queue_pair_(shared.device.create_queue_pair(shared.domain, shared.completions, shared.completions,
                                                  pair_options(receives_))) {
    queue_pair_->context = this;
    if (!shared.survey.connections[connection].invalidates[1 - side]) return;
    for (std::size_t i = 0; i < Advertisement::max_invalidatable; ++i)
        invalidatable_.push_back(shared.domain->register_memory(
            {shared.target.data(), invalidatable_octets}, iwarp::Access::local_write | iwarp::Access::remote_write));
}

std::vector<std::byte> ConnectionSide::advertisement(std::uint8_t initiator_side) const {
    Advertisement out;
    out.connection = connection_;
    out.copy = copy_;
    out.side = initiator_side;
    out.receives = receives_;
    out.data_stag = shared_.target_region->stag();
    out.data_octets = shared_.target.size();
    out.atomics_stag = shared_.atomics_region->stag();
    for (const auto& region : invalidatable_) out.invalidatable.push_back(region->stag());
    return out.encode();
}

void ConnectionSide::begin() {
    for (std::uint32_t slot = 0; slot < receives_; ++slot) offer(slot);
}

void ConnectionSide::offer(std::uint32_t slot) {
    const iwarp::Sge piece{shared_.sink.data(),
                           static_cast<std::uint32_t>(std::min<std::uint64_t>(shared_.sink.size(), 0xffff'ffff)),
                           shared_.sink_region->stag()};
    static_cast<void>(queue_pair_->post_receive({id(tag_receive + slot), {&piece, 1}}));
}

Status ConnectionSide::connected(const Advertisement& advertisement) {
    const bool invalidates = shared_.survey.connections[connection_].invalidates[side_];
    if (advertisement.data_octets < shared_.survey.longest || (invalidates && advertisement.invalidatable.empty()))
        return failure(
            fmt::format("{}: lends too little memory; do both ends replay the same capture?", queue_pair_->peer()));
    peer_ = advertisement;
    connected_ = true;
    return Done{};
}

std::optional<std::int64_t> ConnectionSide::due_ns(std::int64_t start_ns) const {
    if (pending_.empty()) return {};
    if (!shared_.speed) return start_ns;
    return start_ns + static_cast<std::int64_t>(static_cast<double>(pending_.front().at_ns) / *shared_.speed);
}

/// A message more may be on its way only where the peer has a receive for it, and a key to be invalidated only where
/// it has been lent again.
bool ConnectionSide::may_post(const Operation& operation) const {
    return received() >= operation.after_peer && arrived_ >= operation.after_arrived &&
           answered_ >= operation.after_answered &&
           posted_ - arrived_ + messages_of(operation.kind) <= peer_.receives &&
           (operation.kind != Kind::send_invalidate || invalidations_.size() < peer_.invalidatable.size() ||
            arrived_ >= invalidations_.front());
}

Result<std::size_t> ConnectionSide::post(std::int64_t now_ns, std::int64_t start_ns) {
    std::size_t count = 0;
    while (connected_ && !pending_.empty()) {
        const Operation& operation = pending_.front();
        const std::int64_t due = *due_ns(start_ns);
        if (due > now_ns || !may_post(operation)) break;
        const auto posted = post_one(operation);
        if (!posted) return base::Failure{posted.error()};
        if (*posted == iwarp::Posted::queue_full) break;
        if (*posted != iwarp::Posted::ok)
            return failure(fmt::format("{}: a {} of {} bytes was not taken: {}", queue_pair_->peer(),
                                       name_of(operation.kind), operation.bytes, iwarp::name_of(*posted)));
        note(operation);
        if (shared_.speed) result_.late_ns.record(static_cast<std::uint64_t>(now_ns - due));
        if (count++ == 0 && result_.first_ns == 0) result_.first_ns = now_ns;
        result_.last_ns = now_ns;
        pending_.pop_front();
    }
    return count;
}

/// What was posted, for the report.
void ConnectionSide::note(const Operation& operation) {
    SideResult::Sum& sum = result_.kinds[static_cast<std::size_t>(operation.kind)];
    ++sum.count;
    sum.bytes += operation.bytes;
    if (!may_have_payload(operation.kind) || operation.bytes == 0) return;
    ++result_.could_have;
    if (operation.payload) ++result_.with_payload;
}

std::uint32_t ConnectionSide::next_invalidated() const {
    const std::size_t lent = peer_.invalidatable.size();
    const std::uint32_t stag = peer_.invalidatable[invalidated_ % lent];
    return (stag & 0xffff'ff00) | static_cast<std::uint8_t>(stag + invalidated_ / lent);
}

Result<iwarp::Posted> ConnectionSide::post_one(const Operation& operation) {
    const bool answered = is_answered(operation.kind);
    const bool atomic = answered && operation.kind != Kind::read;
    const std::uint64_t octets = atomic ? 8 : operation.bytes;
    if (octets > shared_.source.size())
        return failure(fmt::format("frame {}: a message of {} bytes, longer than the first reading said",
                                   operation.frame, octets));
    const PatternMemory& local = answered ? shared_.sink : shared_.source;
    iwarp::Sge piece{local.data(), static_cast<std::uint32_t>(octets),
                     (answered ? shared_.sink_region : shared_.source_region)->stag()};
    Sent sent;
    if (operation.payload) {
        sent.payload = operation.payload;
        sent.region = shared_.domain->register_memory(sent.payload->octets(), iwarp::Access::none);
        piece = {sent.payload->octets().data(), static_cast<std::uint32_t>(octets), sent.region->stag()};
    }
    iwarp::SendRequest request;
    request.id = id(answered ? tag_answered : tag_sent);
    request.operation = operation_of(operation.kind);
    if (operation.kind != Kind::immediate) request.pieces = {&piece, 1};
    request.remote_stag = atomic ? peer_.atomics_stag : peer_.data_stag;
    request.immediate = posted_;
    request.operand = 1;
    request.invalidate = operation.kind == Kind::send_invalidate;
    if (request.invalidate) request.invalidate_stag = next_invalidated();
    const iwarp::Posted posted = queue_pair_->post_send(request);
    if (posted != iwarp::Posted::ok) return posted;
    if (!answered) sent_.push_back(std::move(sent));
    posted_ += messages_of(operation.kind);
    requests_ += answered ? 1 : 0;
    if (request.invalidate) {
        ++invalidated_;
        invalidations_.push_back(posted_);
        if (invalidations_.size() > peer_.invalidatable.size()) invalidations_.pop_front();
    }
    return posted;
}

std::string ConnectionSide::waits_for() const {
    if (!connected_) return "the connection";
    if (pending_.empty()) return {};
    const Operation& next = pending_.front();
    if (received() < next.after_peer)
        return fmt::format("message {} of the peer, which has sent {}", next.after_peer, received());
    if (answered_ < next.after_answered)
        return fmt::format("the answer to request {}, and has {}", next.after_answered, answered_);
    return may_post(next) ? "" : fmt::format("its messages to arrive: {} of {} have", arrived_, posted_);
}

void ConnectionSide::completed(std::uint32_t tag, const iwarp::Completion& completion) {
    if (tag == tag_answered) ++answered_;
    if (tag == tag_sent && !sent_.empty()) sent_.pop_front();
    if (tag < tag_receive) return;
    if (completion.invalidated_stag) advertise_again(*completion.invalidated_stag);
    offer(tag - tag_receive);
}

void ConnectionSide::advertise_again(std::uint32_t stag) {
    for (const auto& region : invalidatable_)
        if (region->stag() == stag)
            region->reregister({shared_.target.data(), invalidatable_octets},
                               iwarp::Access::local_write | iwarp::Access::remote_write);
}

std::optional<std::uint64_t> ConnectionSide::unreported_arrivals() const {
    const std::uint64_t now = received();
    return now != reported_ ? std::optional(now) : std::nullopt;
}

std::string ConnectionSide::unsettled() const {
    if (!pending_.empty()) return fmt::format("{} operations wait for {}", pending_.size(), waits_for());
    if (requests_ != answered_) return fmt::format("{} READs and atomics have no answer", requests_ - answered_);
    if (posted_ != arrived_) return fmt::format("{} messages have not arrived", posted_ - arrived_);
    if (received() != expected_) return fmt::format("{} of {} messages of the peer have come", received(), expected_);
    return {};
}

}  // namespace replay::endpoints
