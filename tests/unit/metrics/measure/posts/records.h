#pragma once
#include "wire/trace/record.h"

/// Records as an interposer writes them.
namespace verbs_test {

using wire::trace::Flag;
using wire::trace::Record;
using wire::trace::RecordKind;

// enum ibv_wr_opcode, ibv_qp_state, ibv_wc_status
inline constexpr std::uint8_t opcode_write = 0;
inline constexpr std::uint8_t opcode_send = 2;
inline constexpr std::uint8_t opcode_read = 4;
inline constexpr std::uint8_t opcode_invalidate = 7;
inline constexpr std::uint8_t to_init = 1;
inline constexpr std::uint8_t to_receive = 2;
inline constexpr std::uint8_t destroyed = 255;
inline constexpr std::uint8_t flushed = 5;

inline Record record(RecordKind kind, std::int64_t time_ns, std::uint32_t number, std::uint32_t process = 100) {
    Record out;
    out.kind = kind;
    out.time_ns = time_ns;
    out.number = number;
    out.process = process;
    return out;
}

inline Record post(std::int64_t time_ns, std::uint32_t number, std::uint64_t id, std::uint64_t bytes = 64,
                   std::uint8_t opcode = opcode_write, bool signalled = true) {
    Record out = record(RecordKind::post_send, time_ns, number);
    out.work.id = id;
    out.work.bytes = bytes;
    out.work.opcode = opcode;
    out.work.flags = signalled ? Flag::signalled : 0;
    return out;
}

inline Record completion(std::int64_t time_ns, std::uint32_t number, std::uint64_t id, std::uint8_t status = 0,
                         std::uint8_t flags = 0) {
    Record out = record(RecordKind::completion, time_ns, number);
    out.work.id = id;
    out.work.status = status;
    out.work.flags = flags;
    return out;
}

inline Record post_receive(std::int64_t time_ns, std::uint32_t number, std::uint8_t flags = 0) {
    Record out = record(RecordKind::post_receive, time_ns, number);
    out.work.flags = flags;
    return out;
}

inline Record change(std::int64_t time_ns, std::uint32_t number, std::uint8_t state, std::uint32_t peer = 0,
                     std::uint32_t capacity = 0) {
    Record out = record(RecordKind::queue_pair, time_ns, number);
    out.change = {};
    out.change.state = state;
    out.change.type = 2;
    out.change.peer_number = peer;
    out.change.send_capacity = capacity;
    return out;
}

inline Record lost(std::int64_t time_ns, std::uint64_t count, std::uint32_t process = 100) {
    Record out = record(RecordKind::lost, time_ns, 0, process);
    out.count = count;
    return out;
}

}  // namespace verbs_test
