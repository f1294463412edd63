#include "iwarp/transport/memory_wire.h"

#include "base/clock.h"
#include "iwarp/transport/memory_host.h"

namespace iwarp::transport::memory {

Listener* Wire::listener(std::uint64_t handle) {
    for (auto& [address, listener] : listeners)
        if (listener.handle == handle) return &listener;
    return nullptr;
}

bool Wire::known(const std::string& host) const {
    return std::ranges::any_of(hosts, [&](const Host* one) { return one->name() == host; }) ||
           std::ranges::any_of(listeners, [&](const auto& one) { return one.first.first == host; });
}

/// Null if no process listens. The first end is the caller's.
std::shared_ptr<Connection> Wire::connect(const std::string& from, Host* device, const Address& to) {
    const auto found = listeners.find(to);
    if (found == listeners.end()) return nullptr;
    Listener& listener = found->second;
    auto connection = std::make_shared<Connection>();
    for (unsigned side : {0U, 1U}) {
        End& end = connection->ends[side];
        end.connection = connection.get();
        end.side = side;
        end.device = side == 0 ? device : listener.device;
        end.host = side == 0 ? from : to.first;
        end.port = side == 0 ? next_port() : to.second;
        if (end.device != nullptr) end.device->look_after(connection, end);
    }
    End& far = connection->ends[1];
    if (device == nullptr || far.device == nullptr) raw.emplace_back(connection);
    if (far.device == nullptr) {
        listener.waiting.push_back(connection);
    } else {
        far.listener = listener.handle;
        Segment open;
        open.open = true;
        put(connection->ends[0], std::move(open));
    }
    return connection;
}

void Wire::put(End& from, Segment segment) {
    End& to = from.connection->other(from);
    if (tap && !segment.open) {
        tap({now_ns, from.host, to.host, from.port, to.port, segment.fin, segment.reset, segment.octets});
    }
    if (to.gone) {  // there is no receiver: what TCP answers
        if (!segment.octets.empty()) put_reset(to);
        return;
    }
    std::int64_t delay_ns = impairment.delay_ns;
    if (impairment.jitter_ns > 0)
        delay_ns += static_cast<std::int64_t>(draw(static_cast<std::size_t>(impairment.jitter_ns) + 1));
    segment.due_ns = std::max(base::add_ns(now_ns, delay_ns), to.last_due_ns);
    to.last_due_ns = segment.due_ns;
    to.under_way += segment.octets.size();
    to.arriving.push_back(std::move(segment));
}

void Wire::put_octets(End& from, std::vector<std::byte> octets) {
    for (std::size_t at = 0; at < octets.size();) {
        std::size_t size = octets.size() - at;
        if (impairment.chunk > 0)
            size = std::min(size, impairment.random_chunks ? 1 + draw(impairment.chunk) : impairment.chunk);
        Segment piece;
        const auto begin = octets.begin() + static_cast<std::ptrdiff_t>(at);
        piece.octets.assign(begin, begin + static_cast<std::ptrdiff_t>(size));
        if (chance(impairment.corrupt)) piece.octets[draw(size)] ^= std::byte{1} << draw(8);
        put(from, std::move(piece));
        at += size;
    }
}

void Wire::put_reset(End& from) {
    if (from.reset_received || std::exchange(from.reset_sent, true) || from.connection->other(from).gone) return;
    Segment reset;
    reset.reset = true;
    put(from, std::move(reset));
}

void Wire::put_fin(End& from) {
    if (from.reset_received || std::exchange(from.fin_sent, true)) return;
    Segment fin;
    fin.fin = true;
    put(from, std::move(fin));
}

/// The end has no owner from here on. What has arrived and was not read makes a reset of it, as in TCP.
void Wire::let_go(End& end, bool reset) {
    if (std::exchange(end.gone, true)) return;
    if (end.stream) end.stream->transport_data = nullptr;
    end.stream.reset();
    const bool unread =
        std::ranges::any_of(end.arriving, [](const Segment& segment) { return !segment.octets.empty(); });
    end.arriving.clear();
    end.inbox.clear();
    end.under_way = 0;
    if (!reset) put_fin(end);
    if (reset || unread) put_reset(end);
}

/// What is due, into a raw peer's hands.
void Wire::take_in(End& end) {
    for (; !end.gone && !end.arriving.empty() && end.arriving.front().due_ns <= now_ns; end.arriving.pop_front()) {
        const Segment& segment = end.arriving.front();
        end.inbox.insert(end.inbox.end(), segment.octets.begin(), segment.octets.end());
        end.fin_received = end.fin_received || segment.fin;
        end.reset_received = end.reset_received || segment.reset;
    }
}

bool Wire::serve_raw() {
    std::erase_if(raw, [](const auto& weak) { return weak.expired(); });
    bool moved = false;
    for (const auto& weak : raw) {
        const auto connection = weak.lock();
        for (End& end : connection->ends) {
            if (end.device != nullptr || end.gone) continue;
            const std::size_t before = end.arriving.size();
            take_in(end);
            moved = moved || end.arriving.size() != before;
        }
    }
    return moved;
}

std::int64_t Wire::next_raw_ns() const {
    std::int64_t next = never;
    for (const auto& weak : raw)
        if (const auto connection = weak.lock())
            for (const End& end : connection->ends)
                if (end.device == nullptr && !end.gone && !end.arriving.empty())
                    next = std::min(next, end.arriving.front().due_ns);
    return next;
}

}  // namespace iwarp::transport::memory
