#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// A complete iWARP stack in user space: RDMA over TCP (RFC 5040, 5041, 5044, 6581, 7306) with the objects of the
/// verbs. A program needs only this header.
///
/// A Device is the adapter. Everything made from it belongs to the thread that drives it: events happen and bytes are
/// sent only within Device::progress and the calls of that thread. Objects keep the objects that they need alive, so
/// that handles may be dropped in any order. Set-up mistakes (a port in use, a capacity of zero) throw Error; mistakes
/// of a peer or of a work request come as a Status, a Completion or an Event.
namespace iwarp {

/// A set-up call could not be performed. `what()` says what was wrong and what to do.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What a region of memory or a window permits. Bits; combine with |.
enum class Access : std::uint8_t {
    none = 0,
    local_write = 1,  ///< receives and the answers to reads may be placed there
    remote_read = 2,
    remote_write = 4,
    remote_atomic = 8,
    bind = 16,        ///< memory windows may be bound to the region
    zero_based = 32,  ///< tagged offsets begin at 0 instead of at the memory's address
};
constexpr Access operator|(Access a, Access b) {
    return static_cast<Access>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool permits(Access granted, Access wanted) {
    return (static_cast<unsigned>(granted) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

/// A piece of local memory. STag 0 stands for any memory of the process, if the device was opened with `privileged`
/// (RFC 5040 section 8.1.1: never for a peer).
struct Sge {
    std::byte* address = nullptr;
    std::uint32_t length = 0;
    std::uint32_t stag = 0;
};

enum class Operation : std::uint8_t {
    send,  ///< with `invalidate` the peer's STag is invalidated on delivery
    write,
    write_immediate,  ///< a Write followed by Immediate Data, RFC 7306 section 6
    immediate,        ///< eight bytes in a message of their own
    read,             ///< one Sge; with `invalidate` its STag is invalidated when the read is done
    fetch_add,        ///< one Sge of eight bytes receives the original value
    compare_swap,
    bind_window,       ///< local: window to region; a length of 0 unbinds one of type 1
    register_region,   ///< local: fast registration of a region allocated for it
    local_invalidate,  ///< local
};

class MemoryRegion;
class MemoryWindow;

/// One work request for a send queue. Verbs: ibv_send_wr.
struct SendRequest {
    std::uint64_t id = 0;  ///< comes back in the Completion
    Operation operation = Operation::send;
    std::span<const Sge> pieces;      ///< copied by the call; the memory they refer to must stay until completion
    bool signalled = true;            ///< unsignalled requests complete silently, unless they fail
    bool solicited = false;           ///< wakes a peer that waits for solicited events
    bool fence = false;               ///< does not begin before all earlier reads and atomics are done
    bool inline_data = false;         ///< the bytes are copied by the call; Sge::stag is not used
    std::uint32_t remote_stag = 0;    ///< write, read, atomics: the peer's
    std::uint64_t remote_offset = 0;  ///< tagged offset in the peer's buffer
    std::uint64_t immediate = 0;
    bool invalidate = false;
    std::uint32_t invalidate_stag = 0;  ///< send with invalidate: the peer's; local_invalidate: ours
    std::uint64_t operand = 0;          ///< fetch_add: the addend; compare_swap: the new value
    /// fetch_add: set bits are the tops of fields that do not carry into the next; compare_swap: the bits that are
    /// swapped. No value: all 64 bits as one. RFC 7306 section 5.
    std::optional<std::uint64_t> operand_mask = std::nullopt;
    std::uint64_t compare = 0;
    std::uint64_t compare_mask = ~std::uint64_t{0};
    MemoryWindow* window = nullptr;  ///< bind_window
    MemoryRegion* region = nullptr;  ///< bind_window: the region to bind to; register_region: the region itself
    std::byte* address = nullptr;    ///< of bind_window and register_region
    std::uint64_t length = 0;
    Access access = Access::none;
    std::optional<std::uint8_t> key = std::nullopt;  ///< bind_window: low byte of its STag; absent: the next one
};

/// One work request for a receive queue. Verbs: ibv_recv_wr.
struct ReceiveRequest {
    std::uint64_t id = 0;
    std::span<const Sge> pieces;
};

/// The result of a posting call. Nothing was posted unless `ok`.
enum class Posted : std::uint8_t {
    ok,
    queue_full,
    wrong_state,  ///< the queue pair is not connected, or in error
    too_many_pieces,
    too_long,  ///< inline data beyond the limit; a message of 4 GiB or more
    invalid,   ///< pieces, window or region do not fit the operation
};
const char* name_of(Posted);

/// Verbs: ibv_wc_status, in its order.
enum class Status : std::uint8_t {
    success,
    local_length,      ///< a receive was too short for the message
    local_protection,  ///< an Sge lies outside its region, or the region lacks the permission
    flushed,           ///< the queue pair ended before the request was performed
    window_bind,       ///< a bind, fast registration or invalidation was refused
    remote_access,     ///< the peer terminated the stream: STag, bounds, rights
    remote_invalid,    ///< the peer terminated the stream: it could not handle the request
    remote_operation,  ///< the peer terminated the stream for another reason
    connection_lost,
    fatal,
};
const char* name_of(Status);

enum class CompletedOperation : std::uint8_t {
    send,
    write,
    read,
    fetch_add,
    compare_swap,
    bind_window,
    register_region,
    local_invalidate,
    receive,
    receive_immediate
};
const char* name_of(CompletedOperation);

/// Verbs: ibv_wc.
struct Completion {
    std::uint64_t id = 0;
    Status status = Status::success;
    CompletedOperation operation = CompletedOperation::send;
    std::uint32_t queue_pair = 0;  ///< QueuePair::number
    std::uint32_t length = 0;      ///< bytes received or read
    bool solicited = false;
    std::optional<std::uint64_t> immediate = std::nullopt;
    std::optional<std::uint32_t> invalidated_stag = std::nullopt;
    std::int64_t time_ns = 0;  ///< time of completion, by CLOCK_MONOTONIC; 0 without CompletionQueue::stamp_completions
};

/// The content of a Terminate. RFC 5040 section 4.8.
struct Terminate {
    bool sent_by_us = false;
    std::uint8_t layer = 0;
    std::uint8_t type = 0;
    std::uint8_t code = 0;
    std::string text;                         ///< "DDP tagged buffer: base or bounds violation"
    std::optional<Operation> operation = {};  ///< of the request at fault, if that is known
    /// The request at fault in the words of the verbs: "your RDMA WRITE used rkey 0x100 that the peer does not have: 8
    /// bytes at 0x0, wr_id 1". Empty if no request is at fault.
    std::string reason = {};
};

struct DeviceOptions {
    bool privileged = false;          ///< STag 0 may be used in Sges
    std::size_t max_regions = 65536;  ///< regions and windows together, at most 2^24 - 1
    std::size_t max_queue_pairs = 16384;
    std::size_t max_connections = 16384;  ///< connections beyond this number are closed at once and counted
    /// Device::descriptor() also becomes readable when requests are posted between two calls of progress(). A caller
    /// that handles that itself (Device::work_waits) can switch this off, and saves two system calls for each post.
    bool descriptor_tells_posts = true;
};

/// How a connection is made. RFC 5044 section 7, RFC 6581.
struct ConnectionOptions {
    std::uint8_t revision = 2;    ///< MPA revision requested, or the highest that is answered: 1 or 2
    bool crc = true;              ///< requested; one side's request turns CRCs on
    bool markers = false;         ///< requested for what is received
    bool peer_to_peer = false;    ///< the initiator sends a ready-to-receive message (revision 2)
    std::uint16_t ird = 128;      ///< inbound reads and atomics that will be served at once, at most 16383
    std::uint16_t ord = 128;      ///< outbound ones that will be outstanding at once
    bool align = false;           ///< every FPDU begins a TCP segment (RFC 5044 section 5.1)
    bool strict = true;           ///< a ULPDU reaches memory only after its CRC was checked (RFC 5044 section 6); else
                                  ///< as it comes
    std::uint32_t max_ulpdu = 0;  ///< 128 to 64768; 0: what fits a segment of the path
    std::chrono::milliseconds request_timeout{10000};  ///< responder: from TCP's connection to the whole Request
    std::chrono::milliseconds reply_timeout{5000};     ///< initiator: from TCP's connection to the whole Reply
    std::chrono::milliseconds connect_timeout{10000};  ///< TCP's own
    std::chrono::milliseconds refused_patience{0};     ///< initiator: for this time it tries again if the connection is
                                                       ///< refused
    std::chrono::milliseconds close_timeout{5000};     ///< for the peer's FIN after ours
    /// A message without a posted receive waits this long for one, and everything after it waits too: TCP's window
    /// stops the peer. 0, as RFC 5041 section 7.1 has it: Terminate at once.
    std::chrono::milliseconds receive_patience{0};
    std::string congestion_control;       ///< TCP's algorithm, by name; empty: the system's
    std::string source;                   ///< initiator: local address to connect from; empty: the system's choice
    std::uint16_t source_port = 0;        ///< initiator: 0: any
    std::uint8_t traffic_class = 0;       ///< of every packet: IPv4's type of service, IPv6's traffic class (RFC 2474)
    bool ipv6_only = false;               ///< listener: "::" accepts no IPv4 connections
    std::vector<std::byte> private_data;  ///< at most 512 bytes, 508 with revision 2
};

struct QueuePairOptions {
    std::uint32_t max_send = 128;
    std::uint32_t max_receive = 128;
    std::uint32_t max_pieces = 4;    ///< of a request, 1 to 32
    std::uint32_t max_inline = 256;  ///< bytes, at most 4096
    bool signal_all = false;         ///< every send request completes visibly
};

/// RDMA verbs' states of an iWARP queue pair.
enum class QueuePairState : std::uint8_t { idle, connected, closing, terminating, error };
const char* name_of(QueuePairState);

class Device;
class QueuePair;
class Listener;

class ProtectionDomain {
public:
    struct Impl;
    explicit ProtectionDomain(std::unique_ptr<Impl>);
    ~ProtectionDomain();
    std::uint32_t number() const;

    /// Registers memory. Throws Error if the device has no room, or if rights contradict each other: remote writing or
    /// atomics without local writing. `first_offset`: tagged offset of the first byte, unless it is its address or 0.
    std::shared_ptr<MemoryRegion> register_memory(std::span<std::byte> memory, Access access,
                                                  std::optional<std::uint64_t> first_offset = std::nullopt);
    /// A region without memory, to be filled by Operation::register_region. Throws Error.
    std::shared_ptr<MemoryRegion> allocate_region(std::uint64_t max_length);
    /// A type 1 window is bound by bind() and may be used on every queue pair of its domain; a type 2 window is bound
    /// by a work request, belongs to that queue pair and can be invalidated by the peer. Throws Error.
    std::shared_ptr<MemoryWindow> allocate_window(int type);

    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

/// Registered memory. It is deregistered with its last handle: from then on no peer can access it.
class MemoryRegion {
public:
    struct Impl;
    explicit MemoryRegion(std::unique_ptr<Impl>);
    ~MemoryRegion();
    std::uint32_t stag() const;  ///< local and remote key in one
    std::byte* address() const;
    std::uint64_t length() const;
    std::uint64_t first_offset() const;  ///< tagged offset of the first byte (default: its address)
    /// Changes memory, rights, or both, under the same index and a new key; bound windows forbid it. Throws Error.
    void reregister(std::span<std::byte> memory, Access access);
    /// The key (low byte) that the next fast registration gives the STag.
    void renew_key(std::uint8_t key);
    bool valid() const;  ///< not invalidated
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

class MemoryWindow {
public:
    struct Impl;
    explicit MemoryWindow(std::unique_ptr<Impl>);
    ~MemoryWindow();
    int type() const;
    std::uint32_t stag() const;  ///< changes its key with every bind
    /// Type 1 only; a length of 0 unbinds. `false` if region, range or rights do not permit it.
    bool bind(MemoryRegion& region, std::byte* address, std::uint64_t length, Access access);
    bool valid() const;
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

class CompletionQueue {
public:
    struct Impl;
    explicit CompletionQueue(std::unique_ptr<Impl>);
    ~CompletionQueue();
    /// Takes up to `out.size()` completions, oldest first. Does not drive the device.
    std::size_t poll(std::span<Completion> out);
    std::size_t capacity() const;
    std::size_t size() const;  ///< waiting to be polled
    /// Throws Error if more completions are waiting than fit.
    void resize(std::size_t capacity);
    /// The next completion (`solicited_only`: the next solicited or failed one) raises Event::Kind::completion, once. A
    /// completion that waits to be polled raises it at once, as adapters do: otherwise a completion between the last
    /// empty poll and this call would leave its program asleep. The completion that the last event was raised for does
    /// not: a program that calls this before it polls would get an event for a completion that it has taken by then.
    void request_event(bool solicited_only = false);
    /// From now on each completion has its time.
    void stamp_completions();
    bool overflowed() const;  ///< completions were lost; its queue pairs are in error
    void* context = nullptr;  ///< the user's own
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

class SharedReceiveQueue {
public:
    struct Impl;
    explicit SharedReceiveQueue(std::unique_ptr<Impl>);
    ~SharedReceiveQueue();
    Posted post_receive(const ReceiveRequest&);
    /// Raises Event::Kind::receive_limit once, when fewer than `limit` requests are left; 0 disarms.
    void arm_limit(std::uint32_t limit);
    void resize(std::uint32_t max_receive);  ///< throws Error if more are posted
    std::uint32_t size() const;
    void* context = nullptr;  ///< the user's own
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

/// Bytes and messages since the queue pair was made.
struct QueuePairCounters {
    std::uint64_t fpdus_sent = 0;
    std::uint64_t fpdus_received = 0;
    std::uint64_t payload_octets_sent = 0;
    std::uint64_t payload_octets_received = 0;
    std::uint64_t crc_errors = 0;
    std::uint64_t reads_served = 0;
    /// Whole messages of the peer: Sends, Writes, Immediate Data, Read and atomic Requests, in the order of their ends.
    std::uint64_t messages_received = 0;
};

/// What both sides agreed on.
struct Agreement {
    std::uint8_t revision = 0;
    bool enhanced = false;
    bool crc = false;
    bool markers_sent = false;
    bool markers_received = false;
    bool peer_to_peer = false;
    std::uint16_t ird = 0;
    std::uint16_t ord = 0;
    std::uint32_t max_ulpdu = 0;
};

class QueuePair {
public:
    struct Impl;
    explicit QueuePair(std::unique_ptr<Impl>);
    /// An open connection is reset; one whose disconnect() has sent the last request ends in an orderly way.
    ~QueuePair();

    std::uint32_t number() const;
    QueuePairState state() const;
    Posted post_send(const SendRequest&);
    /// Also while this side closes: the peer may still send. Posted::invalid with a shared receive queue.
    Posted post_receive(const ReceiveRequest&);
    /// Makes room for more requests, or for fewer as far as the queues are empty. Throws Error.
    void resize(std::uint32_t max_send, std::uint32_t max_receive);

    /// Begins a connection: Event::Kind::established, rejected or connect_failed follows. `host` is an address or a
    /// name, `port` TCP's. Throws Error if the queue pair is not idle or an option is out of its range.
    void connect(const std::string& host, std::uint16_t port, const ConnectionOptions& = {});
    /// Graceful: posted requests are still sent, then FIN; Event::Kind::disconnected follows.
    void disconnect();
    /// Resets the connection; outstanding requests are flushed.
    void abort();
    /// An idle queue pair again, its queues empty. Only in state error or idle; throws Error.
    void reset();

    std::optional<Agreement> agreement() const;
    std::optional<Terminate> terminate() const;
    std::string peer() const;   ///< "192.0.2.1:4791", empty if never connected
    std::string local() const;  ///< this side's address; empty if the transport has none
    const QueuePairCounters& counters() const;
    void* context = nullptr;  ///< the user's own
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

/// An MPA Request that waits for its answer.
class ConnectionRequest {
public:
    struct Impl;
    explicit ConnectionRequest(std::unique_ptr<Impl>);
    ~ConnectionRequest();  ///< unanswered: rejected
    std::string peer() const;
    std::string local() const;         ///< the address that the initiator connected to; empty if the transport has none
    const Listener* listener() const;  ///< the listener; null once it is gone
    std::span<const std::byte> private_data() const;
    std::uint16_t ird() const;  ///< the reads that the initiator will serve at once; 16383 if it did not say
    std::uint16_t ord() const;  ///< the reads that it wants to have outstanding; 16383 if it did not say
    bool peer_to_peer() const;
    /// Answers with a Reply; Event::Kind::established follows. Only private_data, ird, ord and time-outs of `options`
    /// count; the others were set when the listener was made. Throws Error if the queue pair is not idle.
    void accept(const std::shared_ptr<QueuePair>&, const ConnectionOptions& options);
    void reject(std::span<const std::byte> private_data = {});
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

class Listener {
public:
    struct Impl;
    explicit Listener(std::unique_ptr<Impl>);
    ~Listener();                 ///< requests not yet answered are rejected
    std::uint16_t port() const;  ///< the system's choice if 0 was requested
    std::string address() const;
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

/// Why a connection was not made.
enum class Failure : std::uint8_t {
    none,
    refused,      ///< no process listens there
    unreachable,  ///< no route, no such host, no usable local address
    timed_out,    ///< TCP's connection or the start frames
    reset,        ///< the peer closed or reset before the start frames were exchanged
    protocol,     ///< not MPA, or no agreement
    given_up,     ///< by this side
    other,
};
const char* name_of(Failure);

struct Event {
    enum class Kind : std::uint8_t {
        connect_request,  ///< `request`
        established,      ///< `private_data` of the Reply
        rejected,         ///< `private_data` of the Reply
        connect_failed,   ///< `text`: refused, unreachable, timed out, not MPA, no agreement
        disconnected,     ///< both directions closed, or lost (`text`)
        terminated,       ///< `terminate`; disconnected follows
        completion,       ///< `completion_queue`, see request_event
        completion_overflow,
        receive_limit,              ///< `shared_receive_queue`
        communication_established,  ///< responder: the first FPDU came before the user had fetched `established`
    };
    Kind kind = Kind::disconnected;
    std::shared_ptr<QueuePair> queue_pair;
    std::shared_ptr<ConnectionRequest> request;
    std::shared_ptr<CompletionQueue> completion_queue;
    std::shared_ptr<SharedReceiveQueue> shared_receive_queue;
    std::optional<Terminate> terminate;
    std::vector<std::byte> private_data;
    /// Initiator, established and rejected: the values of the responder's Reply (RFC 6581 section 9.1): what it serves,
    /// and what it will have outstanding; 16383 if it did not say.
    std::uint16_t ird = 16383;
    std::uint16_t ord = 16383;
    std::string text;
    Failure failure = Failure::none;  ///< of connect_failed

    /// For connect_failed: whether the message should ask what runs at the other end. It should not if there is no
    /// route, or if `text` asks already.
    bool peer_in_doubt() const;
};
const char* name_of(Event::Kind);

/// Of a whole device.
struct DeviceCounters {
    std::uint64_t connections_opened = 0;
    std::uint64_t connections_refused = 0;  ///< beyond max_connections
    std::uint64_t handshakes_failed = 0;    ///< not MPA, cut, timed out
    std::uint64_t terminates_sent = 0;
    std::uint64_t terminates_received = 0;
};

class Device {
public:
    struct Impl;
    explicit Device(std::unique_ptr<Impl>);
    ~Device();
    /// Over the TCP of this machine.
    static std::shared_ptr<Device> open(const DeviceOptions& = {});

    std::shared_ptr<ProtectionDomain> allocate_protection_domain();
    std::shared_ptr<CompletionQueue> create_completion_queue(std::size_t capacity);
    std::shared_ptr<SharedReceiveQueue> create_shared_receive_queue(const std::shared_ptr<ProtectionDomain>&,
                                                                    std::uint32_t max_receive,
                                                                    std::uint32_t max_pieces = 4);
    /// `receives` may be shared with other queue pairs; null: the queue pair has its own receive queue.
    std::shared_ptr<QueuePair> create_queue_pair(const std::shared_ptr<ProtectionDomain>&,
                                                 const std::shared_ptr<CompletionQueue>& send_completions,
                                                 const std::shared_ptr<CompletionQueue>& receive_completions,
                                                 const QueuePairOptions& = {},
                                                 const std::shared_ptr<SharedReceiveQueue>& receives = nullptr);
    /// Throws Error with the address and the reason.
    std::shared_ptr<Listener> listen(const std::string& host, std::uint16_t port, const ConnectionOptions& = {},
                                     int backlog = 1024);

    /// Sends, receives, and handles timers; waits up to `wait` for something to happen. Returns whether anything did.
    bool progress(std::chrono::nanoseconds wait = std::chrono::nanoseconds::zero());
    /// Becomes readable when progress() has something to do; -1 if the transport has none.
    int descriptor() const;
    /// Whether progress() has work that no descriptor shows: requests posted since.
    bool work_waits() const;
    std::optional<Event> next_event();
    const DeviceCounters& counters() const;
    /// Limits the memory for bytes under way: those of incomplete FPDUs, and those that peers have not accepted. A
    /// stream that needs more ends. Without this call there is no limit.
    void limit_stream_memory(std::size_t octets);
    std::size_t stream_memory() const;
    Impl& impl() { return *impl_; }

private:
    std::unique_ptr<Impl> impl_;
};

}  // namespace iwarp
