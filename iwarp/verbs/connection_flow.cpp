#include <algorithm>
#include <bit>
#include <functional>

#include "fmt/core.h"
#include "iwarp/probes.h"
#include "iwarp/verbs/connection.h"
#include "iwarp/verbs/protection_domain.h"
#include "iwarp/verbs/queue_pair.h"
#include "iwarp/verbs/shared_receive_queue.h"
#include "wire/ddp.h"
#include "wire/rdmap.h"
#include "wire/terminate.h"

/// While FPDUs pass: octets in, octets out, what they mean for the queue pair, and Terminate.
namespace iwarp::verbs {
namespace {

/// RFC 5044 sections 3 and 4.5.
std::uint32_t ulpdu_limit(const ConnectionOptions& options, std::uint32_t emss, bool markers) {
    constexpr std::uint32_t least = 128;
    const std::uint32_t fitting =
        std::clamp(emss < 2 * least ? least : wire::mpa_mulpdu(emss, markers), least, wire::mpa_ulpdu_max);
    if (options.max_ulpdu == 0) return fitting;
    return options.align ? std::min(fitting, options.max_ulpdu) : options.max_ulpdu;
}

rdmap::Outbound::Settings outbound_settings(const QueuePair::Impl& pair, std::uint32_t max_ulpdu) {
    return {pair.domain->number(), pair.number, pair.device->impl().options.privileged, max_ulpdu};
}

rdmap::Inbound::Settings inbound_settings(const QueuePair::Impl& pair, bool owes_ready_message,
                                          bool waits_for_receives) {
    rdmap::Inbound::Settings settings;
    settings.domain = pair.domain->number();
    settings.queue_pair = pair.number;
    settings.privileged = pair.device->impl().options.privileged;
    settings.owes_ready_message = owes_ready_message;
    settings.waits_for_receives = waits_for_receives;
    if (pair.shared_receives) settings.receive_domain = pair.shared_receives->impl().domain->number();
    return settings;
}

bool overlap(wire::Bytes one, wire::Bytes other) {
    const std::less<const std::byte*> before;
    return before(one.data(), other.data() + other.size()) && before(other.data(), one.data() + one.size());
}

}  // namespace

Connection::Flow::Flow(Connection& connection, QueuePair::Impl& pair, const mpa::Terms& terms)
    : owed(terms.ird),
      outstanding(terms.ord),
      inbound(inbound_settings(pair, !connection.initiates_ && terms.ready != mpa::ReadyMessage::none,
                               connection.options_.receive_patience.count() != 0),
              connection.device_.memory, pair.receive_queue(), owed, outstanding, connection),
      outbound(outbound_settings(pair, connection.max_ulpdu_), connection.device_.memory, pair.sends, owed, outstanding,
               connection),
      reader({terms.crc, terms.markers_received, connection.options_.strict}, connection, connection.device_.stages) {
    if (connection.initiates_) outbound.begin_with(terms.ready);
}

Agreement Connection::agreement_on(const mpa::Terms& terms) const {
    Agreement agreement;
    agreement.revision = terms.revision;
    agreement.enhanced = terms.enhanced;
    agreement.crc = terms.crc;
    agreement.markers_sent = terms.markers_sent;
    agreement.markers_received = terms.markers_received;
    agreement.peer_to_peer = terms.ready != mpa::ReadyMessage::none;
    agreement.ird = terms.ird;
    agreement.ord = terms.ord;
    agreement.max_ulpdu = max_ulpdu_;
    return agreement;
}

void Connection::begin_operating() {
    const mpa::Terms terms = handshake_->terms();
    max_ulpdu_ = ulpdu_limit(options_, emss_, terms.markers_sent);
    writer_ = std::make_unique<mpa::FpduWriter>(mpa::FpduWriter::Settings{terms.crc, terms.markers_sent});
    flow_ = std::make_unique<Flow>(*this, *pair_, terms);
    ++device_.counters.connections_opened;
    phase_ = Phase::operating;
    deadline_ns_.reset();
    may_send_ = initiates_;
    pair_->established(agreement_on(terms), initiates_ ? peers_answer() : PeersAnswer{});
    handshake_.reset();
    std::vector<std::byte>().swap(options_.private_data);
}

void Connection::segment_size_changed(std::uint32_t emss, std::int64_t) {
    emss_ = emss;
    if (phase_ != Phase::operating) return;
    max_ulpdu_ = ulpdu_limit(options_, emss, pair_->agreement->markers_sent);
    flow_->outbound.limit_ulpdu(max_ulpdu_);
    pair_->agreement->max_ulpdu = max_ulpdu_;
}

void Connection::receive(wire::Bytes octets, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (handshake_ && starting()) take_start(octets);
    if (phase_ == Phase::operating && !octets.empty()) operate(octets);
}

void Connection::operate(wire::Bytes octets) {
    IWARP_PROBE(wire_receive, pair_->number, octets.size());
    auto fault = placing_ ? flow_->inbound.recheck_target() : std::nullopt;
    if (!fault) fault = flow_->reader.receive(octets);
    taken(fault);
}

/// What the reader has been given is where it belongs, or waits.
void Connection::taken(std::optional<Fault> fault) {
    count_received();
    if (fault) return inbound_fault(*fault);
    if (phase_ == Phase::operating && !pair_->sends.empty()) progressed();  // of a Read that is waited for
    if (!waits_for_receive()) {
        receive_until_ns_.reset();
        leave_line();
        return;
    }
    if (!receive_until_ns_) receive_until_ns_ = now_ns_ + std::chrono::nanoseconds(options_.receive_patience).count();
    stand_in_line();
}

void Connection::go_on_receiving() {
    receive_until_ns_.reset();  // another message has a patience of its own
    taken(flow_->reader.resume());
    attention();  // it may receive again
}

void Connection::receive_posted() {
    if (!waits_for_receive()) return;
    const Entry entry(*this);
    go_on_receiving();
}

std::span<const wire::MutableBytes> Connection::room(std::size_t minimum) {
    // What was deregistered meanwhile must not be written to: receive() finds that out and says so.
    if (phase_ != Phase::operating || !placing_ || flow_->inbound.recheck_target()) return {};
    return flow_->reader.room(minimum);
}

void Connection::received(std::size_t octets, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (phase_ != Phase::operating) return;
    IWARP_PROBE(wire_receive, pair_->number, octets);
    taken(flow_->reader.received(octets));
}

void Connection::count_received() {
    const std::uint64_t fpdus = flow_->reader.fpdus();
    if (pair_ != nullptr) pair_->counters.fpdus_received += fpdus - fpdus_received_;
    fpdus_received_ = fpdus;
}

wire::Result<mpa::Target, Fault> Connection::begin_segment(wire::Bytes header, std::uint32_t payload_length) {
    if (phase_ != Phase::operating) return wire::Failure{fault::local_catastrophic};
    auto place_for = flow_->inbound.begin_segment(header, payload_length);
    if (!place_for) return place_for;
    placing_ = true;
    pair_->counters.payload_octets_received += payload_length;
    if ((header[0] & std::byte{0x80}) != std::byte{})
        IWARP_PROBE(placement, pair_->number, wire::load_be32(header.data() + 2), wire::load_be64(header.data() + 6),
                    payload_length);
    return place_for;
}

std::optional<Fault> Connection::end_segment() {
    placing_ = false;
    if (phase_ != Phase::operating) return fault::local_catastrophic;
    const std::uint64_t before = flow_->inbound.messages();
    auto fault = flow_->inbound.end_segment();
    if (pair_ != nullptr && flow_) pair_->counters.messages_received += flow_->inbound.messages() - before;
    return fault;
}

void Connection::first_fpdu() {
    may_send_ = true;
    if (!initiates_ && pair_ != nullptr && pair_->is_pending(Event::Kind::established))
        pair_->raise(Event::Kind::communication_established);
}

void Connection::delivered(const rdmap::Delivered& message) {
    if (pair_ == nullptr || phase_ != Phase::operating) return;
    Completion completion;
    completion.id = message.receive_id;
    completion.status = message.status;
    completion.operation = message.immediate ? CompletedOperation::receive_immediate : CompletedOperation::receive;
    completion.queue_pair = pair_->number;
    completion.length = message.length;
    completion.solicited = message.solicited;
    completion.immediate = message.immediate;
    completion.invalidated_stag = message.invalidated_stag;
    if (message.invalidated_stag) {
        const ddp::TaggedBuffer* const buffer = device_.memory.find(*message.invalidated_stag);
        if (buffer != nullptr && buffer->kind == ddp::TaggedBuffer::Kind::region)
            device_.withdraw({buffer->memory, buffer->length});
    }
    pair_->complete_receive(completion);
}

void Connection::answered(const rdmap::OutstandingRequest& request, Status status) {
    if (pair_ == nullptr || phase_ != Phase::operating) return;
    pair_->sends.answered(request.ticket, status);
    // One that failed completes with the fault that Inbound is about to tell.
    if (status == Status::success && !pair_->retire())
        fail("the sink of a Read with Invalidate could not be invalidated");
}

void Connection::receive_limit() {
    if (pair_ != nullptr && pair_->shared_receives) pair_->shared_receives->impl().raise_limit();
}

std::optional<std::uint64_t> Connection::take_unfinished_receive() {
    if (!flow_ || std::exchange(unfinished_told_, true)) return std::nullopt;
    return flow_->inbound.unfinished_receive();
}

void Connection::inbound_fault(const Fault& fault) {
    if (phase_ != Phase::operating) return;
    if (fault == fault::crc) ++pair_->counters.crc_errors;
    const std::string text = rdmap::terminate_text(static_cast<std::uint8_t>(fault.layer), fault.type, fault.code);
    if (closing_ != Closing::no) {
        // Whoever disconnects posts no more receives, and is told nothing of what would have needed one.
        drop_the_rest(fault == fault::no_buffer ? std::string() : fmt::format("{} was wrong: {}", name(), text));
        return;
    }
    // RFC 5044 section 7.1.2(4): a responder sends nothing before it has had one FPDU that was right.
    may_send_ = may_send_ || fault.layer != wire::TerminateLayer::llp;
    const auto body = flow_->inbound.terminate_body(fault);
    // What was asked for before the fault is answered, as far as that takes no waiting.
    if (may_send_ && all_sent()) flow_->outbound.fill_answers(*writer_, batch_);
    terminate(fault, body, text);
}

/// After our FIN no Terminate can be sent, and a reset would take back what was sent before it and has completed
/// (RFC 5041 section 6.2.1: all data is transferred first): what comes until the peer's FIN goes nowhere.
void Connection::drop_the_rest(const std::string& why) {
    phase_ = Phase::terminating;
    placing_ = false;
    receive_until_ns_.reset();
    leave_line();
    ending_ = why;
    attention();  // it may receive again
    pair_->flush();
}

/// The first error wins: the rest of the batch, then Terminate, then nothing. RFC 5040 sections 5.4 and 6.2.1.
void Connection::terminate(const Fault& fault, wire::Bytes body, const std::string& text, std::uint64_t ticket,
                           Status status) {
    if (phase_ != Phase::operating) return;
    if (!may_send_ || closing_ != Closing::no || !may_keep_unsent()) {  // not yet, or not any more
        end(Closing::reset, text, ticket, status);
        return;
    }
    rescue();
    rdmap::add_terminate(body, *writer_, batch_);
    count_sent();
    phase_ = Phase::terminating;
    placing_ = false;
    leave_line();
    ending_ = text;
    set_deadline(options_.close_timeout);
    ++device_.counters.terminates_sent;
    attention();
    pair_->terminated({true, static_cast<std::uint8_t>(fault.layer), fault.type, fault.code, text});
    pair_->flush(ticket, status);
}

void Connection::fail(const std::string& why) {
    if (starting()) {
        QueuePair::Impl* const pair = pair_;
        start_ended(Failure::other, why, Closing::reset);
        if (pair != nullptr) pair->fail(why);
        attention();
        return;
    }
    if (phase_ != Phase::operating) return;
    const auto body = wire::to_octets(wire::TerminateControl{});
    terminate(fault::local_catastrophic, body, why);
}

/// Of what is outstanding, the oldest that a Terminate from the peer can mean.
std::uint64_t Connection::affected_by(const Terminate& why) const {
    rdmap::SendQueue& sends = pair_->sends;
    const bool memory = why.type == 1;
    const auto means = [&](const rdmap::WorkRequest& work) {
        constexpr std::uint8_t cannot_invalidate = 9;
        if (memory && why.layer == 0)
            return why.code == cannot_invalidate ? work.operation == Operation::send : work.awaits_answer();
        if (memory && why.layer == 1)
            return work.operation == Operation::write || work.operation == Operation::write_immediate;
        return !work.is_local();
    };
    for (std::uint64_t ticket = sends.oldest_ticket(); ticket <= sends.next_ticket(); ++ticket) {
        if (ticket == sends.next_ticket() && sends.next() == nullptr) break;
        if (means(sends.at(ticket))) return ticket;
    }
    return no_ticket;
}

void Connection::terminated(const Terminate& why) {
    if (pair_ == nullptr || phase_ != Phase::operating) return;
    ++device_.counters.terminates_received;
    if (!may_keep_unsent()) batch_.clear();
    rescue();
    phase_ = Phase::terminating;
    leave_line();
    ending_ = fmt::format("{} terminated the stream: {}", name(), why.text);
    set_deadline(options_.close_timeout);
    attention();
    constexpr std::uint8_t protection = 1;
    constexpr std::uint8_t untagged = 2;
    Status status = Status::remote_operation;
    if (why.layer <= 1 && why.type == protection) status = Status::remote_access;
    if (why.layer == 1 && why.type == untagged) status = Status::remote_invalid;
    const std::uint64_t ticket = affected_by(why);
    pair_->terminated(why);
    pair_->flush(ticket, status);
}

Stream::Output Connection::one_piece(wire::Bytes octets) {
    piece_ = octets;
    return {{&piece_, octets.empty() ? 0U : 1U}, false};
}

Stream::Output Connection::output(std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (phase_ == Phase::exchanging || phase_ == Phase::replying || phase_ == Phase::refusing)
        return one_piece(handshake_->output());
    if (phase_ == Phase::operating && all_sent() && closing_ == Closing::no) fill();
    look_after_batch();
    if (!rescued_.empty()) return one_piece(wire::Bytes{rescued_}.subspan(rescued_sent_));
    if (batch_.empty()) return {};
    if (options_.align) return {batch_.next_fpdu(), true};
    return {batch_.pieces(), false};
}

void Connection::fill() {
    batch_.limit(device_.stages->account.left() / 8);  // the fuller the memory, the less there will be to keep
    rdmap::Outbound& outbound = flow_->outbound;
    if (may_send_)
        outbound.fill(*writer_, batch_);
    else
        outbound.perform_local();
    count_sent();
    if (batch_.empty()) drained();  // local operations alone
    check_outbound();
}

/// What was filled in since the last call.
void Connection::count_sent() {
    const rdmap::Outbound& outbound = flow_->outbound;
    QueuePairCounters& counters = pair_->counters;
    const std::uint64_t fpdus = writer_->fpdus() - fpdus_sent_;
    if (fpdus != 0) IWARP_PROBE(wire_send, pair_->number, fpdus, rescued_.size() - rescued_sent_ + batch_.octets());
    counters.fpdus_sent += fpdus;
    counters.payload_octets_sent += outbound.payload_octets() - payload_sent_;
    counters.reads_served += outbound.reads_served() - reads_served_;
    fpdus_sent_ = writer_->fpdus();
    payload_sent_ = outbound.payload_octets();
    reads_served_ = outbound.reads_served();
}

void Connection::check_outbound() {
    if (phase_ != Phase::operating) return;
    if (const auto& failure = flow_->outbound.answer_failure()) {
        const Fault& fault = failure->fault;
        terminate(fault, failure->body,
                  rdmap::terminate_text(static_cast<std::uint8_t>(fault.layer), fault.type, fault.code));
    } else if (const auto& failed = flow_->outbound.send_failure(); failed && batch_.empty()) {
        const auto body = wire::to_octets(wire::TerminateControl{});
        terminate(fault::local_catastrophic, body,
                  fmt::format("a send request of this side failed: {}", name_of(failed->status)), failed->ticket,
                  failed->status);
    }
}

void Connection::sent(std::size_t octets, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (phase_ == Phase::exchanging || phase_ == Phase::replying || phase_ == Phase::refusing) {
        handshake_->sent(octets);
        if (phase_ == Phase::replying && handshake_->output().empty()) begin_operating();
        return;
    }
    if (phase_ != Phase::operating && phase_ != Phase::terminating) return;
    const std::size_t of_rescued = std::min(octets, rescued_.size() - rescued_sent_);
    rescued_sent_ += of_rescued;
    if (rescued_sent_ == rescued_.size()) {
        std::vector<std::byte>().swap(rescued_);  // `= {}` would keep its memory
        rescued_part_.set(0);
        rescued_sent_ = 0;
    }
    if (octets > of_rescued) batch_.consume(octets - of_rescued);
    look_after_batch();
    // Before the rest can leave, a Write of the peer or the application may change what an answer refers to.
    const bool may_change =
        flow_ && flow_->outbound.take_may_change() && pair_ != nullptr && pair_->agreement && pair_->agreement->crc;
    if (!batch_.empty() && (may_change ? !may_keep_unsent() : device_.stages->account.exceeded()))
        return end(Closing::reset, fmt::format("no memory is left for what {} does not take", name()), oldest_begun(),
                   Status::connection_lost);
    if (may_change) batch_.detach();
    sent_ns_ = now_ns;
    if (!shrink_ns_) shrink_ns_ = now_ns + 1'000'000'000;
    progressed();
    if (all_sent()) drained();
}

/// The end waits for what is under way as long as it moves. After our FIN nothing of ours is.
void Connection::progressed() {
    if ((close_wanted_ || phase_ == Phase::terminating) && closing_ == Closing::no)
        set_deadline(options_.close_timeout);
}

/// Everything filled in so far is with the transport.
void Connection::drained() {
    if (phase_ != Phase::operating) return;
    pair_->sends.drained();
    if (!pair_->retire()) fail("the sink of a Read with Invalidate could not be invalidated");
}

/// Whether there is memory for what is left of the batch; sizes of copies are powers of two.
bool Connection::may_keep_unsent() const {
    return batch_.empty() || std::bit_ceil(batch_.octets()) <= device_.stages->account.left();
}

/// What is left of the batch into memory of our own.
void Connection::rescue() {
    if (batch_.empty()) return;
    std::vector<std::byte> octets;
    octets.reserve(rescued_.size() - rescued_sent_ + batch_.octets());
    octets.assign(rescued_.begin() + static_cast<std::ptrdiff_t>(rescued_sent_), rescued_.end());
    for (const wire::Bytes piece : batch_.pieces()) octets.insert(octets.end(), piece.begin(), piece.end());
    batch_.clear();
    rescued_ = std::move(octets);
    rescued_part_.set(rescued_.size());
    rescued_sent_ = 0;
}

/// By a request in the midst of fill(), when the device does not yet know of what that has filled in.
void Connection::withdrawn(std::span<const std::byte> memory) {
    withdraw(memory);
    device_.withdraw(memory);
}

void Connection::withdraw(std::span<const std::byte> memory) {
    const auto pieces = batch_.pieces();
    if (std::ranges::any_of(pieces, [&](wire::Bytes piece) { return overlap(piece, memory); })) rescue();
}

}  // namespace iwarp::verbs
