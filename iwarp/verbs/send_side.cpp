#include "iwarp/verbs/send_side.h"

#include <algorithm>

#include "fmt/core.h"
#include "iwarp/probes.h"
#include "iwarp/rdmap/inbound.h"
#include "iwarp/verbs/protection_domain.h"
#include "iwarp/verbs/queue_pair.h"
#include "wire/terminate.h"

namespace iwarp::verbs {
namespace {

rdmap::Outbound::Settings outbound_settings(const QueuePair::Impl& pair, std::uint32_t max_ulpdu) {
    return {pair.domain->number(), pair.number, pair.device->impl().options.privileged, max_ulpdu};
}

}  // namespace

std::uint32_t ulpdu_limit(const ConnectionOptions& options, std::uint32_t emss, bool markers) {
    constexpr std::uint32_t least = 128;
    const std::uint32_t fitting =
        std::clamp(emss < 2 * least ? least : wire::mpa_mulpdu(emss, markers), least, wire::mpa_ulpdu_max);
    if (options.max_ulpdu == 0) return fitting;
    return options.align ? std::min(fitting, options.max_ulpdu) : options.max_ulpdu;
}

SendSide::SendSide(ConnectionContext& context, SendBuffer& buffer, const mpa::Terms& terms, std::uint32_t max_ulpdu,
                   rdmap::OwedResponses& owed, rdmap::OutstandingRequests& outstanding)
    : context_(context),
      buffer_(buffer),
      writer_(mpa::FpduWriter::Settings{terms.crc, terms.markers_sent}),
      outbound_(outbound_settings(*context.pair, max_ulpdu), context.device.memory, context.pair->sends, owed,
                outstanding, *this),
      permitted_(context.initiates) {
    if (context.initiates) outbound_.begin_with(terms.ready);
}

void SendSide::fill() {
    // The fuller the memory, the less there will be to keep.
    buffer_.batch().limit(context_.device.stages->account.left() / 8);
    if (permitted_)
        outbound_.fill(writer_, buffer_.batch());
    else
        outbound_.perform_local();
    count();
}

void SendSide::fill_answers() { outbound_.fill_answers(writer_, buffer_.batch()); }

void SendSide::add_terminate(base::Bytes body) {
    rdmap::add_terminate(body, writer_, buffer_.batch());
    count();
}

/// What was filled in since the last call.
void SendSide::count() {
    QueuePairCounters& counters = context_.pair->counters;
    const std::uint64_t fpdus = writer_.fpdus() - fpdus_;
    if (fpdus != 0) IWARP_PROBE(wire_send, context_.pair->number, fpdus, buffer_.bytes());
    counters.fpdus_sent += fpdus;
    counters.payload_octets_sent += outbound_.payload_octets() - payload_bytes_;
    counters.reads_served += outbound_.reads_served() - reads_served_;
    fpdus_ = writer_.fpdus();
    payload_bytes_ = outbound_.payload_octets();
    reads_served_ = outbound_.reads_served();
}

std::optional<SendSide::SendFailure> SendSide::failure() const {
    if (const auto& refused = outbound_.answer_failure()) {
        const Fault& fault = refused->fault;
        return SendFailure{fault, refused->body,
                           rdmap::terminate_text(static_cast<std::uint8_t>(fault.layer), fault.type, fault.code)};
    }
    const auto& failed = outbound_.send_failure();
    if (!failed || !buffer_.batch().empty()) return std::nullopt;
    const auto body = wire::to_octets(wire::TerminateControl{});
    return SendFailure{fault::local_catastrophic,
                       {body.begin(), body.end()},
                       fmt::format("a send request of this side failed: {}", name_of(failed->status)),
                       failed->ticket,
                       failed->status};
}

bool SendSide::take_may_change() {
    return outbound_.take_may_change() && context_.pair != nullptr && context_.pair->agreement &&
           context_.pair->agreement->crc;
}

/// By a request inside fill(), when the device does not yet know what that has filled in.
void SendSide::withdrawn(std::span<const std::byte> memory) {
    buffer_.withdraw(memory);
    context_.device.withdraw(memory);
}

}  // namespace iwarp::verbs
