#include "iwarp/transport/memory_host.h"

#include "base/clock.h"

namespace iwarp::transport::memory {

using verbs::Stream;

Host::~Host() {
    std::erase_if(wire_.listeners, [&](const auto& one) { return one.second.device == this; });
    for (Pending& pending : pending_) pending.stream->transport_data = nullptr;
    for (auto& [connection, end] : ends_) wire_.let_go(*end, true);
    std::erase(wire_.hosts, this);
}

void Host::connect(std::shared_ptr<Stream> stream, const std::string& host, std::uint16_t port,
                   const ConnectionOptions& options) {
    const std::int64_t now = wire_.now_ns;
    const std::int64_t round_trip_ns = base::add_ns(wire_.impairment.delay_ns, wire_.impairment.delay_ns);
    const std::int64_t patience_ns = std::chrono::nanoseconds(options.connect_timeout).count();
    pending_.push_back(
        {std::move(stream), host, port, base::add_ns(now, round_trip_ns), base::add_ns(now, patience_ns)});
}

iwarp::verbs::Listening Host::listen(const std::string&, std::uint16_t port, int, const ConnectionOptions&,
                                     iwarp::verbs::Acceptor& acceptor) {
    const bool any = port == 0;
    while (any && (port == 0 || wire_.listeners.contains({name_, port}))) port = wire_.next_port();
    const auto [found, added] = wire_.listeners.try_emplace({name_, port});
    if (!added) throw Error("cannot listen on " + name_ + ":" + std::to_string(port) + ": Address already in use");
    found->second.handle = ++wire_.last_handle;
    found->second.device = this;
    found->second.acceptor = &acceptor;
    return {found->second.handle, name_, port};
}

void Host::stop_listening(std::uint64_t handle) {
    std::erase_if(wire_.listeners, [&](const auto& one) { return one.second.handle == handle; });
}

void Host::attention(Stream& stream) {
    if (stream.transport_data != nullptr) static_cast<End*>(stream.transport_data)->attention = true;
}

/// The outcome of a connect(), if it is time.
bool Host::answer(Pending& pending) {
    const std::int64_t now = wire_.now_ns;
    const std::shared_ptr<Stream> stream = pending.stream;
    if (stream->closing() == Stream::Closing::reset || stream->closing() == Stream::Closing::full) {
        pending.stream.reset();
        return true;
    }
    if (now < std::min(pending.answer_ns, pending.give_up_ns)) return false;
    pending.stream.reset();
    const std::string name = pending.host + ":" + std::to_string(pending.port);
    if (pending.answer_ns > pending.give_up_ns) {
        stream->connect_failed(Failure::timed_out, "Connection timed out: " + name, now);
        return true;
    }
    const auto connection = wire_.connect(name_, this, {pending.host, pending.port});
    if (!connection) {
        const bool known = wire_.known(pending.host);
        stream->connect_failed(known ? Failure::refused : Failure::unreachable,
                               (known ? "Connection refused by " : "No such host: ") + name, now);
        return true;
    }
    End& end = connection->ends[0];
    end.stream = stream;
    end.attention = true;
    stream->transport_data = &end;
    stream->connected(name, wire_.impairment.emss, now);
    return true;
}

bool Host::accept(End& end) {
    const Listener* listener = wire_.listener(end.listener);
    const std::string peer = end.connection->other(end).name();
    if (listener != nullptr) end.stream = listener->acceptor->accepted(peer);
    if (!end.stream) {
        wire_.let_go(end, true);
        return false;
    }
    end.attention = true;
    end.stream->transport_data = &end;
    end.stream->connected(peer, wire_.impairment.emss, wire_.now_ns);
    return true;
}

void Host::hand_over(Stream& stream, base::Bytes octets) {
    while (!octets.empty()) {
        std::size_t placed = 0;
        if (wire_.impairment.direct > 0) {
            for (const base::MutableBytes piece : stream.room(wire_.impairment.direct)) {
                const std::size_t size = std::min(piece.size(), octets.size() - placed);
                std::copy_n(octets.begin() + static_cast<std::ptrdiff_t>(placed), size, piece.begin());
                placed += size;
            }
        }
        if (placed > 0) {
            stream.received(placed, wire_.now_ns);
            octets = octets.subspan(placed);
        } else {
            stream.receive(octets, wire_.now_ns);
            octets = {};
        }
    }
}

/// What is due. Order as on the wire, but a reset does not wait for a paused stream.
bool Host::deliver(End& end) {
    bool moved = false;
    while (!end.gone && !end.arriving.empty() && end.arriving.front().due_ns <= wire_.now_ns) {
        if (end.paused) {
            const auto reset = first_reset(end);
            if (reset == end.arriving.end() || reset->due_ns > wire_.now_ns) break;
            end.arriving.erase(end.arriving.begin(), reset);
        }
        const Segment segment = std::move(end.arriving.front());
        end.arriving.pop_front();
        moved = true;
        if (segment.open) {
            if (!accept(end)) break;
            continue;
        }
        if (!end.stream) continue;
        end.attention = true;
        end.under_way -= std::min(end.under_way, segment.octets.size());
        if (segment.reset) {
            end.reset_received = true;
            const std::shared_ptr<Stream> stream = end.stream;
            const std::string peer = end.connection->other(end).name();
            wire_.let_go(end, true);
            stream->lost("Connection reset by " + peer, wire_.now_ns);
        } else if (segment.fin) {
            end.fin_received = true;
            end.stream->peer_closed(wire_.now_ns);
        } else {
            hand_over(*end.stream, segment.octets);
            end.paused = end.stream->receive_paused();
            if (end.stream->closing() == Stream::Closing::reset) break;
        }
    }
    return moved;
}

bool Host::tick(End& end) {
    if (!end.stream || end.deadline_ns > wire_.now_ns || end.ticked_ns == wire_.now_ns) return false;
    end.ticked_ns = wire_.now_ns;
    end.attention = true;
    end.stream->tick(wire_.now_ns);
    return true;
}

/// Sends bytes, FIN or RST, as the stream requests.
bool Host::send(End& end) {
    if (!end.stream) return false;
    const std::shared_ptr<Stream> stream = end.stream;
    End& other = end.connection->other(end);
    if (end.blocked && other.under_way < wire_.impairment.window) end.attention = true;
    if (!std::exchange(end.attention, false)) return false;
    end.blocked = false;
    bool moved = false;
    while (stream->closing() != Stream::Closing::reset && !end.fin_sent) {
        std::vector<std::byte> octets;
        const std::size_t space = wire_.impairment.window - std::min(other.under_way, wire_.impairment.window);
        bool more = false;
        for (const base::Bytes piece : stream->output(wire_.now_ns).pieces) {
            const std::size_t size = std::min(piece.size(), space - octets.size());
            octets.insert(octets.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(size));
            more = more || size < piece.size();
        }
        end.blocked = more;
        if (octets.empty()) break;
        const std::size_t size = octets.size();
        wire_.put_octets(end, std::move(octets));
        stream->sent(size, wire_.now_ns);
        moved = true;
    }
    const Stream::Closing closing = stream->closing();
    if (closing == Stream::Closing::reset) {
        wire_.let_go(end, true);
        return true;
    }
    if (end.blocked || closing == Stream::Closing::no) return moved;
    moved = moved || !end.fin_sent || closing == Stream::Closing::full;
    wire_.put_fin(end);
    if (closing == Stream::Closing::full) wire_.let_go(end, false);
    return moved;
}

bool Host::serve(End& end) {
    const bool delivered = deliver(end);
    const bool ticked = tick(end);
    const bool asked = end.attention;
    const bool sent = send(end);
    if (!end.stream || !(asked || sent)) return delivered || ticked || sent;
    end.deadline_ns = end.stream->deadline_ns().value_or(never);
    const bool waited = std::exchange(end.paused, end.stream->receive_paused());
    return delivered || ticked || sent || (waited && !end.paused && !end.arriving.empty());
}

bool Host::work() {
    bool moved = false;
    // NOLINTNEXTLINE(modernize-loop-convert): grows within
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        Pending pending = std::move(pending_[i]);  // a stream may call connect() from here
        if (answer(pending)) moved = true;
        pending_[i] = std::move(pending);
    }
    std::erase_if(pending_, [](const Pending& pending) { return !pending.stream; });
    // NOLINTNEXTLINE(modernize-loop-convert): grows within
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        const auto connection = ends_[i].first;
        if (serve(*ends_[i].second)) moved = true;
    }
    std::erase_if(ends_, [](const auto& one) { return one.second->gone; });
    return moved;
}

/// The time of the next event that no call causes.
std::int64_t Host::next_ns() const {
    std::int64_t next = never;
    for (const Pending& pending : pending_) next = std::min({next, pending.answer_ns, pending.give_up_ns});
    for (const auto& [connection, end] : ends_) {
        const auto first = end->paused ? first_reset(*end) : end->arriving.begin();
        if (first != end->arriving.end()) next = std::min(next, first->due_ns);
        if (end->deadline_ns > end->ticked_ns) next = std::min(next, end->deadline_ns);
    }
    return next;
}

bool Host::progress(std::int64_t wait_ns) {
    wire_.serve_raw();
    if (work()) return true;
    if (wait_ns <= 0) return false;
    const std::int64_t until_ns = std::min(base::add_ns(wire_.now_ns, wait_ns), next_ns());
    wire_.now_ns = std::max(wire_.now_ns, until_ns);
    wire_.serve_raw();
    return work();
}

}  // namespace iwarp::transport::memory
