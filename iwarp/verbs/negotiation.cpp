#include "iwarp/verbs/negotiation.h"

#include <utility>

#include "fmt/core.h"
#include "iwarp/verbs/format_seconds.h"
#include "iwarp/verbs/listener.h"

namespace iwarp::verbs {

using Closing = Stream::Closing;

Negotiation::Negotiation(ConnectionContext& context, NegotiationEvents& events)
    : context_(context),
      events_(events),
      handshake_(context.initiates ? mpa::Handshake::initiator(context.options)
                                   : mpa::Handshake::responder(context.options)) {}

void Negotiation::connected() {
    phase_ = Phase::exchanging;
    context_.set_deadline(context_.initiates ? context_.options.reply_timeout : context_.options.request_timeout);
    if (handshake_.state() == mpa::Handshake::State::failed) handshake_failed(handshake_.failure());
}

void Negotiation::receive(base::Bytes& bytes) {
    using State = mpa::Handshake::State;
    while (!bytes.empty() && expects_bytes()) {
        const std::size_t consumed = handshake_.receive(bytes);
        bytes = bytes.subspan(consumed);
        switch (handshake_.state()) {
            case State::exchanging: break;
            case State::requested:
                if (is(Phase::exchanging)) request_complete();
                break;
            case State::agreed:
                if (is(Phase::exchanging)) return agreed();
                break;
            case State::rejected:
                // RFC 5044, 7.1.2 would leave TCP to the user; here the user cannot use it.
                events_.negotiation_failed({Failure::none, fmt::format("{} rejected the connection", context_.name()),
                                            Closing::full, peers_answer()});
                break;
            case State::failed: handshake_failed(handshake_.failure()); break;
        }
        if (consumed == 0) return;
    }
}

std::span<const base::Bytes> Negotiation::output() {
    if (!is(Phase::exchanging) && !is(Phase::replying) && !is(Phase::refusing)) return {};
    output_ = handshake_.output();
    return {&output_, output_.empty() ? 0U : 1U};
}

void Negotiation::sent(std::size_t bytes) {
    if (!is(Phase::exchanging) && !is(Phase::replying) && !is(Phase::refusing)) return;
    handshake_.sent(bytes);
    if (phase_ == Phase::replying && handshake_.output().empty()) agreed();
}

void Negotiation::request_complete() {
    phase_ = Phase::requested;
    context_.deadline_ns.reset();
    events_.requested();
}

void Negotiation::agreed() {
    const mpa::Terms terms = handshake_.terms();
    events_.agreed(terms, context_.initiates ? peers_answer() : PeersAnswer{});
}

void Negotiation::accept(const ConnectionOptions& options) {
    ConnectionOptions& own = context_.options;
    own.private_data = options.private_data;
    own.ird = options.ird;
    own.ord = options.ord;
    own.request_timeout = options.request_timeout;
    own.close_timeout = options.close_timeout;
    own.receive_patience = options.receive_patience;
    handshake_.accept(own);
    if (handshake_.state() == mpa::Handshake::State::requested || handshake_.state() == mpa::Handshake::State::failed)
        throw Error(fmt::format("cannot accept {}: {}", context_.name(), handshake_.failure()));
    leave_listener();
    phase_ = Phase::replying;
    context_.set_deadline(own.request_timeout);
}

void Negotiation::reject(std::span<const std::byte> private_data) {
    handshake_.reject(private_data);
    if (handshake_.state() != mpa::Handshake::State::rejected)
        throw Error(fmt::format("cannot reject {}: {}", context_.name(), handshake_.failure()));
    phase_ = Phase::refusing;  // RFC 5044 section 7.1.2(2): TCP stays open, if not for ever
    context_.set_deadline(context_.options.close_timeout);
}

PeersAnswer Negotiation::peers_answer() const {
    PeersAnswer answer;
    const base::Bytes bytes = handshake_.private_data();
    answer.private_data.assign(bytes.begin(), bytes.end());
    if (const auto& parameters = handshake_.peer_parameters()) {
        answer.ird = parameters->ird;
        answer.ord = parameters->ord;
    }
    return answer;
}

void Negotiation::fail(Failure kind, std::string why, Closing how) {
    events_.negotiation_failed({kind, std::move(why), how});
}

void Negotiation::handshake_failed(const std::string& why, Failure kind) {
    ++context_.device.counters.handshakes_failed;
    if (!context_.initiates) return fail(kind, why, Closing::full);
    events_.negotiation_failed({kind,
                                fmt::format("no iWARP connection to {}: {}", context_.name(), why),
                                Closing::full,
                                {},
                                handshake_.failure_fault(),
                                handshake_.terms()});
}

void Negotiation::peer_closed() {
    switch (phase_) {
        case Phase::connecting: return;
        case Phase::exchanging:
            return handshake_failed(
                context_.initiates ? "it closed the connection without a Reply" : "closed without a whole Request",
                Failure::reset);
        case Phase::requested:
        case Phase::replying:
            ++context_.device.counters.handshakes_failed;
            return fail(Failure::reset, fmt::format("{} closed before it had the Reply", context_.name()),
                        Closing::full);
        case Phase::refusing: return fail(Failure::none, {}, Closing::full);
    }
}

void Negotiation::lost(const std::string& why) {
    if (phase_ != Phase::connecting && phase_ != Phase::refusing) ++context_.device.counters.handshakes_failed;
    fail(Failure::reset, fmt::format("no iWARP connection to {}: {}", context_.name(), why), Closing::reset);
}

void Negotiation::timed_out() {
    const ConnectionOptions& options = context_.options;
    switch (phase_) {
        case Phase::exchanging:
            return handshake_failed(
                context_.initiates
                    ? fmt::format("no MPA Reply within {}; is an iWARP program listening there?",
                                  format_seconds(options.reply_timeout))
                    : fmt::format("no whole MPA Request within {}", format_seconds(options.request_timeout)),
                Failure::timed_out);
        case Phase::replying:
            ++context_.device.counters.handshakes_failed;
            return fail(Failure::timed_out, fmt::format("{} does not take the MPA Reply", context_.name()),
                        Closing::reset);
        case Phase::refusing: return fail(Failure::none, {}, Closing::full);
        case Phase::connecting:
        case Phase::requested: context_.deadline_ns.reset(); return;
    }
}

void Negotiation::set_listener(Listener::Impl& listener, Connection& connection) {
    listener_ = &listener;
    waiting_ = listener.waiting.insert(listener.waiting.end(), &connection);
}

void Negotiation::leave_listener() {
    if (Listener::Impl* const listener = std::exchange(listener_, nullptr)) listener->waiting.erase(waiting_);
}

void Negotiation::give_way() {
    ++context_.device.counters.handshakes_failed;
    leave_listener();
    fail(Failure::timed_out, "was silent when another connection needed its place", Closing::reset);
}

void Negotiation::forget_listener() {
    listener_ = nullptr;
    if (is(Phase::requested)) return reject({});
    if (is(Phase::connecting) || is(Phase::exchanging)) fail(Failure::none, {}, Closing::reset);
}

}  // namespace iwarp::verbs
