#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace wire::trace {

/// What a program, its provider or the kernel did with a queue pair, or with libibumad.
enum class RecordKind : std::uint8_t {
    none = 0,
    post_send,     ///< a work request was put into a send queue
    post_receive,  ///< into a receive queue, or a shared one (Flag::shared)
    completion,    ///< the program took a completion from its queue
    poll_empty,    ///< a poll found no completion; of several in a row only the first is recorded
    queue_pair,    ///< was created, changed or destroyed: QueuePairChange
    connection,    ///< the connection manager reported one: ConnectionChange
    wire_send,     ///< a trace point of a software stack: the message's first octet was handed to the network
    wire_receive,  ///< its last one came from it
    lost,          ///< `count` records could not be written here
    mad,           ///< a management datagram: MadPassage, before the records with its bytes
    mad_bytes,     ///< bytes of the thread's last `mad`; `number` counts these records from 0
};
inline constexpr RecordKind last_record_kind = RecordKind::mad_bytes;

/// Bits of WorkRequest::flags.
struct Flag {
    static constexpr std::uint8_t signalled = 1;
    static constexpr std::uint8_t solicited = 2;
    static constexpr std::uint8_t fence = 4;
    static constexpr std::uint8_t inline_data = 8;
    static constexpr std::uint8_t shared = 16;   ///< the number is that of a shared receive queue
    static constexpr std::uint8_t receive = 32;  ///< of a completion: it is one of a receive
};

/// post_send, post_receive, completion, wire_send, wire_receive.
struct WorkRequest {
    std::uint64_t id = 0;     ///< wr_id
    std::uint64_t bytes = 0;  ///< the sum of the pieces; of a completion byte_len, if the verbs define it
    std::uint64_t remote_address = 0;
    std::uint32_t remote_key = 0;
    std::uint16_t pieces = 0;
    std::uint8_t opcode = 0;  ///< ibv_wr_opcode; of a completion ibv_wc_opcode
    std::uint8_t status = 0;  ///< ibv_wc_status of a completion; of a post 0, or 1 where it was refused
    std::uint8_t flags = 0;
    std::uint8_t vendor_error = 0;
    std::uint16_t of = 0;  ///< index from 0: of a post in the list of its call, of a completion in its poll
};

/// queue_pair.
struct QueuePairChange {
    std::uint8_t state = 0;  ///< ibv_qp_state; 255: destroyed
    std::uint8_t type = 0;   ///< ibv_qp_type
    std::uint8_t port = 0;   ///< of the device
    std::uint8_t gid_index = 0;
    std::uint32_t peer_number = 0;    ///< dest_qp_num; 0 where not known
    std::uint32_t send_capacity = 0;  ///< max_send_wr as granted
    std::uint32_t receive_capacity = 0;
    std::uint32_t shared_receive_queue = 0;  ///< its number; 0: none
    std::uint16_t peer_lid = 0;
    std::array<std::uint8_t, 16> peer_gid{};  ///< all zero: not known
};

/// connection: an event of the connection manager, with the addresses that packets carry.
struct ConnectionChange {
    std::uint8_t event = 0;   ///< rdma_cm_event_type
    std::uint8_t family = 0;  ///< 4 or 6; 0: no addresses
    std::uint16_t local_port = 0;
    std::uint16_t peer_port = 0;
    std::int16_t status = 0;
    std::array<std::uint8_t, 16> local{};  ///< network order; IPv4 in the first four
    std::array<std::uint8_t, 16> peer{};
};

enum class MadEvent : std::uint8_t {
    sent = 1,  ///< libibumad accepted it
    received,
    returned,  ///< one that was sent came back without an answer: `error` has the reason
};

/// mad: a datagram between a program and libibumad, with the address that libibumad has.
struct MadPassage {
    MadEvent event = MadEvent::sent;
    std::uint8_t port = 0;  ///< of the device; 0: not known
    std::uint8_t service_level = 0;
    std::uint8_t is_global = 0;    ///< 1: the datagram has a GRH
    std::uint16_t local_lid = 0;   ///< the port's, read at most a second before; 0: not known
    std::uint16_t remote_lid = 0;  ///< of the receiver, or of the sender
    std::uint16_t p_key_index = 0;
    std::uint16_t retries = 0;  ///< that libibumad is asked for if no answer comes
    std::uint32_t remote_queue_pair = 0;
    std::uint32_t queue_key = 0;
    std::uint32_t timeout_ms = 0;      ///< of each try; 0: no answer is expected
    std::uint32_t bytes = 0;           ///< of the datagram, which RMPP may make longer than 256
    std::uint32_t recorded_bytes = 0;  ///< of these, those in the records that follow
    std::uint16_t error = 0;           ///< an errno
    std::uint16_t reserved = 0;
};
inline constexpr std::size_t mad_bytes_in_record = 40;

/// One cache line. The same layout is used in shared memory, in trace files (little endian) and in the readers.
struct Record {
    std::int64_t time_ns = 0;   ///< CLOCK_REALTIME, as packets have it; octets 0..7
    std::uint32_t number = 0;   ///< queue pair's (24 bits), or the shared receive queue's; 8..11
    std::uint32_t process = 0;  ///< pid as the initial namespace of the reader sees it; filled in by the reader; 12..15
    RecordKind kind = RecordKind::none;
    std::uint8_t device = 0;     ///< index in the names of the ring
    std::uint16_t duration = 0;  ///< of the call, in units of 16 ns; 65535: longer; 0: not measured
    std::uint32_t thread = 0;    ///< tid; 20..23
    union {                      // 24..63
        WorkRequest work;
        QueuePairChange change;
        ConnectionChange connection;
        MadPassage mad;
        std::array<std::uint8_t, mad_bytes_in_record> mad_bytes;
        std::uint64_t count;
    };
    Record() : work{} {}
};
static_assert(sizeof(WorkRequest) == 40 && sizeof(QueuePairChange) == 40 && sizeof(ConnectionChange) == 40 &&
              sizeof(MadPassage) <= 40);
static_assert(sizeof(Record) == 64 && std::is_trivially_copyable_v<Record>);

}  // namespace wire::trace
