#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "metrics/figures/address.h"
#include "metrics/figures/post_figures.h"
#include "metrics/measure/posts/level.h"
#include "metrics/measure/posts/message_join.h"
#include "metrics/measure/posts/outstanding_posts.h"
#include "wire/trace/record.h"

namespace metrics::inline measure::posts {

struct QueuePairTableOptions {
    std::size_t max_queue_pairs = 65'536;  ///< remembered at once; of those over the limit, the idlest go
    std::size_t max_requests = 65'536;     ///< outstanding of one queue pair; devices grant some ten thousand
    std::size_t max_processes = 65'536;    ///< known by name; processes without a living queue pair are dropped first
    std::size_t max_waiting = 2'000'000;   ///< work requests, of all queue pairs, that wait for a flow to be theirs
};

/// One end of a connection, according to the connection manager of its host; all zero without it.
struct ConnectionEnd {
    Address address;
    std::uint16_t port = 0;
};

/// One life of a queue pair: from its creation, or the first record of it, to its end.
struct QueuePair {
    QueuePair(std::uint32_t process_id, std::uint8_t device_index, std::uint32_t qpn)
        : process(process_id), device(device_index), number(qpn) {}

    std::uint32_t process;
    std::uint8_t device;
    std::uint32_t number;
    std::uint8_t type = 0;  ///< ibv_qp_type: 2 RC, 3 UC, 4 UD; 0: not known
    std::uint32_t peer_number = 0;
    Address peer_gid;
    ConnectionEnd local;
    ConnectionEnd peer;
    std::int64_t begin_ns = 0;
    std::int64_t last_ns = 0;
    std::int64_t first_post_ns = unknown_time;
    bool ended = false;
    bool whole = false;  ///< its creation was recorded, so its first post is the first of all

    OutstandingPosts requests;
    Level send_level;
    Level receive_level;
    std::uint32_t shared_receive_queue = 0;
    Posts posts;
    std::int64_t last_post_ns = unknown_time;
    std::int64_t last_work_ns = 0;    ///< of a post or a completion of it
    bool trusted = false;             ///< the queue's content is known; else only ids can identify requests
    std::uint64_t trusted_lost = 0;   ///< lost records of the process, at the last check
    std::uint64_t last_id = 0;        ///< of a post
    std::uint32_t different_ids = 0;  ///< in a row
    std::uint64_t lost_before = 0;    ///< records of the process, when it began
    std::uint64_t lost_at_end = 0;
    VerbsFigures counts;  ///< what is merely counted
};

/// Reads records: what each queue pair did, and how full its queues are. Holds a bounded number of queue pairs at once;
/// its input may be anything.
class QueuePairTable {
public:
    explicit QueuePairTable(const QueuePairTableOptions& options = {});
    ~QueuePairTable();
    QueuePairTable(const QueuePairTable&) = delete;
    QueuePairTable& operator=(const QueuePairTable&) = delete;

    /// Sets the process of the records that follow.
    void know(const Process& process);
    /// Records in the order of their times, or nearly.
    void add(const wire::trace::Record& record);

    /// A number that changes when queue pairs appear or are removed, or when their peers become known.
    std::uint64_t identities() const { return identities_; }
    /// A queue pair's life; it stays in place while it is remembered.
    using Handle = std::uint64_t;
    static constexpr Handle none = 0;
    QueuePair* find(Handle handle);
    /// Lives of queue pairs with this value: newest last, at most 64.
    std::vector<Handle> by_number(std::uint32_t number) const { return looked_up(Key::number, number); }
    std::vector<Handle> by_peer_number(std::uint32_t number) const { return looked_up(Key::peer_number, number); }
    std::vector<Handle> by_peer_port(std::uint16_t port) const { return looked_up(Key::peer_port, port); }
    std::vector<Handle> by_ports(std::uint16_t local, std::uint16_t peer) const {
        return looked_up(Key::ports, static_cast<std::uint32_t>(local) << 16 | peer);
    }

    /// What is known of a queue pair, without what only packets show.
    VerbsFigures figures(const QueuePair& queue_pair) const;
    /// Records of the queue pair's process that were lost so far.
    std::uint64_t lost(const QueuePair& queue_pair) const;
    void for_each(auto&& visit) const {
        for (const auto& [handle, life] : lives_) visit(handle, *life);
    }

    std::uint64_t records() const { return records_; }
    std::uint64_t records_lost() const { return records_lost_; }
    std::uint64_t evicted() const { return evicted_; }        ///< queue pairs that were forgotten
    std::uint64_t unexpected() const { return unexpected_; }  ///< completions of requests whose post was not recorded
    std::uint64_t odd() const { return odd_; }                ///< records without a known meaning
    std::size_t queue_pairs() const { return lives_.size(); }

private:
    enum class Key : std::uint8_t { number = 1, peer_number, peer_port, ports };
    struct ProcessState {
        Process process;
        std::uint64_t lost = 0;
        std::uint64_t serial = 0;  ///< in the order in which they became known
    };

    /// Connection requests that were reported to the process, and for which no queue pair was made.
    struct Asked {
        std::size_t count = 0;
        std::int64_t time_ns = 0;  ///< of the last
        ConnectionEnd local;
        ConnectionEnd peer;
    };

    QueuePair& at(const wire::trace::Record& record);
    Handle begin(const wire::trace::Record& record);
    void give_up(QueuePair& queue_pair, std::size_t count, std::int64_t now_ns);
    void end(QueuePair& queue_pair, std::int64_t now_ns);
    void evict();
    void bound_waiting();
    bool admits(std::uint32_t process);
    void forget_processes();
    void index(Handle handle, Key key, std::uint32_t value);
    std::vector<Handle> looked_up(Key key, std::uint32_t value) const;

    void post_send(const wire::trace::Record& record);
    void post_receive(const wire::trace::Record& record);
    void completion(const wire::trace::Record& record);
    void complete_send(QueuePair& queue_pair, const wire::trace::Record& record);
    void change(const wire::trace::Record& record);
    void connect(Handle handle, const ConnectionEnd& local, const ConnectionEnd& peer);
    void connection(const wire::trace::Record& record);
    Level& receive_level(QueuePair& queue_pair);
    void look_for_losses(QueuePair& queue_pair, std::int64_t now_ns);

    QueuePairTableOptions options_;
    std::unordered_map<Handle, std::unique_ptr<QueuePair>> lives_;
    std::unordered_map<std::uint64_t, Handle> living_;  ///< by process, device and number
    std::unordered_map<std::uint64_t, std::vector<Handle>> index_;
    std::unordered_map<std::uint64_t, Level> shared_;  ///< receive queues by process, device and number
    std::unordered_map<std::uint32_t, ProcessState> processes_;
    std::unordered_map<std::uint32_t, Asked> asked_;  ///< by process
    Handle next_ = 1;
    std::uint64_t identities_ = 0;
    std::uint64_t records_ = 0;
    std::uint64_t records_lost_ = 0;
    std::uint64_t evicted_ = 0;
    std::uint64_t unexpected_ = 0;
    std::uint64_t odd_ = 0;
    std::uint64_t processes_known_ = 0;  ///< ever
    std::uint32_t in_vain_ = 0;          ///< forget_processes() skips this number of calls
    std::size_t added_ = 0;              ///< to posts, since they were last counted
};

}  // namespace metrics::measure::posts
