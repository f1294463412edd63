#include "iwarp/verbs/receive_side.h"

#include <utility>

#include "iwarp/probes.h"
#include "iwarp/verbs/protection_domain.h"
#include "iwarp/verbs/queue_pair.h"
#include "iwarp/verbs/shared_receive_queue.h"

namespace iwarp::verbs {
namespace {

rdmap::Inbound::Settings inbound_settings(const ConnectionContext& context, const mpa::Terms& terms) {
    const QueuePair::Impl& pair = *context.pair;
    rdmap::Inbound::Settings settings;
    settings.domain = pair.domain->number();
    settings.queue_pair = pair.number;
    settings.privileged = context.device.options.privileged;
    settings.owes_ready_message = !context.initiates && terms.ready != mpa::ReadyMessage::none;
    settings.waits_for_receives = context.options.receive_patience.count() != 0;
    if (pair.shared_receives) settings.receive_domain = pair.shared_receives->impl().domain->number();
    return settings;
}

}  // namespace

ReceiveSide::ReceiveSide(ConnectionContext& context, ReceiveEvents& events, Connection& connection,
                         const mpa::Terms& terms, rdmap::OwedResponses& owed, rdmap::OutstandingRequests& outstanding)
    : context_(context),
      events_(events),
      inbound_(inbound_settings(context, terms), context.device.memory, context.pair->receive_queue(), owed,
               outstanding, *this),
      reader_({terms.crc, terms.markers_received, context.options.strict}, *this, context.device.stages),
      wait_(connection) {}

std::optional<Fault> ReceiveSide::receive(base::Bytes bytes) {
    IWARP_PROBE(wire_receive, context_.pair->number, bytes.size());
    auto fault = placing_ ? inbound_.recheck_target() : std::nullopt;
    return counted(fault ? fault : reader_.receive(bytes));
}

std::optional<Fault> ReceiveSide::received(std::size_t bytes) {
    IWARP_PROBE(wire_receive, context_.pair->number, bytes);
    return counted(reader_.received(bytes));
}

std::optional<Fault> ReceiveSide::resume() {
    wait_.forget_deadline();
    return counted(reader_.resume());
}

std::optional<Fault> ReceiveSide::counted(std::optional<Fault> fault) {
    const std::uint64_t fpdus = reader_.fpdus();
    if (context_.pair != nullptr) context_.pair->counters.fpdus_received += fpdus - fpdus_;
    fpdus_ = fpdus;
    return fault;
}

std::span<const base::MutableBytes> ReceiveSide::room(std::size_t minimum) {
    // What was deregistered meanwhile must not be written to: receive() finds that out and says so.
    if (!context_.is_operating() || !placing_ || inbound_.recheck_target()) return {};
    return reader_.room(minimum);
}

void ReceiveSide::update_wait() {
    if (!waits()) return wait_.end();
    const auto& shared = context_.pair->shared_receives;
    wait_.begin(shared ? &shared->impl() : nullptr, context_.now_ns, context_.options.receive_patience);
}

base::Result<mpa::Target, Fault> ReceiveSide::begin_segment(base::Bytes header, std::uint32_t payload_length) {
    if (!context_.is_operating()) return base::Failure{fault::local_catastrophic};
    auto place_for = inbound_.begin_segment(header, payload_length);
    if (!place_for) return place_for;
    placing_ = true;
    tagged_ = (header[0] & std::byte{0x80}) != std::byte{};
    context_.pair->counters.payload_octets_received += payload_length;
    if (tagged_)
        IWARP_PROBE(placement, context_.pair->number, base::load_be32(header.data() + 2),
                    base::load_be64(header.data() + 6), payload_length);
    return place_for;
}

std::optional<Fault> ReceiveSide::end_segment() {
    placing_ = false;
    if (!context_.is_operating()) return fault::local_catastrophic;
    const std::uint64_t before = inbound_.messages();
    auto fault = inbound_.end_segment();
    if (context_.pair == nullptr || inbound_.messages() == before) return fault;
    context_.pair->counters.messages_received += inbound_.messages() - before;
    if (tagged_) context_.pair->written();
    return fault;
}

void ReceiveSide::delivered(const rdmap::Delivered& message) {
    if (context_.pair == nullptr || !context_.is_operating()) return;
    Completion completion;
    completion.id = message.receive_id;
    completion.status = message.status;
    completion.operation = message.immediate ? CompletedOperation::receive_immediate : CompletedOperation::receive;
    completion.queue_pair = context_.pair->number;
    completion.length = message.length;
    completion.solicited = message.solicited;
    completion.immediate = message.immediate;
    completion.invalidated_stag = message.invalidated_stag;
    if (message.invalidated_stag) {
        const ddp::TaggedBuffer* const buffer = context_.device.memory.find(*message.invalidated_stag);
        if (buffer != nullptr && buffer->kind == ddp::TaggedBuffer::Kind::region)
            context_.device.withdraw({buffer->memory, buffer->length});
    }
    context_.pair->complete_receive(completion);
}

void ReceiveSide::answered(const rdmap::OutstandingRequest& request, Status status) {
    if (context_.pair == nullptr || !context_.is_operating()) return;
    context_.pair->sends.answered(request.ticket, status);
    // One that failed completes with the fault that Inbound is about to return.
    if (status == Status::success && !context_.pair->retire())
        events_.request_failed("the sink of a Read with Invalidate could not be invalidated");
}

void ReceiveSide::terminated(const Terminate& why) {
    if (context_.pair != nullptr && context_.is_operating()) events_.terminated(why);
}

void ReceiveSide::receive_limit() {
    if (context_.pair != nullptr && context_.pair->shared_receives)
        context_.pair->shared_receives->impl().raise_limit();
}

std::optional<std::uint64_t> ReceiveSide::take_unfinished_receive() {
    if (std::exchange(unfinished_taken_, true)) return std::nullopt;
    return inbound_.unfinished_receive();
}

}  // namespace iwarp::verbs
