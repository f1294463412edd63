#include "metrics/measure/posts/queue_pair_table.h"

#include <algorithm>
#include <unordered_set>

#include "base/clock.h"

namespace metrics::inline measure::posts {

namespace {

using wire::trace::Flag;
using wire::trace::Record;
using wire::trace::RecordKind;

// ibv_qp_state, and what a record says of one that is gone.
constexpr std::uint8_t state_reset = 0;
constexpr std::uint8_t state_init = 1;
constexpr std::uint8_t state_destroyed = 255;
// rdma_cm_event_type
constexpr std::uint8_t connect_request = 4;
constexpr std::size_t most_of_one_key = 64;
/// After this number of consecutive work requests with different ids, ids identify requests. Some programs give all the
/// same id.
constexpr std::uint32_t enough_ids = 16;
/// A queue that was empty for this time is really empty: requests complete, or are repeated, within it.
constexpr std::uint64_t quiet_ns = 1'000'000'000;
constexpr std::uint32_t number_mask = 0xffffff;

std::uint64_t key_of(const Record& record) {
    return static_cast<std::uint64_t>(record.process) << 32 | static_cast<std::uint64_t>(record.device) << 24 |
           (record.number & number_mask);
}

/// A GID: IPv4 mapped into IPv6, or IPv6. RoCEv2 packets bear the address that it maps.
Address address_of(const std::array<std::uint8_t, 16>& gid) {
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    Address out;
    if (std::all_of(gid.begin(), gid.end(), [](std::uint8_t octet) { return octet == 0; })) return out;
    if (std::equal(mapped.begin(), mapped.end(), gid.begin())) {
        out.family = wire::AddressFamily::ipv4;
        std::copy(gid.begin() + 12, gid.end(), out.octets.begin());
    } else {
        out.family = wire::AddressFamily::ipv6;
        out.octets = gid;
    }
    return out;
}

Address address_of(const std::array<std::uint8_t, 16>& octets, std::uint8_t family) {
    Address out;
    if (family == 4) {
        out.family = wire::AddressFamily::ipv4;
        std::copy_n(octets.begin(), 4, out.octets.begin());
    } else if (family == 6) {
        out = address_of(octets);  // sockets of both families have IPv4 mapped, too
    }
    return out;
}

}  // namespace

QueuePairTable::QueuePairTable(const QueuePairTableOptions& options) : options_(options) {}
QueuePairTable::~QueuePairTable() = default;

void QueuePairTable::know(const Process& process) {
    if (!admits(process.pid)) return;
    ProcessState& known = processes_[process.pid];
    known.process = process;
    known.serial = ++processes_known_;
}

/// Whether there is room to know one more.
bool QueuePairTable::admits(std::uint32_t process) {
    if (processes_.size() >= options_.max_processes && !processes_.contains(process)) forget_processes();
    return processes_.size() < options_.max_processes || processes_.contains(process);
}

/// What belongs to processes of whom no queue pair lives; but the newest may be about to make some. Where that is
/// nothing, it is not looked for again soon.
void QueuePairTable::forget_processes() {
    constexpr std::uint32_t patience = 64;
    if (in_vain_ > 0) {
        --in_vain_;
        return;
    }
    std::unordered_set<std::uint32_t> alive;
    for (const auto& [handle, life] : lives_)
        if (!life->ended) alive.insert(life->process);
    const std::uint64_t newest = options_.max_processes / 2;
    std::size_t gone = std::erase_if(processes_, [&](const auto& one) {
        return !alive.contains(one.first) && one.second.serial + newest <= processes_known_;
    });
    gone += std::erase_if(
        shared_, [&](const auto& one) { return !alive.contains(static_cast<std::uint32_t>(one.first >> 32)); });
    if (gone == 0) in_vain_ = patience;
}

void QueuePairTable::add(const Record& record) {
    ++records_;
    switch (record.kind) {
        case RecordKind::post_send: return post_send(record);
        case RecordKind::post_receive: return post_receive(record);
        case RecordKind::completion: return completion(record);
        case RecordKind::queue_pair: return change(record);
        case RecordKind::connection: return connection(record);
        case RecordKind::lost:
            records_lost_ += record.count;
            if (admits(record.process)) processes_[record.process].lost += record.count;
            return;
        case RecordKind::poll_empty:
        case RecordKind::wire_send:
        case RecordKind::wire_receive:
        case RecordKind::mad:
        case RecordKind::mad_bytes: return;
        case RecordKind::none: break;
    }
    ++odd_;
}

// ---- lives ----

QueuePair* QueuePairTable::find(Handle handle) {
    const auto found = lives_.find(handle);
    return found == lives_.end() ? nullptr : found->second.get();
}

QueuePair& QueuePairTable::at(const Record& record) {
    const auto known = living_.find(key_of(record));
    QueuePair& life = *lives_.at(known != living_.end() ? known->second : begin(record));
    life.last_ns = std::max(life.last_ns, record.time_ns);
    life.send_level.pass(record.time_ns);
    life.receive_level.pass(record.time_ns);
    return life;
}

QueuePairTable::Handle QueuePairTable::begin(const Record& record) {
    if (lives_.size() >= std::max<std::size_t>(options_.max_queue_pairs, 1)) evict();
    const Handle handle = next_++;
    auto life = std::make_unique<QueuePair>(record.process, record.device, record.number & number_mask);
    life->begin_ns = life->last_ns = life->last_work_ns = record.time_ns;
    life->counts.midway = true;
    const auto process = processes_.find(record.process);
    life->lost_before = process == processes_.end() ? 0 : process->second.lost;
    living_[key_of(record)] = handle;
    index(handle, Key::number, life->number);
    lives_.emplace(handle, std::move(life));
    return handle;
}

/// The first requests of the queue will not be reported any more.
void QueuePairTable::give_up(QueuePair& life, std::size_t count, std::int64_t now_ns) {
    for (std::size_t place = 0; place < count; ++place) {
        const Request& request = life.requests.at(place);
        if (request.operation) life.posts.retire(request.ordinal, {now_ns, false, true, true});
    }
    life.requests.pop(count);
}

void QueuePairTable::end(QueuePair& life, std::int64_t now_ns) {
    life.send_level.pass(now_ns);
    life.receive_level.pass(now_ns);
    if (life.send_level.begun()) life.send_level.set(now_ns, 0);
    if (life.receive_level.begun()) life.receive_level.set(now_ns, 0);
    give_up(life, life.requests.size(), now_ns);
    life.lost_at_end = lost(life);
    // The number of the process may be given to another one.
    if (const auto process = processes_.find(life.process); process != processes_.end())
        life.counts.process = process->second.process;
    life.ended = true;
    ++identities_;
}

/// A sixteenth at a time: those that are over first, then those that did nothing for longest.
void QueuePairTable::evict() {
    std::vector<Handle> order;
    order.reserve(lives_.size());
    for (const auto& [handle, life] : lives_) order.push_back(handle);
    const std::size_t count = std::max<std::size_t>(1, order.size() / 16);
    const auto goes_first = [this](Handle a, Handle b) {
        const QueuePair& one = *lives_.at(a);
        const QueuePair& other = *lives_.at(b);
        if (one.ended != other.ended) return one.ended;
        return one.last_ns != other.last_ns ? one.last_ns < other.last_ns : a < b;
    };
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count - 1), order.end(), goes_first);
    order.resize(count);
    for (const Handle handle : order) lives_.erase(handle);
    evicted_ += count;
    std::erase_if(living_, [this](const auto& entry) { return !lives_.contains(entry.second); });
    for (auto& [key, handles] : index_)
        std::erase_if(handles, [this](Handle handle) { return !lives_.contains(handle); });
    std::erase_if(index_, [](const auto& entry) { return entry.second.empty(); });
    ++identities_;
}

/// Posts that no flow takes are kept for one that may come; not without end.
void QueuePairTable::bound_waiting() {
    if (++added_ < options_.max_waiting / 4) return;
    added_ = 0;
    std::size_t waiting = 0;
    for (const auto& [handle, life] : lives_) waiting += life->posts.taken() ? 0 : life->posts.size();
    if (waiting < options_.max_waiting / 2) return;
    for (const auto& [handle, life] : lives_)
        if (!life->posts.taken()) life->posts.clear();
}

void QueuePairTable::index(Handle handle, Key key, std::uint32_t value) {
    auto& handles = index_[static_cast<std::uint64_t>(key) << 32 | value];
    if (std::find(handles.begin(), handles.end(), handle) != handles.end()) return;
    if (handles.size() == most_of_one_key) handles.erase(handles.begin());
    handles.push_back(handle);
    ++identities_;
}

std::vector<QueuePairTable::Handle> QueuePairTable::looked_up(Key key, std::uint32_t value) const {
    const auto found = index_.find(static_cast<std::uint64_t>(key) << 32 | value);
    return found == index_.end() ? std::vector<Handle>{} : found->second;
}

std::uint64_t QueuePairTable::lost(const QueuePair& life) const {
    if (life.ended) return life.lost_at_end;
    const auto process = processes_.find(life.process);
    return process == processes_.end() ? 0 : process->second.lost - life.lost_before;
}

// ---- work ----

/// If records are missing, the queue's content is known again once ids distinguish requests, or once it was empty for
/// so long that no completion can be on its way. Until then completions may be those of requests whose posts were not
/// recorded.
void QueuePairTable::look_for_losses(QueuePair& life, std::int64_t now_ns) {
    if (const std::uint64_t missing = lost(life); missing != life.trusted_lost) {
        life.trusted_lost = missing;
        life.trusted = false;
        // Work requests may be missing among these, and the next message would be given another's.
        life.posts.clear();
        // With ids, each completion finds its own. Without, requests that are gone would stay for ever.
        if (life.different_ids < enough_ids) give_up(life, life.requests.size(), now_ns);
        life.send_level.set(now_ns, life.requests.size());
    }
    if (!life.trusted && life.requests.size() == 0 && base::elapsed(life.last_work_ns, now_ns) >= quiet_ns)
        life.trusted = true;
}

void QueuePairTable::post_send(const Record& record) {
    QueuePair& life = at(record);
    if (record.work.status != 0) {
        ++life.counts.posts_refused;
        return;
    }
    ++life.counts.posts;
    if (life.last_post_ns != unknown_time)
        life.counts.post_interval_ns.record(base::elapsed(life.last_post_ns, record.time_ns));
    else
        life.first_post_ns = record.time_ns;
    life.last_post_ns = record.time_ns;
    look_for_losses(life, record.time_ns);
    life.last_work_ns = record.time_ns;
    life.different_ids = record.work.id == life.last_id ? 0 : std::min(life.different_ids + 1, enough_ids);
    life.last_id = record.work.id;
    bound_waiting();
    Request request;
    request.id = record.work.id;
    request.time_ns = record.time_ns;
    request.operation = operation_of(record.work.opcode);
    request.signalled = (record.work.flags & Flag::signalled) != 0;
    request.ordinal =
        request.operation ? life.posts.add(*request.operation, record.work.bytes, record.time_ns) : life.posts.end();
    // Providers take a few more than they grant. Where it is twice as many, completions were lost.
    std::size_t most = options_.max_requests;
    if (const auto capacity = life.send_level.capacity())
        most = std::min<std::size_t>(most, std::size_t{2} * *capacity);
    if (life.requests.size() >= most) {
        ++life.counts.completions_missed;
        give_up(life, life.requests.size() - most + 1, record.time_ns);
    }
    life.requests.post(request);
    life.send_level.begin(record.time_ns);
    life.send_level.set(record.time_ns, life.requests.size());
}

Level& QueuePairTable::receive_level(QueuePair& life) {
    if (life.shared_receive_queue == 0) return life.receive_level;
    return shared_[static_cast<std::uint64_t>(life.process) << 32 | static_cast<std::uint64_t>(life.device) << 24 |
                   (life.shared_receive_queue & number_mask)];
}

void QueuePairTable::post_receive(const Record& record) {
    const bool shared = (record.work.flags & Flag::shared) != 0;
    if (shared && shared_.size() >= options_.max_queue_pairs && !shared_.contains(key_of(record))) {
        forget_processes();
        if (shared_.size() >= options_.max_queue_pairs) return;
    }
    QueuePair* const own = shared ? nullptr : &at(record);
    if (record.work.status != 0) return;
    if (own != nullptr) ++own->counts.receives;
    Level& level = shared ? shared_[key_of(record)] : own->receive_level;
    level.begin(record.time_ns);
    level.set(record.time_ns, level.value() + 1);
}

void QueuePairTable::completion(const Record& record) {
    QueuePair& life = at(record);
    ++life.counts.status(record.work.status).count;
    if (record.work.status != 0) ++life.counts.completion_errors;
    if ((record.work.flags & Flag::receive) == 0) return complete_send(life, record);
    ++life.counts.receives_used;
    Level& level = receive_level(life);
    if (level.begun() && level.value() > 0)
        level.set(record.time_ns, level.value() - 1);
    else
        ++unexpected_;
}

void QueuePairTable::complete_send(QueuePair& life, const Record& record) {
    ++life.counts.completions;
    look_for_losses(life, record.time_ns);
    life.last_work_ns = record.time_ns;
    const bool failed = record.work.status != 0;
    const bool doubtful = !life.trusted && life.different_ids < enough_ids;
    const OutstandingPosts::Completed completed = life.requests.find(record.work.id, failed);
    if (completed.requests == 0) {
        ++unexpected_;
        return;
    }
    life.counts.completions_missed += completed.missed;
    for (std::size_t place = 0; place < completed.requests; ++place) {
        const Request& request = life.requests.at(place);
        if (!request.operation) continue;
        const bool own = place + 1 == completed.requests;
        life.posts.retire(request.ordinal, {record.time_ns, own, own && failed, doubtful});
        if (own && !failed && !doubtful)
            life.counts.waits(*request.operation).completion_ns.record(base::elapsed(request.time_ns, record.time_ns));
    }
    life.requests.pop(completed.requests);
    life.send_level.set(record.time_ns, life.requests.size());
}

// ---- identity ----

void QueuePairTable::change(const Record& record) {
    const wire::trace::QueuePairChange& change = record.change;
    const auto known = living_.find(key_of(record));
    const bool fresh = change.state == state_reset || change.state == state_init;
    if (change.state == state_destroyed) {
        if (known == living_.end()) return;
        QueuePair& life = at(record);
        end(life, record.time_ns);
        living_.erase(key_of(record));
        return;
    }
    // Its number is used again, or it is taken back to the beginning: another life. RESET -> INIT of one that has done
    // nothing yet is the same.
    if (known != living_.end() && fresh && lives_.at(known->second)->counts.posts > 0) {
        QueuePair& former = at(record);
        end(former, record.time_ns);
        living_.erase(key_of(record));
    }
    const bool is_new = !living_.contains(key_of(record));
    QueuePair& life = at(record);
    if (is_new && fresh) life.whole = life.trusted = true;
    if (const auto asked = asked_.find(record.process); is_new && asked != asked_.end()) {
        // If there are several, it is unknown which of them the queue pair was made for.
        if (asked->second.count == 1) connect(living_.at(key_of(record)), asked->second.local, asked->second.peer);
        if (--asked->second.count == 0) asked_.erase(asked);
    }
    life.counts.midway = !life.whole;
    const Handle handle = living_.at(key_of(record));
    if (change.type != 0) life.type = change.type;
    life.send_level.set_capacity(change.send_capacity);
    life.receive_level.set_capacity(change.receive_capacity);
    if (change.shared_receive_queue != 0) life.shared_receive_queue = change.shared_receive_queue;
    if (change.peer_number != 0) {
        life.peer_number = change.peer_number & number_mask;
        index(handle, Key::peer_number, life.peer_number);
    }
    if (const Address gid = address_of(change.peer_gid); gid.family != wire::AddressFamily::none) life.peer_gid = gid;
    ++identities_;
}

void QueuePairTable::connect(Handle handle, const ConnectionEnd& local, const ConnectionEnd& peer) {
    QueuePair& life = *lives_.at(handle);
    if (local.address.family != wire::AddressFamily::none) life.local = local;
    if (peer.address.family != wire::AddressFamily::none) life.peer = peer;
    if (life.peer.port != 0) index(handle, Key::peer_port, life.peer.port);
    if (life.peer.port != 0 && life.local.port != 0)
        index(handle, Key::ports, static_cast<std::uint32_t>(life.local.port) << 16 | life.peer.port);
    ++identities_;
}

void QueuePairTable::connection(const Record& record) {
    const wire::trace::ConnectionChange& change = record.connection;
    const ConnectionEnd local{address_of(change.local, change.family), change.local_port};
    const ConnectionEnd peer{address_of(change.peer, change.family), change.peer_port};
    if ((record.number & number_mask) != 0) {
        static_cast<void>(at(record));
        return connect(living_.at(key_of(record)), local, peer);
    }
    // A server makes the queue pair when it gets a request; some servers do not wait until it is connected.
    if (change.event != connect_request) return;
    // One that was refused, or forgotten, is not waited for.
    const auto is_past = [&](const Asked& asked) { return base::elapsed(asked.time_ns, record.time_ns) >= quiet_ns; };
    if (asked_.size() >= options_.max_processes && !asked_.contains(record.process)) {
        std::erase_if(asked_, [&](const auto& one) { return is_past(one.second); });
        if (asked_.size() >= options_.max_processes) return;
    }
    Asked& asked = asked_[record.process];
    if (is_past(asked)) asked.count = 0;
    ++asked.count;
    asked.time_ns = record.time_ns;
    asked.local = local;
    asked.peer = peer;
}

VerbsFigures QueuePairTable::figures(const QueuePair& life) const {
    VerbsFigures out = life.counts;
    const auto process = processes_.find(life.process);
    if (process != processes_.end() && !life.ended) out.process = process->second.process;
    out.process.pid = life.process;
    out.device = life.device;
    out.queue_pair = life.number;
    out.records_lost = lost(life);
    out.send_queue = life.send_level.figures();
    out.receive_queue_shared = life.shared_receive_queue != 0;
    out.receive_queue = life.receive_level.figures();
    if (out.receive_queue_shared) {
        const auto shared =
            shared_.find(static_cast<std::uint64_t>(life.process) << 32 |
                         static_cast<std::uint64_t>(life.device) << 24 | (life.shared_receive_queue & number_mask));
        out.receive_queue = shared == shared_.end() ? LevelFigures{} : shared->second.figures();
    }
    return out;
}

}  // namespace metrics::measure::posts
