#include "replay/endpoints/replay_endpoint.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/core.h>
#include <utility>

#include "base/clock.h"
#include "base/quantities.h"

namespace replay::inline endpoints {

namespace {

constexpr std::int64_t stop_poll_ns = 50'000'000;  ///< how late a stop may be noticed
constexpr std::int64_t blocked_ns = 1'000'000;     ///< what is waited for comes as an event; in case it does not
constexpr std::int64_t closing_ns = 2'000'000'000;
constexpr std::int64_t gathering_ns = 200'000'000;  ///< operations and connections before the start
constexpr std::int64_t before_start_ns = 5'000'000;
constexpr std::size_t most_outstanding = OperationQueue::capacity;
constexpr std::size_t opening_at_once = 128;
constexpr std::size_t read_at_once = 2048;

std::uint64_t place_key(std::uint32_t connection, std::uint32_t copy) { return std::uint64_t{connection} << 32 | copy; }

std::string reason_of(const iwarp::Event& event) {
    if (const auto refusal = Refusal::decode(event.private_data)) return refusal->reason;
    if (event.terminate) return event.terminate->text;
    return event.text;
}

/// Why there is no connection with `where`, and, of the first one, what must run there.
std::string no_connection(const iwarp::Event& event, const std::string& host, std::uint16_t port, bool first) {
    std::string why = reason_of(event);
    if (why.find(host) == std::string::npos) why = fmt::format("{}:{}: {}", host, port, why);
    const bool other_program = event.kind == iwarp::Event::Kind::rejected && !Refusal::decode(event.private_data);
    if (first && (other_program || event.peer_in_doubt()))
        why += "; is `rdmascope replay --serve` of this capture running there?";
    return why;
}

}  // namespace

ReplayEndpoint::ReplayEndpoint(std::shared_ptr<iwarp::Device> device, const Survey& survey, OperationQueue& operations,
                               EndpointOptions options)
    : device_(std::move(device)),
      survey_(survey),
      operations_(operations),
      options_(std::move(options)),
      source_(survey.longest, true),
      target_(survey.longest, true),
      sink_(survey.longest, false),
      shared_{*device_,
              device_->allocate_protection_domain(),
              device_->create_completion_queue(ControlConnection::completions() + 2048),
              survey_,
              source_,
              target_,
              sink_,
              {},
              {},
              {},
              {},
              options_.terms.speed} {
    using iwarp::Access;
    shared_.source_region = shared_.domain->register_memory(source_.octets(), Access::none);
    shared_.sink_region = shared_.domain->register_memory(sink_.octets(), Access::local_write);
    shared_.target_region = shared_.domain->register_memory(
        target_.octets(), Access::local_write | Access::remote_read | Access::remote_write | Access::zero_based);
    shared_.atomics_region =
        shared_.domain->register_memory(atomics_, Access::local_write | Access::remote_atomic | Access::zero_based);
    if (options_.initiator) return;
    // The initiator's wish for a CRC decides, or this one's.
    listener_ = device_->listen(options_.host, options_.port, connection_options(options_.crc.value_or(false), {}));
}

ReplayEndpoint::~ReplayEndpoint() = default;

iwarp::ConnectionOptions ReplayEndpoint::connection_options(bool crc, std::vector<std::byte> private_data) const {
    iwarp::ConnectionOptions options;
    options.crc = crc;
    options.private_data = std::move(private_data);
    return options;
}

EndpointResult ReplayEndpoint::run() {
    Status outcome = Done{};
    try {
        outcome = run_all();
    } catch (const iwarp::Error& error) {
        outcome = failure(error.what());  // of an object that could not be made
    }
    if (!outcome) {
        result_.error = outcome.error().message;
        result_.stopped = outcome.error().stopped;
        result_.by_peer = outcome.error().by_peer;
    }
    if (result_.end_ns == 0) result_.end_ns = base::steady_ns();
    result_.start_ns = start_ns_;
    if (result_.sides.empty()) note_sides();
    if (!result_.error.empty() && control_ && control_->room(false)) {
        control_->send({.type = ControlMessage::Type::failed, .text = result_.error});
        leaving_ = true;
        device_->progress(std::chrono::milliseconds(10));
    }
    return result_;
}

Status ReplayEndpoint::run_all() {
    if (auto done = agree_with_peer(); !done) return done;
    if (auto done = wait_for_start(); !done) return done;
    if (auto done = work(); !done) return done;
    return finish();
}

void ReplayEndpoint::note_sides() {
    for (const auto& side : sides_)
        result_.sides.push_back({side->connection(), side->copy(), side->side(), side->queue_pair().local(),
                                 side->queue_pair().peer(), side->result()});
}

Status ReplayEndpoint::agree_with_peer() {
    if (options_.initiator) {
        control_ = std::make_unique<ControlConnection>(*device_, shared_.domain, shared_.completions);
        iwarp::ConnectionOptions options = connection_options(true, options_.terms.encode());
        options.refused_patience = std::chrono::milliseconds(500);
        control_->queue_pair()->connect(options_.host, options_.port, options);
    }
    progress_ns_ = base::steady_ns();
    while (!agreed_) {
        if (auto go_on = check_stop(); !go_on) return go_on;
        if (auto done = progress(stop_poll_ns); !done) return done;
    }
    return Done{};
}

/// The initiator begins once there is something to do and its connections stand; the other end follows.
Status ReplayEndpoint::wait_for_start() {
    const std::int64_t since = base::steady_ns();
    progress_ns_ = since;
    while (!started_) {
        if (auto go_on = check_stop(); !go_on) return go_on;
        read_operations();
        connect_sides();
        const bool enough =
            operations_.ended() || pending_ >= most_outstanding / 2 || base::steady_ns() - since > gathering_ns;
        if (options_.initiator && enough && !sides_.empty() && all_connected()) {
            control_->send({.type = ControlMessage::Type::start});
            started_ = true;
            start_ns_ = base::steady_ns() + before_start_ns;
        } else if (operations_.ended() && sides_.empty()) {
            const std::string why = operations_.failure();
            return failure(why.empty() ? "there is nothing to re-enact" : why);
        }
        if (!started_) {
            if (auto done = progress(blocked_ns); !done) return done;
        }
        if (auto in_time = check_time(); !in_time) return in_time;
    }
    progress_ns_ = base::steady_ns();
    return Done{};
}

Status ReplayEndpoint::work() {
    for (;;) {
        if (auto go_on = check_stop(); !go_on) return go_on;
        read_operations();
        connect_sides();
        const std::int64_t now = base::steady_ns();
        const auto posted = post(now);
        if (!posted) return base::Failure{posted.error()};
        if (*posted != 0) progress_ns_ = now;
        report_arrivals();
        if (pending_ == 0 && operations_.ended() && all_settled()) break;
        if (auto done = progress(wait_ns(now)); !done) return done;
        if (auto in_time = check_time(); !in_time) return in_time;
    }
    if (const std::string why = operations_.failure(); !why.empty()) return failure(why);
    result_.end_ns = base::steady_ns();
    return Done{};
}

Status ReplayEndpoint::finish() {
    leaving_ = true;
    note_sides();
    control_->send({.type = ControlMessage::Type::finished});
    progress_ns_ = base::steady_ns();
    while (!peer_finished_) {
        if (auto go_on = check_stop(); !go_on) return go_on;
        report_arrivals();
        if (auto done = progress(blocked_ns); !done) return done;
        if (base::steady_ns() - progress_ns_ > static_cast<std::int64_t>(options_.timeout_ns))
            return failure("the other end does not say that it is done");
    }
    const std::int64_t until = base::steady_ns() + closing_ns;
    const auto leave = [&](iwarp::QueuePair& pair) {
        if (pair.state() == iwarp::QueuePairState::connected) pair.disconnect();
    };
    for (const auto& side : sides_) leave(*side->handle());
    while (closed_sides_ < sides_.size() && base::steady_ns() < until) {
        if (auto done = progress(blocked_ns); !done) return done;
    }
    leave(*control_->queue_pair());
    while (!control_closed_ && base::steady_ns() < until) {
        if (auto done = progress(blocked_ns); !done) return done;
    }
    return Done{};
}

Status ReplayEndpoint::progress(std::int64_t wait_ns) {
    device_->progress(std::chrono::nanoseconds(wait_ns));
    if (auto done = read_completions(); !done) return done;
    return read_events();
}

Status ReplayEndpoint::read_completions() {
    std::array<iwarp::Completion, 128> done;
    while (const std::size_t count = shared_.completions->poll(done)) {
        for (std::size_t i = 0; i < count; ++i) {
            const iwarp::Completion& one = done[i];
            // The event that says why comes, too.
            if (one.status != iwarp::Status::success) continue;
            const std::uint32_t number = ConnectionSide::number_of(one);
            if (number != ControlConnection::number) {
                progress_ns_ = base::steady_ns();
                sides_[number]->completed(static_cast<std::uint32_t>(one.id), one);
                continue;
            }
            const auto message = control_->completed(static_cast<std::uint32_t>(one.id), one);
            if (!message) continue;
            if (auto handled = on_control_message(*message); !handled) return handled;
        }
    }
    return Done{};
}

Status ReplayEndpoint::read_events() {
    using What = iwarp::Event::Kind;
    while (const auto event = device_->next_event()) {
        const bool of_control = control_ && event->queue_pair == control_->queue_pair();
        Status handled = Done{};
        switch (event->kind) {
            case What::connect_request: handled = on_connect_request(*event->request); break;
            case What::established: handled = on_established(*event); break;
            case What::rejected:
            case What::connect_failed:
                handled = failure(no_connection(*event, options_.host, options_.port, of_control));
                break;
            case What::terminated:
            case What::disconnected:
                if (event->kind == What::disconnected) {
                    closed_sides_ += of_control ? 0 : 1;
                    control_closed_ = control_closed_ || of_control;
                }
                if (!leaving_ || (of_control && !peer_finished_)) handled = failure(ended_text(*event, of_control));
                break;
            case What::completion_overflow: handled = failure("completions were lost"); break;
            default: break;
        }
        if (!handled) return handled;
    }
    return Done{};
}

std::string ReplayEndpoint::ended_text(const iwarp::Event& event, bool of_control) const {
    const std::string why = reason_of(event);
    const std::string what = of_control
                                 ? "the other end has gone"
                                 : fmt::format("the connection of {} has ended",
                                               name_of(*static_cast<ConnectionSide*>(event.queue_pair->context)));
    return why.empty() ? what : fmt::format("{}: {}", what, why);
}

Status ReplayEndpoint::on_established(const iwarp::Event& event) {
    progress_ns_ = base::steady_ns();
    if (control_ && event.queue_pair == control_->queue_pair()) {
        agreed_ = true;
        if (options_.begin) options_.begin(options_.terms);
        return Done{};
    }
    ConnectionSide& side = *static_cast<ConnectionSide*>(event.queue_pair->context);
    ++connected_;
    if (!options_.initiator) return Done{};
    --opening_;
    const auto advertisement = Advertisement::decode(event.private_data);
    if (!advertisement)
        return failure(fmt::format("{}: what listens there is no `rdmascope replay`", event.queue_pair->peer()));
    return side.connected(*advertisement);
}

Status ReplayEndpoint::on_connect_request(iwarp::ConnectionRequest& request) {
    const auto refuse = [&](std::string why) -> Status {
        request.reject(Refusal{std::move(why)}.encode());
        return Done{};
    };
    if (const auto terms = Terms::decode(request.private_data())) {
        if (control_) return refuse("another replay is under way here");
        if (terms->fingerprint != options_.terms.fingerprint)
            return refuse("the capture here is another one, or other flows of it were asked for with --flow");
        accept_control(request, *terms);
        return Done{};
    }
    const auto advertisement = Advertisement::decode(request.private_data());
    if (!advertisement) return refuse("only `rdmascope replay --to` is served here");
    if (!agreed_ || advertisement->connection >= survey_.connections.size() ||
        advertisement->copy >= options_.terms.copies)
        return refuse("no such connection was agreed upon");
    return accept_side(request, *advertisement);
}

void ReplayEndpoint::accept_control(iwarp::ConnectionRequest& request, const Terms& terms) {
    options_.terms = terms;
    shared_.speed = terms.speed;
    control_ = std::make_unique<ControlConnection>(*device_, shared_.domain, shared_.completions);
    request.accept(control_->queue_pair(), connection_options(true, {}));
}

Status ReplayEndpoint::accept_side(iwarp::ConnectionRequest& request, const Advertisement& advertisement) {
    const auto own_side = static_cast<std::uint8_t>(1 - advertisement.side);
    ConnectionSide& side = side_of(advertisement.connection, advertisement.copy, own_side);
    if (side.side() != own_side || side.is_connected()) {
        request.reject(Refusal{"that side of the connection is played by somebody else"}.encode());
        return Done{};
    }
    side.begin();
    if (auto done = side.connected(advertisement); !done) return done;
    request.accept(side.handle(),
                   connection_options(options_.crc.value_or(false), side.advertisement(advertisement.side)));
    return Done{};
}

Status ReplayEndpoint::on_control_message(const ControlMessage& message) {
    progress_ns_ = base::steady_ns();
    switch (message.type) {
        case ControlMessage::Type::start:
            started_ = true;
            start_ns_ = base::steady_ns() + before_start_ns;
            break;
        case ControlMessage::Type::arrived:
            for (const ControlMessage::Count& count : message.counts) {
                const auto found = by_place_.find(place_key(count.connection, count.copy));
                if (found != by_place_.end()) found->second->arrived(count.messages);
            }
            break;
        case ControlMessage::Type::finished: peer_finished_ = true; break;
        case ControlMessage::Type::failed:
            return base::Failure{Error{.message = fmt::format("the other end: {}", message.text), .by_peer = true}};
    }
    return Done{};
}

void ReplayEndpoint::report_arrivals() {
    ControlMessage message;
    const auto send = [&] {
        control_->send(std::move(message));
        message = {};
    };
    for (const auto& side : sides_) {
        const auto messages = side->unreported_arrivals();
        if (!messages) continue;
        if (!control_->room(true)) return;
        message.counts.push_back({side->connection(), side->copy(), *messages});
        side->reported();
        if (message.counts.size() == ControlMessage::max_counts) send();
    }
    if (!message.counts.empty() || (control_->owes_report() && control_->room(false))) send();
}

void ReplayEndpoint::read_operations() {
    if (pending_ >= most_outstanding) return;
    taken_.clear();
    operations_.take(taken_, read_at_once);
    for (const Operation& operation : taken_) {
        for (std::uint32_t copy = 0; copy < options_.terms.copies; ++copy) {
            // The side that posts first connects: in iWARP the initiator must be the first to send. RFC 5044, 7.1.2.
            ConnectionSide& side =
                side_of(operation.connection, copy,
                        options_.initiator ? operation.side : static_cast<std::uint8_t>(1 - operation.side));
            if (operation.side == side.side()) {
                side.add(operation);
                ++pending_;
            } else {
                side.expect(operation.kind);
            }
        }
    }
}

/// Made with this side where there is none yet.
ConnectionSide& ReplayEndpoint::side_of(std::uint32_t connection, std::uint32_t copy, std::uint8_t side) {
    ConnectionSide*& known = by_place_[place_key(connection, copy)];
    if (known != nullptr) return *known;
    const auto number = static_cast<std::uint32_t>(sides_.size());
    sides_.push_back(std::make_unique<ConnectionSide>(shared_, number, connection, copy, side));
    known = sides_.back().get();
    completions_ += known->completions();
    if (completions_ > shared_.completions->capacity()) shared_.completions->resize(2 * completions_);
    if (options_.initiator) to_open_.push_back(known);
    return *known;
}

void ReplayEndpoint::connect_sides() {
    while (!to_open_.empty() && opening_ < opening_at_once) {
        ConnectionSide& side = *to_open_.front();
        to_open_.pop_front();
        const bool crc = options_.crc.value_or(survey_.connections[side.connection()].crc);
        side.begin();
        side.handle()->connect(options_.host, options_.port, connection_options(crc, side.advertisement(side.side())));
        ++opening_;
    }
}

Result<std::size_t> ReplayEndpoint::post(std::int64_t now_ns) {
    std::size_t sum = 0;
    for (const auto& side : sides_) {
        auto posted = side->post(now_ns, start_ns_);
        if (!posted) return posted;
        sum += *posted;
    }
    pending_ -= sum;
    return sum;
}

std::int64_t ReplayEndpoint::wait_ns(std::int64_t now_ns) const {
    std::int64_t wait = stop_poll_ns;
    if (pending_ < most_outstanding && !operations_.ended()) wait = blocked_ns;
    for (const auto& side : sides_)
        if (const auto due = side->due_ns(start_ns_)) wait = std::min(wait, *due > now_ns ? *due - now_ns : blocked_ns);
    return wait;
}

bool ReplayEndpoint::all_settled() const {
    return std::ranges::all_of(sides_, [](const auto& side) { return side->settled(); });
}

bool ReplayEndpoint::all_connected() const { return to_open_.empty() && connected_ == sides_.size(); }

Status ReplayEndpoint::check_stop() const {
    if (options_.stopped && options_.stopped())
        return base::Failure{Error{.message = "stopped before all was done", .stopped = true}};
    return Done{};
}

/// A failure if nothing has happened for long, though something is due.
Status ReplayEndpoint::check_time() {
    const std::int64_t now = base::steady_ns();
    if (now - progress_ns_ < static_cast<std::int64_t>(options_.timeout_ns)) return Done{};
    const bool waits = pending_ != 0 && std::ranges::all_of(sides_, [&](const auto& side) {
                           const auto due = side->due_ns(start_ns_);
                           return !due || *due > now;
                       });
    if ((started_ && waits) || (pending_ == 0 && !operations_.ended())) {
        progress_ns_ = now;
        return Done{};
    }
    return failure(fmt::format("nothing has come about for {}: {}", base::format_duration(options_.timeout_ns),
                               first_unsettled()));
}

std::string ReplayEndpoint::first_unsettled() const {
    for (const auto& side : sides_)
        if (const std::string what = side->unsettled(); !what.empty())
            return fmt::format("{}: {}", name_of(*side), what);
    return "the other end does not begin";
}

std::string ReplayEndpoint::name_of(const ConnectionSide& side) const {
    const PlannedConnection& connection = survey_.connections[side.connection()];
    const auto* flow =
        connection.flows[side.side()] != nullptr ? connection.flows[side.side()] : connection.flows[1 - side.side()];
    return fmt::format("flow {}", flow->id);
}

}  // namespace replay::endpoints
