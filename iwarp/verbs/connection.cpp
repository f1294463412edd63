#include "iwarp/verbs/connection.h"

#include <algorithm>

#include "fmt/core.h"
#include "iwarp/verbs/connection_request.h"
#include "iwarp/verbs/listener.h"
#include "iwarp/verbs/queue_pair.h"
#include "iwarp/verbs/shared_receive_queue.h"

/// From TCP's connection to the first FPDU, and how it all ends. What passes in between is in connection_flow.cpp.
namespace iwarp::verbs {
namespace {

void check(bool well, const char* what) {
    if (!well) throw Error(fmt::format("ConnectionOptions: {}", what));
}

std::string seconds(std::chrono::milliseconds time) {
    return fmt::format("{:g} s", static_cast<double>(time.count()) / 1000);
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
          "private_data has at most 512 octets, 508 with revision 2");
    check(options.receive_patience.count() >= 0, "receive_patience is not negative");
    for (const auto time :
         {options.request_timeout, options.reply_timeout, options.connect_timeout, options.close_timeout})
        check(time.count() > 0, "time-outs are longer than 0");
}

Connection::Connection(Device::Impl& device, bool initiates, const ConnectionOptions& options)
    : device_(device), options_(options), now_ns_(device.transport->now_ns()), initiates_(initiates) {
    ++device_.connections;
    handshake_ = std::make_unique<mpa::Handshake>(initiates ? mpa::Handshake::initiator(options)
                                                            : mpa::Handshake::responder(options));
}

std::shared_ptr<Connection> Connection::initiator(Device::Impl& device, QueuePair::Impl& pair,
                                                  const ConnectionOptions& options) {
    auto connection = std::make_shared<Connection>(device, true, options);
    connection->pair_ = &pair;
    return connection;
}

std::shared_ptr<Connection> Connection::responder(Device::Impl& device, Listener::Impl& listener,
                                                  const ConnectionOptions& options, const std::string& peer) {
    auto connection = std::make_shared<Connection>(device, false, options);
    connection->listener_ = &listener;
    connection->peer_ = peer;
    listener.waiting.insert(connection.get());
    return connection;
}

Connection::~Connection() {
    batch_.clear();
    look_after_batch();
    leave_line();
    if (listener_ != nullptr) listener_->waiting.erase(this);
    if (counted_) --device_.connections;
}

void Connection::set_deadline(std::chrono::milliseconds after) {
    deadline_ns_ = now_ns_ + std::chrono::nanoseconds(after).count();
}

std::optional<std::int64_t> Connection::deadline_ns() const {
    std::optional<std::int64_t> first;
    for (const auto& one : {deadline_ns_, shrink_ns_, receive_until_ns_})
        if (one && (!first || *one < *first)) first = one;
    return first;
}

void Connection::connected(const std::string& peer, std::uint32_t emss, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (phase_ != Phase::connecting) return;
    peer_ = peer;
    emss_ = emss;
    phase_ = Phase::exchanging;
    if (pair_ != nullptr) {
        pair_->peer = peer;
        pair_->local = device_.transport->local(*this);
    }
    set_deadline(initiates_ ? options_.reply_timeout : options_.request_timeout);
    if (handshake_->state() == mpa::Handshake::State::failed) handshake_failed(handshake_->failure());
}

void Connection::connect_failed(Failure kind, const std::string& why, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (phase_ == Phase::connecting)
        start_ended(kind, fmt::format("cannot connect to {}: {}", target, why), Closing::reset);
}

/// What there is of a start frame; leaves octets that follow it, where they may.
void Connection::take_start(wire::Bytes& octets) {
    using State = mpa::Handshake::State;
    while (!octets.empty() &&
           (phase_ == Phase::exchanging || phase_ == Phase::requested || phase_ == Phase::replying)) {
        const std::size_t taken = handshake_->receive(octets);
        octets = octets.subspan(taken);
        switch (handshake_->state()) {
            case State::exchanging: break;
            case State::requested:
                if (phase_ == Phase::exchanging) ask_user();
                break;
            case State::agreed:
                if (phase_ == Phase::exchanging) begin_operating();
                break;
            case State::rejected: refused(); break;
            case State::failed: handshake_failed(handshake_->failure()); break;
        }
        if (taken == 0 && phase_ != Phase::operating) return;
    }
}

void Connection::ask_user() {
    phase_ = Phase::requested;
    deadline_ns_.reset();
    PendingEvent event;
    event.kind = Event::Kind::connect_request;
    event.request = std::static_pointer_cast<Connection>(shared_from_this());
    asked = true;
    device_.raise(std::move(event));
}

void Connection::accept(QueuePair::Impl& pair, const ConnectionOptions& options) {
    const Entry entry(*this);
    if (phase_ != Phase::requested) {
        pair.connect_failed(Failure::reset,
                            fmt::format("{} is gone: it closed, or the request was answered already", name()));
        return;
    }
    options_.private_data = options.private_data;
    options_.ird = options.ird;
    options_.ord = options.ord;
    options_.request_timeout = options.request_timeout;
    options_.close_timeout = options.close_timeout;
    options_.receive_patience = options.receive_patience;
    handshake_->accept(options_);
    if (handshake_->state() == mpa::Handshake::State::requested || handshake_->state() == mpa::Handshake::State::failed)
        throw Error(fmt::format("cannot accept {}: {}", name(), handshake_->failure()));
    if (listener_ != nullptr) listener_->waiting.erase(this);
    listener_ = nullptr;
    pair_ = &pair;
    pair.connection = std::static_pointer_cast<Connection>(shared_from_this());
    pair.peer = peer_;
    pair.local = device_.transport->local(*this);
    pair.agreement.reset();
    pair.terminate.reset();
    phase_ = Phase::replying;
    set_deadline(options_.request_timeout);
    attention();
}

void Connection::reject(std::span<const std::byte> private_data) {
    const Entry entry(*this);
    if (phase_ != Phase::requested) return;
    handshake_->reject(private_data);
    if (handshake_->state() != mpa::Handshake::State::rejected)
        throw Error(fmt::format("cannot reject {}: {}", name(), handshake_->failure()));
    phase_ = Phase::refusing;  // RFC 5044 section 7.1.2(2): TCP stays open, if not for ever
    set_deadline(options_.close_timeout);
    attention();
}

void Connection::forget_listener() {
    listener_ = nullptr;
    const Entry entry(*this);
    if (phase_ == Phase::requested) {
        reject({});
    } else if (phase_ == Phase::connecting || phase_ == Phase::exchanging) {
        close(Closing::reset);
        attention();
    }
}

/// The initiator's Request was turned down. RFC 5044 section 7.1.2 would leave TCP to the user, who cannot use it here.
void Connection::refused() {
    start_ended(Failure::none, fmt::format("{} rejected the connection", name()), Closing::full, peers_answer());
}

PeersAnswer Connection::peers_answer() const {
    PeersAnswer answer;
    const wire::Bytes octets = handshake_->private_data();
    answer.private_data.assign(octets.begin(), octets.end());
    if (const auto& said = handshake_->peer_parameters()) {
        answer.ird = said->ird;
        answer.ord = said->ord;
    }
    return answer;
}

void Connection::handshake_failed(std::string why, Failure kind) {
    ++device_.counters.handshakes_failed;
    const auto fault = handshake_->failure_fault();
    const mpa::Terms terms = handshake_->terms();
    const std::string text = initiates_ ? fmt::format("no iWARP connection to {}: {}", name(), why) : std::move(why);
    if (!fault || !initiates_) {
        start_ended(kind, text, Closing::full);
        return;
    }
    // RFC 6581 section 9: FPDUs are possible, the first of them says why there are no more.
    start_ended(kind, text, Closing::no);
    ++device_.counters.terminates_sent;
    writer_ = std::make_unique<mpa::FpduWriter>(mpa::FpduWriter::Settings{terms.crc, terms.markers_sent});
    const auto body =
        wire::to_octets(wire::TerminateControl{static_cast<std::uint8_t>(fault->layer), fault->type, fault->code});
    rdmap::add_terminate(body, *writer_, batch_);
    phase_ = Phase::terminating;
    set_deadline(options_.close_timeout);
}

/// There will be no FPDUs. `Closing::no`: but the stream goes on. Failure::none: the peer rejected it.
void Connection::start_ended(Failure kind, std::string why, Closing how, PeersAnswer answer) {
    if (how == Closing::no)
        deadline_ns_.reset();
    else
        close(how);
    if (listener_ != nullptr) listener_->waiting.erase(this);
    listener_ = nullptr;
    if (QueuePair::Impl* const pair = std::exchange(pair_, nullptr))
        pair->connect_failed(kind, std::move(why), std::move(answer));
}

void Connection::peer_closed(std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    peer_closed_ = true;
    switch (phase_) {
        case Phase::connecting:
        case Phase::over:
        case Phase::terminating: return;
        case Phase::exchanging:
            handshake_failed(initiates_ ? "it closed the connection without a Reply" : "closed without a whole Request",
                             Failure::reset);
            return;
        case Phase::requested:
        case Phase::replying:
            ++device_.counters.handshakes_failed;
            start_ended(Failure::reset, fmt::format("{} closed before it had the Reply", name()), Closing::full);
            return;
        case Phase::refusing: close(Closing::full); return;
        case Phase::operating: break;
    }
    const bool whole_fpdus = flow_->reader.at_boundary();
    if (!whole_fpdus || !flow_->inbound.at_boundary())
        // Where our FIN is under way, so is what was sent before it.
        end(closing_ == Closing::no ? Closing::reset : Closing::full,
            fmt::format("{} closed in the middle of {}", name(), whole_fpdus ? "a message" : "an FPDU"), oldest_begun(),
            Status::connection_lost);
    else if (!close_wanted_)
        begin_close();
}

void Connection::lost(const std::string& why, std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (phase_ == Phase::over) return;
    if (phase_ == Phase::operating) {
        end(Closing::reset, why, oldest_begun(), Status::connection_lost);
    } else if (phase_ == Phase::terminating) {
        end(Closing::reset, ending_.empty() ? why : ending_);
    } else {
        if (phase_ != Phase::connecting && phase_ != Phase::refusing) ++device_.counters.handshakes_failed;
        start_ended(Failure::reset, fmt::format("no iWARP connection to {}: {}", name(), why), Closing::reset);
    }
}

void Connection::tick(std::int64_t now_ns) {
    const Entry entry(*this, now_ns);
    if (shrink_ns_ && now_ns >= *shrink_ns_) {
        constexpr std::int64_t idle_ns = 1'000'000'000;
        const bool idle = now_ns - sent_ns_ >= idle_ns && batch_.empty();
        if (idle) batch_.shrink();
        shrink_ns_ = idle ? std::nullopt : std::optional{now_ns + idle_ns};
    }
    if (receive_until_ns_ && now_ns >= *receive_until_ns_) {
        receive_until_ns_.reset();
        if (waits_for_receive()) {
            flow_->inbound.wait_no_longer();
            go_on_receiving();
        }
    }
    if (!deadline_ns_ || now_ns < *deadline_ns_) return;
    switch (phase_) {
        case Phase::exchanging:
            handshake_failed(initiates_
                                 ? fmt::format("no MPA Reply within {}; is an iWARP program listening there?",
                                               seconds(options_.reply_timeout))
                                 : fmt::format("no whole MPA Request within {}", seconds(options_.request_timeout)),
                             Failure::timed_out);
            return;
        case Phase::replying:
            ++device_.counters.handshakes_failed;
            start_ended(Failure::timed_out, fmt::format("{} does not take the MPA Reply", name()), Closing::reset);
            return;
        case Phase::operating:
        case Phase::terminating:
            end(Closing::reset, ending_.empty()
                                    ? fmt::format("{} did not close within {}", name(), seconds(options_.close_timeout))
                                    : ending_);
            return;
        case Phase::refusing: close(Closing::full); return;
        case Phase::connecting:
        case Phase::requested:
        case Phase::over: deadline_ns_.reset(); return;
    }
}

void Connection::disconnect() {
    if (starting()) return abort("given up by this side");
    const Entry entry(*this);
    if (phase_ != Phase::operating || close_wanted_) return;
    begin_close();
    attention();
}

/// What is posted is still sent, then comes the FIN. RFC 5041 section 6.2.1.
void Connection::begin_close() {
    close_wanted_ = true;
    pair_->change_state(QueuePairState::closing);
    set_deadline(options_.close_timeout);
}

void Connection::abort(const std::string& why) {
    const Entry entry(*this);
    if (starting())
        start_ended(Failure::given_up, fmt::format("no connection to {}: {}", name(), why), Closing::reset);
    else
        end(Closing::reset, why);
    attention();
}

void Connection::abandon() {
    // After disconnect() everything may be with the transport already: a reset would take it back from the peer.
    const bool orderly = closing_ == Closing::half ||
                         (phase_ == Phase::operating && close_wanted_ && all_sent() && pair_->sends.empty());
    pair_ = nullptr;
    close(orderly ? Closing::full : Closing::reset);
    attention();
}

/// Follows from whatever happened: FIN once everything is sent, the end once both FINs are there.
void Connection::settle() {
    if (phase_ == Phase::operating && close_wanted_ && all_sent()) {
        if (peer_closed_ && (!may_send_ || flow_->outbound.waits_for_answers())) pair_->flush();
        if (!pair_->sends.empty() || (!flow_->owed.empty() && closing_ == Closing::no)) return;
        if (peer_closed_) {
            end(Closing::full, {});
        } else if (closing_ == Closing::no) {
            closing_ = Closing::half;  // RFC 5041 section 6.2.1: the other half stays open for the peer's data
            set_deadline(options_.close_timeout);
            flow_->inbound.wait_no_longer();
            if (waits_for_receive()) drop_the_rest({});
        }
    } else if (phase_ == Phase::terminating && all_sent()) {
        if (peer_closed_)
            end(Closing::full, ending_);
        else if (closing_ == Closing::no)
            closing_ = Closing::half;
    }
}

/// Nothing more happens here. The transport does the rest.
void Connection::close(Closing how) {
    phase_ = Phase::over;
    closing_ = how;
    deadline_ns_.reset();
    shrink_ns_.reset();
    receive_until_ns_.reset();
    placing_ = false;
    batch_.clear();
    look_after_batch();
    leave_line();
    std::vector<std::byte>().swap(rescued_);
    rescued_part_.set(0);
    // Nobody has heard of it: strangers that come and go leave nothing behind.
    if (std::exchange(asked, false))
        device_.forget([&](const PendingEvent& event) { return event.request.get() == this; });
    if (std::exchange(counted_, false)) --device_.connections;
}

std::uint64_t Connection::oldest_begun() const {
    const rdmap::SendQueue& sends = pair_->sends;
    return sends.oldest_ticket() < sends.next_ticket() ? sends.oldest_ticket() : no_ticket;
}

void Connection::end(Closing how, const std::string& text, std::uint64_t ticket, Status status) {
    if (phase_ == Phase::over) return;
    close(how);
    QueuePair::Impl* const pair = std::exchange(pair_, nullptr);
    if (pair == nullptr) return;
    pair->flush(ticket, status);
    pair->disconnected(text);
}

/// Those whose octets wait are known to the device, to be found when memory is withdrawn.
void Connection::look_after_batch() {
    std::vector<Connection*>& sending = device_.sending;
    if (!batch_.empty() && sending_place_ == nowhere) {
        sending_place_ = sending.size();
        sending.push_back(this);
    } else if (batch_.empty() && sending_place_ != nowhere) {
        sending[sending_place_] = sending.back();
        sending[sending_place_]->sending_place_ = sending_place_;
        sending.pop_back();
        sending_place_ = nowhere;
    }
}

void Connection::stand_in_line() {
    if (line_ != nullptr || !pair_->shared_receives) return;
    line_ = &pair_->shared_receives->impl();
    if (standing_.empty()) standing_.push_back(this);
    line_->waiting.splice(line_->waiting.end(), standing_);
    stands_at_ = std::prev(line_->waiting.end());
}

void Connection::leave_line() {
    if (line_ == nullptr) return;
    standing_.splice(standing_.end(), std::exchange(line_, nullptr)->waiting, stands_at_);
}

}  // namespace iwarp::verbs
