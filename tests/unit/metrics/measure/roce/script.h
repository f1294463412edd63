#pragma once
#include <cstdint>
#include <optional>

#include "metrics/measure/flow/flow_store.h"
#include "metrics/measure/roce/roce_tracker.h"

/// A conversation of two queue pairs, described packet by packet, and what the tracker makes of it.
namespace roce_test {

/// Opcodes of RC; others add their transport's upper three bits. IBTA vol. 1, table 38.
enum Opcode : std::uint8_t {
    send_first = 0x00,
    send_middle = 0x01,
    send_last = 0x02,
    send_last_immediate = 0x03,
    send_only = 0x04,
    send_only_immediate = 0x05,
    write_first = 0x06,
    write_middle = 0x07,
    write_last = 0x08,
    write_last_immediate = 0x09,
    write_only = 0x0a,
    write_only_immediate = 0x0b,
    read_request = 0x0c,
    response_first = 0x0d,
    response_middle = 0x0e,
    response_last = 0x0f,
    response_only = 0x10,
    acknowledge = 0x11,
    atomic_acknowledge = 0x12,
    compare_swap = 0x13,
    fetch_add = 0x14,
    send_last_invalidate = 0x16,
    send_only_invalidate = 0x17,
    cnp = 0x81,
};
inline constexpr std::uint8_t uc = 0x20;
inline constexpr std::uint8_t ud = 0x60;
inline constexpr std::uint8_t xrc = 0xa0;

inline constexpr std::uint8_t ack_syndrome = 31;  ///< credits not used
inline constexpr std::uint8_t nak_syndrome = 3 << 5;
constexpr std::uint8_t rnr_syndrome(unsigned timer) { return static_cast<std::uint8_t>(1u << 5 | timer); }

class Script {
public:
    explicit Script(std::uint32_t first_psn = 1000, metrics::Service service = metrics::Service::rc);

    std::int64_t now_ns = 1'000'000'000;
    std::uint16_t identification = 0;  ///< of the next request, counted up where it is not 0
    metrics::Entropy entropy;          ///< of all that follows
    std::uint8_t hop_limit = 64;
    metrics::FlowStore store;
    metrics::RoceTracker tracker;

    /// A request of the `index`-th PSN, a microsecond after what came before.
    void request(std::int64_t index, std::uint8_t opcode = write_only, std::uint32_t length = 1024);
    /// WRITEs of one packet each, from `first` to `last`.
    void requests(std::int64_t first, std::int64_t last);
    void read(std::int64_t index, std::uint32_t length);
    /// One whose RETH the snap length has cut.
    void cut_read(std::int64_t index);
    /// The first packet of a WRITE of `length` octets altogether, as its RETH says.
    void begin_write(std::int64_t index, std::uint32_t length, std::uint8_t opcode = write_first);
    void damaged(std::int64_t index);
    void answer(std::int64_t index, std::uint8_t opcode, std::uint8_t syndrome = ack_syndrome,
                std::uint32_t length = 0);
    void ack(std::int64_t index) { answer(index, acknowledge); }
    void nak(std::int64_t index) { answer(index, acknowledge, nak_syndrome); }
    /// What the capture says of the interface's direction, of all that follows.
    wire::Direction direction = wire::Direction::unknown;
    void after_us(std::int64_t us) { now_ns += us * 1000; }

    metrics::Flow& requester() { return store.table[forward_]; }
    metrics::Flow& responder() { return store.table[backward_]; }
    metrics::FlowTrouble& complaints() { return store.trouble(responder()); }
    metrics::FlowSnapshot shown() const;
    std::uint64_t messages(metrics::Operation operation) { return store.count_of(requester(), operation).messages; }
    std::uint64_t bytes(metrics::Operation operation) { return store.count_of(requester(), operation).bytes; }
    std::uint64_t latencies(metrics::Operation operation) {
        return store.unpack(requester(), metrics::latency_of(operation)).count();
    }

private:
    metrics::PacketRecord record(metrics::FlowIndex flow, std::int64_t index, std::uint8_t opcode);

    std::uint32_t first_psn_;
    std::uint64_t frames_ = 0;
    metrics::FlowIndex forward_;
    metrics::FlowIndex backward_;
};

}  // namespace roce_test
