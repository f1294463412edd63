#include "iwarp/transport/memory_network.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <map>
#include <utility>

namespace iwarp::transport {
namespace {

using verbs::Stream;

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

std::int64_t later(std::int64_t time_ns, std::int64_t by_ns) {
    return by_ns > never - time_ns ? never : time_ns + by_ns;
}

struct Segment {
    std::int64_t due_ns = 0;
    std::vector<std::byte> octets;
    std::size_t taken = 0;
    bool open = false;  ///< the last of TCP's set-up: the acceptor hears of the connection
    bool fin = false;
    bool reset = false;
};

class Host;
struct Connection;

/// One end of a connection: of a stream, of a raw peer, or of nobody any more.
struct End {
    Connection* connection = nullptr;
    unsigned side = 0;
    std::string host;
    std::uint16_t port = 0;
    Host* device = nullptr;      ///< null: a raw peer's
    std::uint64_t listener = 0;  ///< which has not yet heard of it
    std::shared_ptr<Stream> stream;
    std::deque<Segment> arriving;
    std::size_t under_way = 0;  ///< octets in `arriving` and `inbox`
    std::int64_t last_due_ns = 0;
    std::int64_t ticked_ns = -1;
    // What the stream said when it was last asked: after something happened, or on attention.
    std::int64_t deadline_ns = never;
    bool paused = false;
    std::vector<std::byte> inbox;  ///< a raw peer's
    bool attention = false;
    bool blocked = false;  ///< has more to send than the window takes
    bool fin_sent = false;
    bool fin_received = false;
    bool reset_received = false;
    bool reset_sent = false;
    bool gone = false;

    std::string name() const { return host + ":" + std::to_string(port); }
};

template <class AnEnd>
auto first_reset(AnEnd& end) {
    return std::ranges::find_if(end.arriving, [](const Segment& segment) { return segment.reset; });
}

struct Connection {
    std::array<End, 2> ends;
    End& other(const End& end) { return ends[1 - end.side]; }
    bool over() const { return ends[0].gone && ends[1].gone; }
};

struct Pending {
    std::shared_ptr<Stream> stream;
    std::string host;
    std::uint16_t port = 0;
    std::int64_t answer_ns = 0;
    std::int64_t give_up_ns = 0;
};

struct Listener {
    std::uint64_t handle = 0;
    Host* device = nullptr;  ///< null: of raw peers
    Acceptor* acceptor = nullptr;
    std::deque<std::shared_ptr<Connection>> waiting;  ///< for accept_raw
};

using Address = std::pair<std::string, std::uint16_t>;

/// What lies between the hosts.
struct Wire {
    explicit Wire(const Impairment& wanted) : impairment(wanted), random(wanted.seed) {}

    Impairment impairment;
    std::mt19937_64 random;
    std::int64_t now_ns = 0;
    std::uint64_t last_handle = 0;
    std::uint16_t last_port = 49151;
    std::vector<Host*> hosts;
    std::map<Address, Listener> listeners;
    std::vector<std::weak_ptr<Connection>> raw;  ///< with an end that no host looks after
    std::function<void(const MemoryNetwork::Passed&)> tap;

    std::size_t draw(std::size_t below) { return static_cast<std::size_t>(random() % below); }
    bool chance(double of) { return of > 0 && static_cast<double>(random() >> 11) * 0x1p-53 < of; }
    std::uint16_t next_port() {
        last_port = last_port == 65535 ? std::uint16_t{49152} : static_cast<std::uint16_t>(last_port + 1);
        return last_port;
    }
    Listener* listener(std::uint64_t handle);
    bool known(const std::string& host) const;
    std::shared_ptr<Connection> connect(const std::string& from, Host* device, const Address& to);

    void put(End& from, Segment segment);
    void put_octets(End& from, std::vector<std::byte> octets);
    void put_fin(End& from);
    void put_reset(End& from);
    void let_go(End& end, bool reset);
    void take_in(End& raw_end);
    bool serve_raw();
    std::int64_t next_raw_ns() const;
};

/// The transport of one device.
class Host final : public Transport {
public:
    Host(std::shared_ptr<MemoryNetwork> network, Wire& wire, std::string name)
        : network_(std::move(network)), wire_(wire), name_(std::move(name)) {
        wire_.hosts.push_back(this);
    }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;
    ~Host() override;

    std::int64_t now_ns() const override { return wire_.now_ns; }
    void connect(std::shared_ptr<Stream> stream, const std::string& host, std::uint16_t port,
                 const ConnectionOptions& options) override;
    Listening listen(const std::string& host, std::uint16_t port, int backlog, const ConnectionOptions& options,
                     Acceptor& acceptor) override;
    void stop_listening(std::uint64_t handle) override;
    void attention(Stream& stream) override;
    bool progress(std::int64_t wait_ns) override;
    int descriptor() const override { return -1; }

    const std::string& name() const { return name_; }
    void look_after(const std::shared_ptr<Connection>& connection, End& end) { ends_.emplace_back(connection, &end); }
    std::int64_t next_ns() const;
    bool work();

private:
    bool answer(Pending& pending);
    bool accept(End& end);
    bool deliver(End& end);
    void hand_over(Stream& stream, wire::Bytes octets);
    bool tick(End& end);
    bool send(End& end);
    bool serve(End& end);

    std::shared_ptr<MemoryNetwork> network_;
    Wire& wire_;
    std::string name_;
    std::vector<Pending> pending_;
    std::vector<std::pair<std::shared_ptr<Connection>, End*>> ends_;
};

Listener* Wire::listener(std::uint64_t handle) {
    for (auto& [address, listener] : listeners)
        if (listener.handle == handle) return &listener;
    return nullptr;
}

bool Wire::known(const std::string& host) const {
    return std::ranges::any_of(hosts, [&](const Host* one) { return one->name() == host; }) ||
           std::ranges::any_of(listeners, [&](const auto& one) { return one.first.first == host; });
}

/// Null where nobody listens. The first end is the caller's.
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
    if (to.gone) {  // nobody is there: what TCP answers
        if (!segment.octets.empty()) put_reset(to);
        return;
    }
    std::int64_t delay_ns = impairment.delay_ns;
    if (impairment.jitter_ns > 0)
        delay_ns += static_cast<std::int64_t>(draw(static_cast<std::size_t>(impairment.jitter_ns) + 1));
    segment.due_ns = std::max(later(now_ns, delay_ns), to.last_due_ns);
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

/// The end is nobody's from here on. What has arrived and was not read makes a reset of it, as in TCP.
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

Host::~Host() {
    std::erase_if(wire_.listeners, [&](const auto& one) { return one.second.device == this; });
    for (Pending& pending : pending_) pending.stream->transport_data = nullptr;
    for (auto& [connection, end] : ends_) wire_.let_go(*end, true);
    std::erase(wire_.hosts, this);
}

void Host::connect(std::shared_ptr<Stream> stream, const std::string& host, std::uint16_t port,
                   const ConnectionOptions& options) {
    const std::int64_t now = wire_.now_ns;
    const std::int64_t round_trip_ns = later(wire_.impairment.delay_ns, wire_.impairment.delay_ns);
    const std::int64_t patience_ns = std::chrono::nanoseconds(options.connect_timeout).count();
    pending_.push_back({std::move(stream), host, port, later(now, round_trip_ns), later(now, patience_ns)});
}

Listening Host::listen(const std::string&, std::uint16_t port, int, const ConnectionOptions&, Acceptor& acceptor) {
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
        stream->connect_failed("Connection timed out: " + name, now);
        return true;
    }
    const auto connection = wire_.connect(name_, this, {pending.host, pending.port});
    if (!connection) {
        stream->connect_failed((wire_.known(pending.host) ? "Connection refused by " : "No such host: ") + name, now);
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

void Host::hand_over(Stream& stream, wire::Bytes octets) {
    while (!octets.empty()) {
        std::size_t placed = 0;
        if (wire_.impairment.direct > 0) {
            for (const wire::MutableBytes piece : stream.room(wire_.impairment.direct)) {
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

/// Octets, FIN, RST: what the stream wants.
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
        for (const wire::Bytes piece : stream->output(wire_.now_ns).pieces) {
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
    for (std::size_t i = 0; i < pending_.size(); ++i) {
        Pending pending = std::move(pending_[i]);  // a stream may call connect() from here
        if (answer(pending)) moved = true;
        pending_[i] = std::move(pending);
    }
    std::erase_if(pending_, [](const Pending& pending) { return !pending.stream; });
    for (std::size_t i = 0; i < ends_.size(); ++i) {
        const auto connection = ends_[i].first;
        if (serve(*ends_[i].second)) moved = true;
    }
    std::erase_if(ends_, [](const auto& one) { return one.second->gone; });
    return moved;
}

/// When something happens here without anybody's doing.
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
    const std::int64_t until_ns = std::min(later(wire_.now_ns, wait_ns), next_ns());
    wire_.now_ns = std::max(wire_.now_ns, until_ns);
    wire_.serve_raw();
    return work();
}

class Raw final : public MemoryNetwork::RawPeer {
public:
    /// Without a connection: refused.
    Raw(std::shared_ptr<MemoryNetwork> network, Wire& wire, std::shared_ptr<Connection> connection, unsigned side)
        : network_(std::move(network)), wire_(wire), connection_(std::move(connection)), side_(side) {}
    Raw(const Raw&) = delete;
    Raw& operator=(const Raw&) = delete;
    ~Raw() override {
        if (connection_) wire_.let_go(end(), !(end().fin_sent && end().fin_received));
    }

    void send(wire::Bytes octets) override {
        if (connection_ && !end().gone && !end().fin_sent) wire_.put_octets(end(), {octets.begin(), octets.end()});
    }
    void close() override {
        if (connection_ && !end().gone) wire_.put_fin(end());
    }
    void reset() override {
        if (!connection_) return;
        wire_.take_in(end());
        kept_ = std::move(end().inbox);
        wire_.let_go(end(), true);
    }
    std::vector<std::byte> take() override {
        if (!connection_) return {};
        wire_.take_in(end());
        std::vector<std::byte> octets = std::exchange(kept_, {});
        octets.insert(octets.end(), end().inbox.begin(), end().inbox.end());
        end().under_way -= end().inbox.size();
        end().inbox.clear();
        return octets;
    }
    bool connected() const override {
        return connection_ && !end().gone && !peer_reset() && !(end().fin_sent && end().fin_received);
    }
    bool peer_closed() const override {
        if (!connection_) return false;
        wire_.take_in(end());
        return end().fin_received;
    }
    bool peer_reset() const override {
        if (!connection_) return true;
        wire_.take_in(end());
        return end().reset_received;
    }

private:
    End& end() const { return connection_->ends[side_]; }

    std::shared_ptr<MemoryNetwork> network_;
    Wire& wire_;
    std::shared_ptr<Connection> connection_;
    unsigned side_;
    std::vector<std::byte> kept_;
};

}  // namespace

struct MemoryNetwork::Impl : Wire {
    using Wire::Wire;
};

MemoryNetwork::MemoryNetwork(const Impairment& impairment) : impl_(std::make_unique<Impl>(impairment)) {}
MemoryNetwork::~MemoryNetwork() = default;

std::shared_ptr<MemoryNetwork> MemoryNetwork::make(const Impairment& impairment) {
    return std::shared_ptr<MemoryNetwork>(new MemoryNetwork(impairment));
}

std::unique_ptr<Transport> MemoryNetwork::attach(const std::string& host) {
    return std::make_unique<Host>(shared_from_this(), *impl_, host);
}

std::unique_ptr<MemoryNetwork::RawPeer> MemoryNetwork::connect_raw(const std::string& host, std::uint16_t port) {
    return std::make_unique<Raw>(shared_from_this(), *impl_, impl_->connect("raw", nullptr, {host, port}), 0U);
}

void MemoryNetwork::listen_raw(const std::string& host, std::uint16_t port) {
    const auto [found, added] = impl_->listeners.try_emplace({host, port});
    if (!added) throw Error("cannot listen on " + host + ":" + std::to_string(port) + ": Address already in use");
    found->second.handle = ++impl_->last_handle;
}

std::unique_ptr<MemoryNetwork::RawPeer> MemoryNetwork::accept_raw(const std::string& host, std::uint16_t port) {
    const auto found = impl_->listeners.find({host, port});
    if (found == impl_->listeners.end() || found->second.waiting.empty()) return nullptr;
    auto connection = std::move(found->second.waiting.front());
    found->second.waiting.pop_front();
    return std::make_unique<Raw>(shared_from_this(), *impl_, std::move(connection), 1U);
}

std::int64_t MemoryNetwork::now_ns() const { return impl_->now_ns; }

void MemoryNetwork::advance(std::int64_t ns) { impl_->now_ns = later(impl_->now_ns, std::max<std::int64_t>(ns, 0)); }

bool MemoryNetwork::run(std::int64_t limit_ns) {
    const std::int64_t end_ns = later(impl_->now_ns, limit_ns);
    bool anything = false;
    for (;;) {
        bool moved = impl_->serve_raw();
        for (std::size_t i = 0; i < impl_->hosts.size(); ++i)
            if (impl_->hosts[i]->work()) moved = true;
        anything = anything || moved;
        if (moved) continue;
        std::int64_t next = impl_->next_raw_ns();
        for (const Host* host : impl_->hosts) next = std::min(next, host->next_ns());
        if (next <= impl_->now_ns || next > end_ns) return anything;
        impl_->now_ns = next;
    }
}

void MemoryNetwork::tap(std::function<void(const Passed&)> tap) { impl_->tap = std::move(tap); }

}  // namespace iwarp::transport
