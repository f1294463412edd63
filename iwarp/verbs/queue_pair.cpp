#include "iwarp/verbs/queue_pair.h"

#include <algorithm>

#include "fmt/core.h"
#include "iwarp/probes.h"
#include "iwarp/verbs/completion_queue.h"
#include "iwarp/verbs/connection.h"
#include "iwarp/verbs/memory_region.h"
#include "iwarp/verbs/memory_window.h"
#include "iwarp/verbs/protection_domain.h"
#include "iwarp/verbs/shared_receive_queue.h"

namespace iwarp {
namespace {

std::uint64_t octets_of(std::span<const Sge> pieces) {
    std::uint64_t sum = 0;
    for (const Sge& piece : pieces) sum += piece.length;
    return sum;
}

/// RFC 5041 section 6.2.1: while this side closes, the other may still send.
bool takes_receives(QueuePairState state) {
    return state == QueuePairState::idle || state == QueuePairState::connected || state == QueuePairState::closing;
}

}  // namespace

QueuePair::Impl::Impl(std::shared_ptr<Device> on_device, const QueuePairOptions& wanted)
    : device(std::move(on_device)), options(wanted), sends(wanted.max_send, wanted.max_pieces, wanted.max_inline) {
    ++device->impl().queue_pairs;
}

QueuePair::Impl::~Impl() {
    Device::Impl& on = device->impl();
    if (connection) connection->abandon();
    for (const auto& queue : {send_completions, receive_completions})
        if (queue) std::erase(queue->impl().users, this);
    forget_events();
    --on.queue_pairs;
}

ddp::ReceiveQueue& QueuePair::Impl::receive_queue() const {
    return shared_receives ? shared_receives->impl().receives : *own_receives;
}

void QueuePair::Impl::change_state(QueuePairState to) {
    if (state == to) return;
    IWARP_PROBE(state, number, static_cast<int>(state), static_cast<int>(to));
    state = to;
}

void QueuePair::Impl::raise(Event::Kind kind, std::string text, verbs::PeersAnswer answer) {
    verbs::PendingEvent event;
    event.kind = kind;
    event.text = std::move(text);
    event.answer = std::move(answer);
    raise(std::move(event));
}

void QueuePair::Impl::raise(verbs::PendingEvent event) {
    forget_events(bit(event.kind));
    pending_kinds |= bit(event.kind);
    event.queue_pair = self;
    event.of = this;
    device->impl().raise(std::move(event));
}

void QueuePair::Impl::forget_events(unsigned kinds) {
    if ((pending_kinds & kinds) == 0) return;
    pending_kinds &= ~kinds;
    device->impl().forget(
        [&](const verbs::PendingEvent& event) { return event.of == this && (bit(event.kind) & kinds) != 0; });
}

void QueuePair::Impl::established(const Agreement& with, verbs::PeersAnswer answer) {
    agreement = with;
    change_state(QueuePairState::connected);
    raise(Event::Kind::established, {}, std::move(answer));
}

void QueuePair::Impl::terminated(Terminate why) {
    change_state(QueuePairState::terminating);
    verbs::PendingEvent event;
    event.kind = Event::Kind::terminated;
    event.text = why.text;
    event.terminate = why;
    terminate = std::move(why);
    raise(std::move(event));
}

void QueuePair::Impl::complete_send(const rdmap::WorkRequest& work, Status status) {
    completed_silently = status == Status::success && !work.signalled && !options.signal_all;
    if (completed_silently) return;
    has_unseen_writes = false;
    Completion completion;
    completion.id = work.id;
    completion.status = status;
    completion.operation = rdmap::completed_as(work.operation);
    completion.queue_pair = number;
    completion.length = status == Status::success ? work.length : 0;
    send_completions->impl().push(completion);
}

void QueuePair::Impl::written() {
    has_unseen_writes = true;
    wake_waiting_for_memory();
}

void QueuePair::Impl::wake_waiting_for_memory() {
    CompletionQueue::Impl& queue = send_completions->impl();
    const bool sleeps = queue.armed && !queue.armed_for_solicited && completed_silently && sends.empty();
    if (!sleeps || !has_unseen_writes) return;
    has_unseen_writes = false;
    queue.wake();
}

void QueuePair::Impl::complete_receive(const Completion& completion) { receive_completions->impl().push(completion); }

bool QueuePair::Impl::retire() {
    bool well = true;
    while (rdmap::WorkRequest* const work = sends.finished()) {
        Status status = work->status;
        // RFC 5040 leaves Read with Invalidate to the verbs: the sink is shut once its data is there.
        if (status == Status::success && work->operation == Operation::read && work->invalidate) {
            Device::Impl& on = device->impl();
            const std::uint32_t stag = work->pieces.front().stag;
            const ddp::TaggedBuffer* const sink = on.memory.find(stag);
            if (on.memory.invalidate(stag, domain->number(), number) == ddp::MemoryFault::none)
                on.withdraw({sink->memory, sink->length});
            else
                status = Status::window_bind;
        }
        well = well && status == Status::success;
        complete_send(*work, status);
        sends.pop();
    }
    flush_late_sends();
    wake_waiting_for_memory();
    return well;
}

Posted QueuePair::Impl::flush_in_turn(rdmap::WorkRequest work) {
    if (sends.size() + late_sends.size() >= sends.capacity()) return Posted::queue_full;
    late_sends.push_back(std::move(work));
    flush_late_sends();
    return Posted::ok;
}

void QueuePair::Impl::flush_late_sends() {
    if (!sends.empty()) return;
    for (; !late_sends.empty(); late_sends.pop_front()) complete_send(late_sends.front(), Status::flushed);
}

void QueuePair::Impl::flush(std::uint64_t ticket, Status status) {
    retire();
    while (!sends.empty()) {
        const std::uint64_t oldest = sends.oldest_ticket();
        complete_send(sends.at(oldest), oldest == ticket ? status : Status::flushed);
        sends.pop();
    }
    flush_late_sends();
    Completion flushed;
    flushed.status = Status::flushed;
    flushed.operation = CompletedOperation::receive;
    flushed.queue_pair = number;
    if (connection) {
        if (const auto unfinished = connection->take_unfinished_receive()) {
            flushed.id = *unfinished;
            complete_receive(flushed);
        }
    }
    if (shared_receives) return;
    for (ddp::Receive receive; own_receives->take(receive);) {
        flushed.id = receive.id;
        complete_receive(flushed);
    }
}

void QueuePair::Impl::connect_failed(Failure failure, std::string text, verbs::PeersAnswer answer) {
    connection.reset();
    change_state(QueuePairState::idle);
    verbs::PendingEvent event;
    event.kind = failure == Failure::none ? Event::Kind::rejected : Event::Kind::connect_failed;
    event.failure = failure;
    event.text = std::move(text);
    event.answer = std::move(answer);
    raise(std::move(event));
}

void QueuePair::Impl::disconnected(std::string text) {
    connection.reset();
    change_state(QueuePairState::error);
    raise(Event::Kind::disconnected, std::move(text));
}

void QueuePair::Impl::fail(const std::string& why) {
    if (connection) {
        connection->fail(why);
        // At once: the rest of the connection is no longer the user's business.
        change_state(QueuePairState::error);
        return;
    }
    change_state(QueuePairState::error);
    flush();
}

QueuePair::QueuePair(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
QueuePair::~QueuePair() = default;

std::uint32_t QueuePair::number() const { return impl_->number; }
QueuePairState QueuePair::state() const { return impl_->state; }
std::optional<Agreement> QueuePair::agreement() const { return impl_->agreement; }
std::optional<Terminate> QueuePair::terminate() const { return impl_->terminate; }
std::string QueuePair::peer() const { return impl_->peer; }
std::string QueuePair::local() const { return impl_->local; }
const QueuePairCounters& QueuePair::counters() const { return impl_->counters; }

Posted QueuePair::post_send(const SendRequest& request) {
    Impl& impl = *impl_;
    if (impl.state != QueuePairState::connected) return Posted::wrong_state;
    const bool awaits_answer = request.operation == Operation::read || request.operation == Operation::fetch_add ||
                               request.operation == Operation::compare_swap;
    if (awaits_answer && impl.agreement->ord == 0) return Posted::invalid;
    const auto on_this_device = [&](auto* object) {
        return object == nullptr || object->impl().domain->impl().device == impl.device;
    };
    if (!on_this_device(request.window) || !on_this_device(request.region)) return Posted::invalid;
    const Posted posted = impl.sends.post(request, request.window != nullptr ? request.window->impl().handle : nullptr,
                                          request.region != nullptr ? request.region->impl().handle : nullptr);
    if (posted != Posted::ok) return posted;
    IWARP_PROBE(post_send, impl.number, request.id, static_cast<int>(request.operation), octets_of(request.pieces));
    impl.connection->attention();
    return posted;
}

Posted QueuePair::post_receive(const ReceiveRequest& request) {
    if (impl_->shared_receives) return Posted::invalid;
    if (!takes_receives(impl_->state)) return Posted::wrong_state;
    const Posted posted = impl_->own_receives->post(request);
    if (posted != Posted::ok) return posted;
    IWARP_PROBE(post_receive, impl_->number, request.id, octets_of(request.pieces));
    if (impl_->connection) impl_->connection->receive_posted();
    return posted;
}

void QueuePair::resize(std::uint32_t max_send, std::uint32_t max_receive) {
    Impl& impl = *impl_;
    const std::uint32_t received = impl.own_receives ? impl.own_receives->size() : 0;
    if (max_send == 0 || max_send < impl.sends.size() || max_receive < received ||
        (max_receive == 0 && impl.own_receives))
        throw Error(
            fmt::format("queue pair {} has {} send and {} receive requests outstanding; it cannot be resized to "
                        "{} and {}",
                        impl.number, impl.sends.size(), received, max_send, max_receive));
    impl.sends.resize(max_send);
    if (impl.own_receives) impl.own_receives->resize(max_receive);
    impl.options.max_send = max_send;
    impl.options.max_receive = max_receive;
}

void QueuePair::connect(const std::string& host, std::uint16_t port, const ConnectionOptions& options) {
    verbs::check_options(options, true);
    Impl& impl = *impl_;
    if (impl.state != QueuePairState::idle || impl.connection)
        throw Error(
            fmt::format("queue pair {} is {}; only an idle one can be connected", impl.number,
                        impl.connection && impl.state == QueuePairState::idle ? "connecting" : name_of(impl.state)));
    Device::Impl& device = impl.device->impl();
    if (device.connections >= device.options.max_connections)
        throw Error(fmt::format("the device has {} connections, and was opened with max_connections {}",
                                device.connections, device.options.max_connections));
    impl.peer.clear();
    impl.local.clear();
    impl.agreement.reset();
    impl.terminate.reset();
    impl.connection = verbs::Connection::initiator(device, impl, options);
    impl.connection->set_target(host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                                                    : fmt::format("[{}]:{}", host, port));
    device.transport->connect(impl.connection, host, port, options);
}

void QueuePair::disconnect() {
    const Device::Impl::Scope scope(impl_->device->impl());
    if (const auto connection = impl_->connection) connection->disconnect();
}

void QueuePair::abort() {
    const Device::Impl::Scope scope(impl_->device->impl());
    if (const auto connection = impl_->connection) connection->abort("aborted by this side");
}

void QueuePair::reset() {
    Impl& impl = *impl_;
    const bool connecting = impl.state == QueuePairState::idle && impl.connection;
    if ((impl.state != QueuePairState::error && impl.state != QueuePairState::idle) || connecting)
        throw Error(fmt::format("queue pair {} is {}; abort() it before reset()", impl.number,
                                connecting ? "connecting" : name_of(impl.state)));
    if (impl.connection) impl.connection->detach();
    impl.connection.reset();
    while (!impl.sends.empty()) impl.sends.pop();
    impl.late_sends.clear();
    if (impl.own_receives)
        for (ddp::Receive receive; impl.own_receives->take(receive);) {
        }
    impl.agreement.reset();
    impl.terminate.reset();
    impl.peer.clear();
    impl.local.clear();
    impl.forget_events();
    impl.change_state(QueuePairState::idle);
}

}  // namespace iwarp
