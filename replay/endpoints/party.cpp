#include "replay/endpoints/party.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/core.h>
#include <limits>
#include <utility>

#include "text/quantities.h"

namespace replay {

namespace {

constexpr std::int64_t look_about_ns = 50'000'000;  ///< how late a stop may be noticed
constexpr std::int64_t blocked_ns = 1'000'000;      ///< what is waited for comes as an event; in case it does not
constexpr std::int64_t farewell_ns = 2'000'000'000;
constexpr std::int64_t gathering_ns = 200'000'000;  ///< operations and connections before the start
constexpr std::int64_t before_start_ns = 5'000'000;
constexpr std::size_t window = OperationQueue::capacity;
constexpr std::size_t opening_at_once = 128;
constexpr std::size_t taken_at_once = 2048;

/// The user has asked to end.
struct Stopped {};

std::int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

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
    const bool somebody_else = event.kind == iwarp::Event::Kind::rejected && !Refusal::decode(event.private_data);
    if (first && (somebody_else || event.peer_in_doubt()))
        why += "; is `rdmascope replay --serve` of this capture running there?";
    return why;
}

}  // namespace

Party::Party(std::shared_ptr<iwarp::Device> device, const Survey& survey, OperationQueue& operations,
             PartyOptions options)
    : device_(std::move(device)),
      survey_(survey),
      operations_(operations),
      options_(std::move(options)),
      source_(survey.longest, true),
      target_(survey.longest, true),
      sink_(survey.longest, false),
      shared_{*device_,
              device_->allocate_protection_domain(),
              device_->create_completion_queue(Control::completions() + 2048),
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

Party::~Party() = default;

iwarp::ConnectionOptions Party::connection_options(bool crc, std::vector<std::byte> private_data) const {
    iwarp::ConnectionOptions options;
    options.crc = crc;
    options.private_data = std::move(private_data);
    return options;
}

PartyResult Party::run() {
    try {
        find_the_other();
        wait_for_start();
        work();
        farewell();
    } catch (const iwarp::Error& error) {
        if (result_.error.empty()) result_.error = error.what();
    } catch (const Stopped&) {
        result_.stopped = true;
        result_.error = "stopped before all was done";
    }
    if (result_.end_ns == 0) result_.end_ns = steady_ns();
    result_.start_ns = start_ns_;
    if (result_.sides.empty())
        for (const auto& lane : lanes_)
            result_.sides.push_back({lane->connection(), lane->copy(), lane->side(), lane->queue_pair().local(),
                                     lane->queue_pair().peer(), lane->result()});
    if (!result_.error.empty() && control_ && control_->room(false)) {
        control_->send({.type = Word::Type::failed, .text = result_.error});
        leaving_ = true;
        device_->progress(std::chrono::milliseconds(10));
    }
    return result_;
}

void Party::find_the_other() {
    if (options_.initiator) {
        control_ = std::make_unique<Control>(*device_, shared_.domain, shared_.completions);
        iwarp::ConnectionOptions options = connection_options(true, options_.terms.encode());
        options.refused_patience = std::chrono::milliseconds(500);
        control_->queue_pair()->connect(options_.host, options_.port, options);
    }
    moved_ns_ = steady_ns();
    while (!agreed_) {
        check_stop();
        turn(look_about_ns);
    }
}

/// The initiator begins once there is something to do and its connections stand; the other end follows.
void Party::wait_for_start() {
    const std::int64_t since = steady_ns();
    moved_ns_ = since;
    while (!started_) {
        check_stop();
        take_operations();
        open_lanes();
        const bool enough = operations_.ended() || pending_ >= window / 2 || steady_ns() - since > gathering_ns;
        if (options_.initiator && enough && !lanes_.empty() && all_connected()) {
            control_->send({.type = Word::Type::start});
            started_ = true;
            start_ns_ = steady_ns() + before_start_ns;
        } else if (operations_.ended() && lanes_.empty()) {
            const std::string why = operations_.failure();
            throw iwarp::Error(why.empty() ? "there is nothing to re-enact" : why);
        }
        if (!started_) turn(blocked_ns);
        check_time();
    }
    moved_ns_ = steady_ns();
}

void Party::work() {
    for (;;) {
        check_stop();
        take_operations();
        open_lanes();
        const std::int64_t now = steady_ns();
        if (post(now) != 0) moved_ns_ = now;
        tell_news();
        if (pending_ == 0 && operations_.ended() && all_settled()) break;
        turn(wait_ns(now));
        check_time();
    }
    if (const std::string why = operations_.failure(); !why.empty()) throw iwarp::Error(why);
    result_.end_ns = steady_ns();
}

void Party::farewell() {
    leaving_ = true;
    for (const auto& lane : lanes_)
        result_.sides.push_back({lane->connection(), lane->copy(), lane->side(), lane->queue_pair().local(),
                                 lane->queue_pair().peer(), lane->result()});
    control_->send({.type = Word::Type::finished});
    moved_ns_ = steady_ns();
    while (!peer_finished_) {
        check_stop();
        tell_news();
        turn(blocked_ns);
        if (steady_ns() - moved_ns_ > static_cast<std::int64_t>(options_.timeout_ns))
            throw iwarp::Error("the other end does not say that it is done");
    }
    const std::int64_t until = steady_ns() + farewell_ns;
    const auto leave = [&](iwarp::QueuePair& pair) {
        if (pair.state() == iwarp::QueuePairState::connected) pair.disconnect();
    };
    for (const auto& lane : lanes_) leave(*lane->handle());
    while (gone_ < lanes_.size() && steady_ns() < until) turn(blocked_ns);
    leave(*control_->queue_pair());
    while (!control_gone_ && steady_ns() < until) turn(blocked_ns);
}

void Party::turn(std::int64_t wait_ns) {
    device_->progress(std::chrono::nanoseconds(wait_ns));
    take_completions();
    take_events();
}

void Party::take_completions() {
    std::array<iwarp::Completion, 128> done;
    while (const std::size_t count = shared_.completions->poll(done)) {
        for (std::size_t i = 0; i < count; ++i) {
            const iwarp::Completion& one = done[i];
            // The event that says why comes, too.
            if (one.status != iwarp::Status::success) continue;
            const std::uint32_t number = Lane::number_of(one);
            if (number == Control::number) {
                if (const auto word = control_->completed(static_cast<std::uint32_t>(one.id), one)) heard(*word);
            } else {
                moved_ns_ = steady_ns();
                lanes_[number]->completed(static_cast<std::uint32_t>(one.id), one);
            }
        }
    }
}

void Party::take_events() {
    using What = iwarp::Event::Kind;
    while (const auto event = device_->next_event()) {
        const bool of_control = control_ && event->queue_pair == control_->queue_pair();
        switch (event->kind) {
            case What::connect_request: welcome(*event->request); break;
            case What::established: established(*event); break;
            case What::rejected:
            case What::connect_failed:
                throw iwarp::Error(no_connection(*event, options_.host, options_.port, of_control));
            case What::terminated:
            case What::disconnected: {
                if (event->kind == What::disconnected) {
                    gone_ += of_control ? 0 : 1;
                    control_gone_ = control_gone_ || of_control;
                }
                if (leaving_ && (!of_control || peer_finished_)) break;
                const std::string why = reason_of(*event);
                const std::string who = of_control
                                            ? "the other end has gone"
                                            : fmt::format("the connection of {} has ended",
                                                          name_of(*static_cast<Lane*>(event->queue_pair->context)));
                throw iwarp::Error(why.empty() ? who : fmt::format("{}: {}", who, why));
            }
            case What::completion_overflow: throw iwarp::Error("completions were lost");
            default: break;
        }
    }
}

void Party::established(const iwarp::Event& event) {
    moved_ns_ = steady_ns();
    if (control_ && event.queue_pair == control_->queue_pair()) {
        agreed_ = true;
        if (options_.begin) options_.begin(options_.terms);
        return;
    }
    Lane& lane = *static_cast<Lane*>(event.queue_pair->context);
    ++connected_;
    if (!options_.initiator) return;
    --opening_;
    const auto loan = Loan::decode(event.private_data);
    if (!loan)
        throw iwarp::Error(fmt::format("{}: what listens there is no `rdmascope replay`", event.queue_pair->peer()));
    lane.connected(*loan);
}

void Party::welcome(iwarp::ConnectionRequest& request) {
    const auto refuse = [&](std::string why) { request.reject(Refusal{std::move(why)}.encode()); };
    if (const auto terms = Terms::decode(request.private_data())) {
        if (control_) return refuse("another replay is under way here");
        if (terms->fingerprint != options_.terms.fingerprint)
            return refuse("the capture here is another one, or other flows of it were asked for with --flow");
        return welcome_control(request, *terms);
    }
    const auto loan = Loan::decode(request.private_data());
    if (!loan) return refuse("only `rdmascope replay --to` is served here");
    if (!agreed_ || loan->connection >= survey_.connections.size() || loan->copy >= options_.terms.copies)
        return refuse("no such connection was agreed upon");
    welcome_lane(request, *loan);
}

void Party::welcome_control(iwarp::ConnectionRequest& request, const Terms& terms) {
    options_.terms = terms;
    shared_.speed = terms.speed;
    control_ = std::make_unique<Control>(*device_, shared_.domain, shared_.completions);
    request.accept(control_->queue_pair(), connection_options(true, {}));
}

void Party::welcome_lane(iwarp::ConnectionRequest& request, const Loan& loan) {
    const auto own_side = static_cast<std::uint8_t>(1 - loan.side);
    Lane& lane = lane_of(loan.connection, loan.copy, own_side);
    if (lane.side() != own_side || lane.is_connected())
        return request.reject(Refusal{"that side of the connection is played by somebody else"}.encode());
    lane.begin();
    lane.connected(loan);
    request.accept(lane.handle(), connection_options(options_.crc.value_or(false), lane.loan(loan.side)));
}

void Party::heard(const Word& word) {
    moved_ns_ = steady_ns();
    switch (word.type) {
        case Word::Type::start:
            started_ = true;
            start_ns_ = steady_ns() + before_start_ns;
            break;
        case Word::Type::arrived:
            for (const Word::Count& count : word.counts) {
                const auto found = by_place_.find(place_key(count.connection, count.copy));
                if (found != by_place_.end()) found->second->arrived(count.messages);
            }
            break;
        case Word::Type::finished: peer_finished_ = true; break;
        case Word::Type::failed: result_.told = true; throw iwarp::Error(fmt::format("the other end: {}", word.text));
    }
}

void Party::tell_news() {
    Word word;
    const auto send = [&] {
        control_->send(std::move(word));
        word = {};
    };
    for (const auto& lane : lanes_) {
        const auto news = lane->news();
        if (!news) continue;
        if (!control_->room(true)) return;
        word.counts.push_back({lane->connection(), lane->copy(), *news});
        lane->told();
        if (word.counts.size() == Word::most_counts) send();
    }
    if (!word.counts.empty() || (control_->owes_credit() && control_->room(false))) send();
}

void Party::take_operations() {
    if (pending_ >= window) return;
    taken_.clear();
    operations_.take(taken_, taken_at_once);
    for (const Operation& operation : taken_) {
        for (std::uint32_t copy = 0; copy < options_.terms.copies; ++copy) {
            // Who posts first connects: in iWARP the initiator must be the first to send. RFC 5044, 7.1.2.
            Lane& lane = lane_of(operation.connection, copy,
                                 options_.initiator ? operation.side : static_cast<std::uint8_t>(1 - operation.side));
            if (operation.side == lane.side()) {
                lane.add(operation);
                ++pending_;
            } else {
                lane.expect(operation.kind);
            }
        }
    }
}

/// Made with this side where there is none yet.
Lane& Party::lane_of(std::uint32_t connection, std::uint32_t copy, std::uint8_t side) {
    Lane*& known = by_place_[place_key(connection, copy)];
    if (known != nullptr) return *known;
    const auto number = static_cast<std::uint32_t>(lanes_.size());
    lanes_.push_back(std::make_unique<Lane>(shared_, number, connection, copy, side));
    known = lanes_.back().get();
    completions_ += known->completions();
    if (completions_ > shared_.completions->capacity()) shared_.completions->resize(2 * completions_);
    if (options_.initiator) to_open_.push_back(known);
    return *known;
}

void Party::open_lanes() {
    while (!to_open_.empty() && opening_ < opening_at_once) {
        Lane& lane = *to_open_.front();
        to_open_.pop_front();
        const bool crc = options_.crc.value_or(survey_.connections[lane.connection()].crc);
        lane.begin();
        lane.handle()->connect(options_.host, options_.port, connection_options(crc, lane.loan(lane.side())));
        ++opening_;
    }
}

std::size_t Party::post(std::int64_t now_ns) {
    std::size_t posted = 0;
    for (const auto& lane : lanes_) posted += lane->post(now_ns, start_ns_);
    pending_ -= posted;
    return posted;
}

std::int64_t Party::wait_ns(std::int64_t now_ns) const {
    std::int64_t wait = look_about_ns;
    if (pending_ < window && !operations_.ended()) wait = blocked_ns;
    for (const auto& lane : lanes_)
        if (const auto due = lane->due_ns(start_ns_)) wait = std::min(wait, *due > now_ns ? *due - now_ns : blocked_ns);
    return wait;
}

bool Party::all_settled() const {
    return std::ranges::all_of(lanes_, [](const auto& lane) { return lane->settled(); });
}

bool Party::all_connected() const { return to_open_.empty() && connected_ == lanes_.size(); }

void Party::check_stop() const {
    if (options_.stopped && options_.stopped()) throw Stopped();
}

/// Nothing has come about for long, though something is due.
void Party::check_time() {
    const std::int64_t now = steady_ns();
    if (now - moved_ns_ < static_cast<std::int64_t>(options_.timeout_ns)) return;
    const bool waits = pending_ != 0 && std::ranges::all_of(lanes_, [&](const auto& lane) {
                           const auto due = lane->due_ns(start_ns_);
                           return !due || *due > now;
                       });
    if ((started_ && waits) || (pending_ == 0 && !operations_.ended())) {
        moved_ns_ = now;
        return;
    }
    throw iwarp::Error(fmt::format("nothing has come about for {}: {}", text::format_duration(options_.timeout_ns),
                                   first_unsettled()));
}

std::string Party::first_unsettled() const {
    for (const auto& lane : lanes_)
        if (const std::string what = lane->unsettled(); !what.empty())
            return fmt::format("{}: {}", name_of(*lane), what);
    return "the other end does not begin";
}

std::string Party::name_of(const Lane& lane) const {
    const PlannedConnection& connection = survey_.connections[lane.connection()];
    const auto* flow =
        connection.flows[lane.side()] != nullptr ? connection.flows[lane.side()] : connection.flows[1 - lane.side()];
    return fmt::format("flow {}", flow->id);
}

}  // namespace replay
