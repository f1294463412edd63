#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// The inputs of the targets `mpa_stream` and `iwarp_peer`, as the targets read them and make_seeds writes them.
namespace fuzz {

/// mpa_stream: three octets of choices, then the stream. Framed, it is a row of ULPDUs (length in two octets,
/// little-endian), which the target makes into right FPDUs; otherwise it is octets as they are.
namespace mpa_input {
inline constexpr std::size_t header = 3;
inline constexpr std::uint8_t crc = 1;
inline constexpr std::uint8_t markers = 2;
inline constexpr std::uint8_t strict = 4;
inline constexpr std::uint8_t framed = 8;
inline constexpr std::uint8_t direct = 16;   ///< received into FpduReader::room where there is any
inline constexpr std::uint8_t refuse = 32;   ///< the sink refuses a segment; the third octet says which
inline constexpr std::uint8_t corrupt = 64;  ///< of a framed stream one bit is changed; the third octet says where
}  // namespace mpa_input

/// iwarp_peer: three octets of choices, then records: kind, length (two octets, little-endian), octets.
namespace peer_input {
inline constexpr std::size_t header = 3;
inline constexpr std::uint8_t initiator = 1;  ///< the stack's part
inline constexpr std::uint8_t crc = 2;
inline constexpr std::uint8_t stack_markers = 4;
inline constexpr std::uint8_t peer_markers = 8;
inline constexpr std::uint8_t strict = 16;
inline constexpr std::uint8_t peer_to_peer = 32;
inline constexpr std::uint8_t shared_receives = 64;
inline constexpr std::uint8_t plain = 128;  ///< revision 1
// The second octet: octets a piece in which the peer's arrive, 0 for whole. The third is the seed of the pieces' sizes.

enum Record : std::uint8_t {
    octets,       ///< as they are
    ulpdu,        ///< in a right FPDU
    named_ulpdu,  ///< the same; its first two octets say which STag of the stack's to write where (Place)
    user,         ///< the first octet is an Action, the second a number
    start,        ///< a start frame's octets 16 on; its key and length are right. First of all or not at all
    fin,
    reset,
    record_kinds,
};
enum Name : std::uint8_t { writable, readable, atomic, window_1, window_2, local, foreign, names };
/// Where in the ULPDU.
enum Place : std::uint8_t { tagged_header = 2, invalidate = 2, read_sink = 18, read_source = 34, atomic_target = 26 };
enum Action : std::uint8_t {
    post_receive,
    post_send,
    post_write,
    post_read,
    post_atomic,
    post_immediate,
    bind_window,
    local_invalidate,
    disconnect,
    abort_connection,
    poll,
    advance,
    deregister,
    drop_queue_pair,
    actions,
};
}  // namespace peer_input

inline void append_record(std::string& out, std::uint8_t kind, std::string_view octets) {
    out += static_cast<char>(kind);
    out += static_cast<char>(octets.size() & 0xff);
    out += static_cast<char>(octets.size() >> 8 & 0xff);
    out += octets;
}

}  // namespace fuzz
