#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "wire/field.h"

/// What the 256 opcodes of the BTH mean. IBTA vol. 1, table 38 (9.2.1), A14 (XRC), A17 (CNP), A19 (FLUSH, ATOMIC WRITE).
namespace wire {

/// The opcode's high three bits, in their order. Opcodes that the table leaves open are `reserved`.
enum class BthService : std::uint8_t { rc, uc, rd, ud, cnp, xrc, manufacturer, reserved };

enum class BthOperation : std::uint8_t {
    unknown,
    send,
    write,
    read_request,
    read_response,
    acknowledge,
    atomic_acknowledge,
    compare_swap,
    fetch_add,
    resync,
    flush,
    atomic_write,
    congestion_notification,
};

/// Where in its message a packet stands.
enum class MessagePart : std::uint8_t { first, middle, last, only };

/// Whose PSN space a packet counts in, and what it asks for.
enum class BthRole : std::uint8_t { request, response, acknowledgement, notification };

/// What can follow a BTH before the payload. The data of an ATOMIC WRITE and the padding of a CNP are of fixed size
/// and counted among the headers.
enum class ExtendedHeader : std::uint8_t {
    none,
    rdeth,
    deth,
    xrceth,
    reth,
    atomiceth,
    aeth,
    atomicacketh,
    immdt,
    ieth,
    feth,
    atomic_write,
    cnp,
};

constexpr unsigned size_of_header(ExtendedHeader header) {
    constexpr std::array<std::uint8_t, 13> sizes{0, 4, 8, 4, 16, 28, 4, 8, 4, 4, 4, 8, 16};
    return sizes[static_cast<unsigned>(header)];
}

struct BthOpcode {
    BthService service = BthService::reserved;
    BthOperation operation = BthOperation::unknown;
    MessagePart part = MessagePart::only;
    BthRole role = BthRole::request;
    bool has_payload = false;  ///< a payload may follow the headers
    std::uint8_t header_count = 0;
    std::uint8_t header_octets = 0;
    std::array<ExtendedHeader, 4> headers{};

    constexpr bool known() const { return operation != BthOperation::unknown; }
    constexpr bool has(ExtendedHeader header) const {
        for (unsigned i = 0; i < header_count; ++i)
            if (headers[i] == header) return true;
        return false;
    }
    constexpr bool has_immediate() const { return has(ExtendedHeader::immdt); }
    constexpr bool has_invalidate() const { return has(ExtendedHeader::ieth); }
    constexpr bool starts_message() const { return part == MessagePart::first || part == MessagePart::only; }
    constexpr bool ends_message() const { return part == MessagePart::last || part == MessagePart::only; }
};

extern const std::array<BthOpcode, 256> bth_opcodes;

inline const BthOpcode& bth_opcode(std::uint8_t opcode) { return bth_opcodes[opcode]; }

/// The opcodes that have a name, ascending: "Reliable Connection (RC) - SEND Only".
inline constexpr std::size_t named_bth_opcode_count = 90;
extern const std::array<ValueName, named_bth_opcode_count> bth_opcode_names;

/// An opcode's name without its service, in one spelling for all services: "SEND Only with Immediate". Empty for reserved
/// opcodes.
std::string_view bth_message_name(std::uint8_t opcode);

/// "RC", "UC", ...; empty for reserved opcodes.
std::string_view name_of(BthService service);
/// "SEND", "RDMA WRITE", "RDMA READ request", ...
std::string_view name_of(BthOperation operation);

}  // namespace wire
