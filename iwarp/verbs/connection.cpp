#include "iwarp/verbs/connection.h"

#include <utility>

#include "fmt/core.h"
#include "iwarp/rdmap/end_reason.h"
#include "iwarp/verbs/connection_request.h"
#include "iwarp/verbs/format_seconds.h"
#include "iwarp/verbs/listener.h"
#include "iwarp/verbs/queue_pair.h"

namespace iwarp::verbs {
namespace {

void check(bool well, const char* what) {
    if (!well) throw Error(fmt::format("ConnectionOptions: {}", what));
}

}  // namespace

void check_options(const ConnectionOptions& options, bool initiates) {
    check(options.revision == 1 || options.revision == 2, "revision is 1 or 2");
    check(options.revision == 2 || !options.peer_to_peer, "peer_to_peer needs revision 2");
    check(options.ird <= wire::mpa_depth_unspecified && options.ord <= wire::mpa_depth_unspecified,
          "ird and ord are at most 16383");
    check(options.max_ulpdu == 0 || (options.max_ulpdu >= 128 && options.max_ulpdu <= wire::mpa_ulpdu_max),
          "max_ulpdu is 0 or 128 to 64768");
    check(!initiates || options.private_data.size() <= mpa::Handshake::private_data_limit(options.revision == 2),
          "private_data has at most 512 bytes, 508 with revision 2");
    check(options.receive_patience.count() >= 0, "receive_patience is not negative");
    for (const auto time :
         {options.request_timeout, options.reply_timeout, options.connect_timeout, options.close_timeout})
        check(time.count() > 0, "time-outs are longer than 0");
}

// ---- setting up ----

Connection::Connection(Device::Impl& device, bool initiates, const ConnectionOptions& options)
    : context_(device, *this, initiates, options),
      buffer_(device),
      negotiation_(std::make_unique<Negotiation>(context_, static_cast<NegotiationEvents&>(*this))) {
    ++device.connections;
}

std::shared_ptr<Connection> Connection::initiator(Device::Impl& device, QueuePair::Impl& pair,
                                                  const ConnectionOptions& options) {
    auto connection = std::make_shared<Connection>(device, true, options);
    connection->context_.pair = &pair;
    return connection;
}

std::shared_ptr<Connection> Connection::responder(Device::Impl& device, Listener::Impl& listener,
                                                  const ConnectionOptions& options, const std::string& peer) {
    auto connection = std::make_shared<Connection>(device, false, options);
    connection->context_.peer = peer;
    connection->negotiation_->set_listener(listener, *connection);
    return connection;
}

Connection::~Connection() {
    leave_receive_queue();
    if (negotiation_) negotiation_->leave_listener();
    if (counted_) --context_.device.connections;
}

std::uint64_t Connection::oldest_begun() const {
    return context_.pair == nullptr ? no_ticket : verbs::oldest_begun(context_.pair->sends);
}

std::optional<std::int64_t> Connection::deadline_ns() const {
    std::optional<std::int64_t> first;
    const auto receive_ns = traffic_ ? traffic_->receive.wait().deadline_ns() : std::nullopt;
    for (const auto& one : {context_.deadline_ns, buffer_.shrink_ns(), receive_ns})
        if (one && (!first || *one < *first)) first = one;
    return first;
}

void Connection::connected(const std::string& peer, std::uint32_t emss, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (!negotiation_ || !negotiation_->is_connecting()) return;
    context_.peer = peer;
    emss_ = emss;
    if (context_.pair != nullptr) {
        context_.pair->peer = peer;
        context_.pair->local = context_.device.transport->local(*this);
    }
    negotiation_->connected();
}

void Connection::connect_failed(Failure kind, const std::string& why, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (negotiation_ && negotiation_->is_connecting())
        negotiation_failed({kind, fmt::format("cannot connect to {}: {}", context_.target, why)});
}

void Connection::give_way() {
    const Entry entry(*this);
    if (negotiation_) negotiation_->give_way();
    attention();
}

void Connection::requested() {
    PendingEvent event;
    event.kind = Event::Kind::connect_request;
    event.request = std::static_pointer_cast<Connection>(shared_from_this());
    request_pending_ = true;
    context_.device.raise(std::move(event));
}

void Connection::accept(QueuePair::Impl& pair, const ConnectionOptions& options) {
    const Entry entry(*this);
    if (!waits_for_answer()) {
        pair.connect_failed(Failure::reset,
                            fmt::format("{} is gone: it closed, or the request was answered already", context_.name()));
        return;
    }
    negotiation_->accept(options);
    context_.pair = &pair;
    pair.connection = std::static_pointer_cast<Connection>(shared_from_this());
    pair.peer = context_.peer;
    pair.local = context_.device.transport->local(*this);
    pair.agreement.reset();
    pair.terminate.reset();
    attention();
}

void Connection::reject(std::span<const std::byte> private_data) {
    const Entry entry(*this);
    if (!waits_for_answer()) return;
    negotiation_->reject(private_data);
    attention();
}

void Connection::forget_listener() {
    const Entry entry(*this);
    negotiation_->forget_listener();
    attention();
}

Agreement Connection::agreement_on(const mpa::Terms& terms, std::uint32_t max_ulpdu) const {
    Agreement agreement;
    agreement.revision = terms.revision;
    agreement.enhanced = terms.enhanced;
    agreement.crc = terms.crc;
    agreement.markers_sent = terms.markers_sent;
    agreement.markers_received = terms.markers_received;
    agreement.peer_to_peer = terms.ready != mpa::ReadyMessage::none;
    agreement.ird = terms.ird;
    agreement.ord = terms.ord;
    agreement.max_ulpdu = max_ulpdu;
    return agreement;
}

void Connection::agreed(const mpa::Terms& terms, PeersAnswer answer) {
    const std::uint32_t max_ulpdu = ulpdu_limit(context_.options, emss_, terms.markers_sent);
    traffic_ = std::make_unique<Traffic>(*this, terms, max_ulpdu);
    ++context_.device.counters.connections_opened;
    context_.phase = Phase::operating;
    context_.deadline_ns.reset();
    context_.pair->established(agreement_on(terms, max_ulpdu), std::move(answer));
    std::vector<std::byte>().swap(context_.options.private_data);
    negotiation_.reset();
}

void Connection::negotiation_failed(NegotiationFailure failure) {
    if (failure.fault)
        context_.deadline_ns.reset();
    else
        close(failure.how);
    negotiation_->leave_listener();
    if (QueuePair::Impl* const pair = std::exchange(context_.pair, nullptr))
        pair->connect_failed(failure.kind, std::move(failure.why), std::move(failure.answer));
    if (failure.fault) send_terminate_of_negotiation(*failure.fault, failure.terms);
}

/// RFC 6581 section 9: FPDUs are possible, the first of them says why there are no more.
void Connection::send_terminate_of_negotiation(const Fault& fault, const mpa::Terms& terms) {
    ++context_.device.counters.terminates_sent;
    mpa::FpduWriter writer(mpa::FpduWriter::Settings{terms.crc, terms.markers_sent});
    const auto body =
        wire::to_octets(wire::TerminateControl{static_cast<std::uint8_t>(fault.layer), fault.type, fault.code});
    rdmap::add_terminate(body, writer, buffer_.batch());
    context_.phase = Phase::terminating;
    context_.set_deadline(context_.options.close_timeout);
}

// ---- receiving ----

void Connection::segment_size_changed(std::uint32_t emss, std::int64_t) {
    emss_ = emss;
    if (!context_.is_operating()) return;
    Agreement& agreement = *context_.pair->agreement;
    agreement.max_ulpdu = ulpdu_limit(context_.options, emss, agreement.markers_sent);
    traffic_->send.limit_ulpdu(agreement.max_ulpdu);
}

void Connection::receive(base::Bytes bytes, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (is_starting()) negotiation_->receive(bytes);
    if (context_.is_operating() && !bytes.empty()) after_receive(traffic_->receive.receive(bytes));
}

std::span<const base::MutableBytes> Connection::room(std::size_t minimum) {
    if (!traffic_) return {};
    return traffic_->receive.room(minimum);
}

void Connection::received(std::size_t bytes, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (context_.is_operating()) after_receive(traffic_->receive.received(bytes));
}

/// What arrived is where it belongs, or waits.
void Connection::after_receive(const std::optional<Fault>& fault) {
    if (fault) return inbound_fault(*fault);
    if (context_.is_operating() && !context_.pair->sends.empty()) progressed();  // of a Read that is waited for
    traffic_->receive.update_wait();
}

void Connection::resume_receiving() {
    after_receive(traffic_->receive.resume());
    attention();  // it may receive again
}

void Connection::receive_posted() {
    if (!waits_for_receive()) return;
    const Entry entry(*this);
    resume_receiving();
}

void Connection::leave_receive_queue() {
    if (traffic_) traffic_->receive.wait().leave_queue();
}

void Connection::first_fpdu() {
    traffic_->send.permit();
    QueuePair::Impl* const pair = context_.pair;
    if (!context_.initiates && pair != nullptr && pair->is_pending(Event::Kind::established))
        pair->raise(Event::Kind::communication_established);
}

std::optional<std::uint64_t> Connection::take_unfinished_receive() {
    return traffic_ ? traffic_->receive.take_unfinished_receive() : std::nullopt;
}

// ---- sending ----

Stream::Output Connection::output(std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (is_starting()) return {negotiation_->output(), false};
    if (context_.is_operating() && buffer_.empty() && termination_.is_open()) fill();
    return buffer_.output(context_.options.align);
}

void Connection::fill() {
    traffic_->send.fill();
    if (buffer_.batch().empty()) drained();  // local operations alone
    if (!context_.is_operating()) return;
    if (const auto failure = traffic_->send.failure()) terminate(*failure);
}

void Connection::sent(std::size_t bytes, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (is_starting()) return negotiation_->sent(bytes);
    if (context_.phase == Phase::over) return;
    buffer_.sent(bytes, now_ns);
    // Before the rest can leave, a Write of the peer or the application may change what an answer refers to.
    const bool may_change = traffic_ && traffic_->send.take_may_change();
    const bool lacks_memory = may_change ? !buffer_.has_room_for_copy() : buffer_.is_memory_exceeded();
    if (!buffer_.batch().empty() && lacks_memory)
        return end(Closing::reset, fmt::format("no memory is left for what {} does not take", context_.name()),
                   oldest_begun(), Status::connection_lost);
    if (may_change) buffer_.detach_payload();
    progressed();
    if (buffer_.empty()) drained();
}

/// The end waits for what is under way as long as it moves. After our FIN nothing of ours is.
void Connection::progressed() {
    const bool ending = termination_.is_requested() || context_.phase == Phase::terminating;
    if (ending && termination_.is_open()) context_.set_deadline(context_.options.close_timeout);
}

/// Everything filled in so far is with the transport.
void Connection::drained() {
    if (!context_.is_operating()) return;
    context_.pair->sends.drained();
    if (!context_.pair->retire()) fail("the sink of a Read with Invalidate could not be invalidated");
}

// ---- the end ----

void Connection::inbound_fault(const Fault& fault) {
    if (!context_.is_operating()) return;
    if (fault == fault::crc) ++context_.pair->counters.crc_errors;
    const std::string text = rdmap::terminate_text(static_cast<std::uint8_t>(fault.layer), fault.type, fault.code);
    if (!termination_.is_open()) {
        // After disconnect() no more receives are posted, and what would have needed one is not reported.
        drop_the_rest(fault == fault::no_buffer ? std::string()
                                                : fmt::format("{} was wrong: {}", context_.name(), text));
        return;
    }
    // RFC 5044 section 7.1.2(4): a responder sends nothing before it has had one FPDU that was right.
    if (fault.layer != wire::TerminateLayer::llp) traffic_->send.permit();
    const auto body = traffic_->receive.terminate_body(fault);
    // What was asked for before the fault is answered, as far as that takes no waiting.
    if (traffic_->send.is_permitted() && buffer_.empty()) traffic_->send.fill_answers();
    terminate({fault, body, text});
}

/// The first error wins: the rest of the batch, then Terminate, then nothing. RFC 5040 sections 5.4 and 6.2.1.
void Connection::terminate(const SendSide::SendFailure& failure) {
    if (!context_.is_operating()) return;
    // Not yet, or not any more.
    if (!traffic_->send.is_permitted() || !termination_.is_open() || !buffer_.has_room_for_copy()) {
        end(Closing::reset, failure.text, failure.ticket, failure.status);
        return;
    }
    buffer_.copy_batch();
    traffic_->send.add_terminate(failure.body);
    traffic_->receive.stop();
    begin_terminating(failure.text);
    ++context_.device.counters.terminates_sent;
    attention();
    QueuePair::Impl& pair = *context_.pair;
    const Fault& fault = failure.fault;
    Terminate reported{true, static_cast<std::uint8_t>(fault.layer), fault.type, fault.code, failure.text};
    rdmap::explain_terminate(reported, failure.body);
    pair.terminated(std::move(reported));
    pair.flush(failure.ticket, failure.status);
}

void Connection::terminated(const Terminate& why) {
    ++context_.device.counters.terminates_received;
    if (!buffer_.has_room_for_copy()) buffer_.batch().clear();
    buffer_.copy_batch();
    begin_terminating(fmt::format("{} terminated the stream: {}", context_.name(), why.text));
    attention();
    QueuePair::Impl& pair = *context_.pair;
    const AffectedRequest affected = affected_by(why, pair.sends);
    Terminate reported = why;
    if (affected.ticket != QueuePair::Impl::no_ticket)
        rdmap::explain_terminate(reported, pair.sends.at(affected.ticket));
    pair.terminated(std::move(reported));
    pair.flush(affected.ticket, affected.status);
}

void Connection::begin_terminating(const std::string& reason) {
    context_.phase = Phase::terminating;
    leave_receive_queue();
    termination_.set_reason(reason);
    context_.set_deadline(context_.options.close_timeout);
}

/// After our FIN no Terminate can be sent, and a reset would take back what was sent before it and has completed
/// (RFC 5041 section 6.2.1: all data is transferred first): what comes until the peer's FIN goes nowhere.
void Connection::drop_the_rest(const std::string& reason) {
    context_.phase = Phase::terminating;
    traffic_->receive.stop();
    traffic_->receive.wait().end();
    termination_.set_reason(reason);
    attention();  // it may receive again
    context_.pair->flush();
}

void Connection::fail(const std::string& why) {
    if (is_starting()) {
        QueuePair::Impl* const pair = context_.pair;
        negotiation_failed({Failure::other, why});
        if (pair != nullptr) pair->fail(why);
        attention();
        return;
    }
    const auto body = wire::to_octets(wire::TerminateControl{});
    terminate({fault::local_catastrophic, {body.begin(), body.end()}, why});
}

void Connection::peer_closed(std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    termination_.peer_closed();
    if (is_starting()) return negotiation_->peer_closed();
    if (!context_.is_operating()) return;
    const ReceiveSide& receive = traffic_->receive;
    const bool whole_fpdus = receive.is_at_fpdu_boundary();
    if (!whole_fpdus || !receive.is_at_message_boundary())
        // If our FIN is under way, so is what was sent before it.
        end(termination_.is_open() ? Closing::reset : Closing::full,
            fmt::format("{} closed in the middle of {}", context_.name(), whole_fpdus ? "a message" : "an FPDU"),
            oldest_begun(), Status::connection_lost);
    else if (!termination_.is_requested())
        begin_close();
}

void Connection::lost(const std::string& why, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    switch (context_.phase) {
        case Phase::starting: return negotiation_->lost(why);
        case Phase::operating: return end(Closing::reset, why, oldest_begun(), Status::connection_lost);
        case Phase::terminating:
            return end(Closing::reset, termination_.reason().empty() ? why : termination_.reason());
        case Phase::over: return;
    }
}

void Connection::tick(std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    buffer_.shrink_if_idle(now_ns);
    if (traffic_) {
        const auto until_ns = traffic_->receive.wait().deadline_ns();
        if (until_ns && now_ns >= *until_ns) {
            traffic_->receive.wait().forget_deadline();
            if (waits_for_receive()) {
                traffic_->receive.refuse_waiting();
                resume_receiving();
            }
        }
    }
    if (!context_.deadline_ns || now_ns < *context_.deadline_ns) return;
    switch (context_.phase) {
        case Phase::starting: return negotiation_->timed_out();
        case Phase::operating:
        case Phase::terminating:
            return end(Closing::reset, termination_.reason().empty()
                                           ? fmt::format("{} did not close within {}", context_.name(),
                                                         format_seconds(context_.options.close_timeout))
                                           : termination_.reason());
        case Phase::over: context_.deadline_ns.reset(); return;
    }
}

void Connection::disconnect() {
    if (is_starting()) return abort("given up by this side");
    const Entry entry(*this);
    if (!context_.is_operating() || termination_.is_requested()) return;
    begin_close();
    attention();
}

/// What is posted is still sent, then comes the FIN. RFC 5041 section 6.2.1.
void Connection::begin_close() {
    termination_.request();
    context_.pair->change_state(QueuePairState::closing);
    context_.set_deadline(context_.options.close_timeout);
}

void Connection::abort(const std::string& why) {
    const Entry entry(*this);
    if (is_starting())
        negotiation_failed({Failure::given_up, fmt::format("no connection to {}: {}", context_.name(), why)});
    else
        end(Closing::reset, why);
    attention();
}

void Connection::abandon() {
    // After disconnect() everything may be with the transport already: a reset would take it back from the peer.
    const bool all_sent =
        context_.is_operating() && termination_.is_requested() && buffer_.empty() && context_.pair->sends.empty();
    const bool orderly = termination_.closing() == Closing::half || all_sent;
    context_.pair = nullptr;
    close(orderly ? Closing::full : Closing::reset);
    attention();
}

/// Follows from whatever happened: FIN once everything is sent, the end once both FINs are there.
void Connection::settle() {
    if (!buffer_.empty()) return;
    if (context_.is_operating() && termination_.is_requested()) {
        QueuePair::Impl& pair = *context_.pair;
        SendSide& send = traffic_->send;
        if (termination_.has_peer_closed() && (!send.is_permitted() || send.waits_for_answers())) pair.flush();
        if (!pair.sends.empty() || (!traffic_->owed.empty() && termination_.is_open())) return;
        if (termination_.has_peer_closed()) {
            end(Closing::full, {});
        } else if (termination_.is_open()) {
            termination_.close(Closing::half);  // RFC 5041 section 6.2.1: the other half stays open for the peer's data
            context_.set_deadline(context_.options.close_timeout);
            traffic_->receive.refuse_waiting();
            if (waits_for_receive()) drop_the_rest({});
        }
    } else if (context_.phase == Phase::terminating) {
        if (termination_.has_peer_closed())
            end(Closing::full, termination_.reason());
        else if (termination_.is_open())
            termination_.close(Closing::half);
    }
}

/// Nothing more happens here. The transport does the rest.
void Connection::close(Closing how) {
    context_.phase = Phase::over;
    termination_.close(how);
    context_.deadline_ns.reset();
    if (traffic_) {
        traffic_->receive.stop();
        traffic_->receive.wait().end();
    }
    buffer_.clear();
    // The application has not seen it: it is removed, so that peers that come and go do not fill memory.
    if (std::exchange(request_pending_, false))
        context_.device.forget([&](const PendingEvent& event) { return event.request.get() == this; });
    if (std::exchange(counted_, false)) --context_.device.connections;
}

void Connection::end(Closing how, const std::string& text, std::uint64_t ticket, Status status) {
    if (context_.phase == Phase::over) return;
    close(how);
    QueuePair::Impl* const pair = std::exchange(context_.pair, nullptr);
    if (pair == nullptr) return;
    pair->flush(ticket, status);
    pair->disconnected(text);
}

}  // namespace iwarp::verbs
