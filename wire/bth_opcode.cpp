#include "wire/bth_opcode.h"

#include <initializer_list>

namespace wire {
namespace {

using enum ExtendedHeader;

constexpr unsigned bit(BthService service) { return 1u << static_cast<unsigned>(service); }
constexpr unsigned on_rc = bit(BthService::rc) | bit(BthService::rd) | bit(BthService::xrc);
constexpr unsigned on_uc = on_rc | bit(BthService::uc);
constexpr unsigned on_ud = on_uc | bit(BthService::ud);
constexpr unsigned invalidating = bit(BthService::rc) | bit(BthService::xrc);

/// One operation of the opcode's low five bits, before a service puts its own headers in front.
struct Row {
    std::uint8_t code;
    unsigned services;
    BthOperation operation;
    MessagePart part;
    BthRole role;
    bool has_payload;
    std::array<ExtendedHeader, 2> headers;
    std::string_view name;
};

constexpr Row rows[] = {
    {0x00, on_uc, BthOperation::send, MessagePart::first, BthRole::request, true, {}, "SEND First"},
    {0x01, on_uc, BthOperation::send, MessagePart::middle, BthRole::request, true, {}, "SEND Middle"},
    {0x02, on_uc, BthOperation::send, MessagePart::last, BthRole::request, true, {}, "SEND Last"},
    {0x03, on_uc, BthOperation::send, MessagePart::last, BthRole::request, true, {immdt}, "SEND Last with Immediate"},
    {0x04, on_ud, BthOperation::send, MessagePart::only, BthRole::request, true, {}, "SEND Only"},
    {0x05, on_ud, BthOperation::send, MessagePart::only, BthRole::request, true, {immdt}, "SEND Only with Immediate"},
    {0x06, on_uc, BthOperation::write, MessagePart::first, BthRole::request, true, {reth}, "RDMA WRITE First"},
    {0x07, on_uc, BthOperation::write, MessagePart::middle, BthRole::request, true, {}, "RDMA WRITE Middle"},
    {0x08, on_uc, BthOperation::write, MessagePart::last, BthRole::request, true, {}, "RDMA WRITE Last"},
    {0x09, on_uc, BthOperation::write, MessagePart::last, BthRole::request, true, {immdt}, "RDMA WRITE Last with Immediate"},
    {0x0a, on_uc, BthOperation::write, MessagePart::only, BthRole::request, true, {reth}, "RDMA WRITE Only"},
    {0x0b, on_uc, BthOperation::write, MessagePart::only, BthRole::request, true, {reth, immdt}, "RDMA WRITE Only with Immediate"},
    {0x0c, on_rc, BthOperation::read_request, MessagePart::only, BthRole::request, false, {reth}, "RDMA READ Request"},
    {0x0d, on_rc, BthOperation::read_response, MessagePart::first, BthRole::response, true, {aeth}, "RDMA READ response First"},
    {0x0e, on_rc, BthOperation::read_response, MessagePart::middle, BthRole::response, true, {}, "RDMA READ response Middle"},
    {0x0f, on_rc, BthOperation::read_response, MessagePart::last, BthRole::response, true, {aeth}, "RDMA READ response Last"},
    {0x10, on_rc, BthOperation::read_response, MessagePart::only, BthRole::response, true, {aeth}, "RDMA READ response Only"},
    {0x11, on_rc, BthOperation::acknowledge, MessagePart::only, BthRole::acknowledgement, false, {aeth}, "Acknowledge"},
    {0x12, on_rc, BthOperation::atomic_acknowledge, MessagePart::only, BthRole::response, false, {aeth, atomicacketh}, "ATOMIC Acknowledge"},
    {0x13, on_rc, BthOperation::compare_swap, MessagePart::only, BthRole::request, false, {atomiceth}, "CmpSwap"},
    {0x14, on_rc, BthOperation::fetch_add, MessagePart::only, BthRole::request, false, {atomiceth}, "FetchAdd"},
    {0x15, bit(BthService::rd), BthOperation::resync, MessagePart::only, BthRole::request, false, {}, "RESYNC"},
    {0x16, invalidating, BthOperation::send, MessagePart::last, BthRole::request, true, {ieth}, "SEND Last with Invalidate"},
    {0x17, invalidating, BthOperation::send, MessagePart::only, BthRole::request, true, {ieth}, "SEND Only with Invalidate"},
    {0x1c, on_rc, BthOperation::flush, MessagePart::only, BthRole::request, false, {feth, reth}, "FLUSH"},
    {0x1d, on_rc, BthOperation::atomic_write, MessagePart::only, BthRole::request, false, {reth, atomic_write}, "ATOMIC WRITE"},
};

constexpr void add(BthOpcode& opcode, ExtendedHeader header) {
    if (header == none) return;
    opcode.headers[opcode.header_count++] = header;
    opcode.header_octets = static_cast<std::uint8_t>(opcode.header_octets + size_of_header(header));
}

constexpr BthOpcode combine(BthService service, const Row& row) {
    BthOpcode opcode{service, row.operation, row.part, row.role, row.has_payload};
    const bool request = row.role == BthRole::request;
    if (service == BthService::rd) add(opcode, rdeth);
    if (service == BthService::ud || (service == BthService::rd && request)) add(opcode, deth);
    if (service == BthService::xrc && request) add(opcode, xrceth);
    for (const ExtendedHeader header : row.headers) add(opcode, header);
    return opcode;
}

constexpr std::initializer_list<BthService> services{BthService::rc, BthService::uc, BthService::rd, BthService::ud, BthService::xrc};

/// 0x81 is what some ConnectX adapters send where Annex A17 says 0x80.
constexpr std::array<std::uint8_t, 2> cnp_opcodes{0x80, 0x81};

constexpr unsigned opcode_of(BthService service, const Row& row) { return static_cast<unsigned>(service) << 5 | row.code; }

constexpr std::array<BthOpcode, 256> make_opcodes() {
    std::array<BthOpcode, 256> table{};
    for (unsigned opcode = 0xc0; opcode < 256; ++opcode) table[opcode].service = BthService::manufacturer;
    for (const BthService service : services)
        for (const Row& row : rows)
            if ((row.services & bit(service)) != 0) table[opcode_of(service, row)] = combine(service, row);
    for (const std::uint8_t opcode : cnp_opcodes) {
        table[opcode] = {BthService::cnp, BthOperation::congestion_notification, MessagePart::only, BthRole::notification};
        add(table[opcode], cnp);
    }
    return table;
}

constexpr std::string_view prefix_of(BthService service) {
    switch (service) {
        case BthService::rc: return "Reliable Connection (RC) - ";
        case BthService::uc: return "Unreliable Connection (UC) - ";
        case BthService::rd: return "Reliable Datagram (RD) - ";
        case BthService::ud: return "Unreliable Datagram (UD) - ";
        case BthService::xrc: return "Extended Reliable Connection (XRC) - ";
        default: return "";
    }
}

/// A service's and an operation's words put together at compile time.
struct Name {
    std::array<char, 72> text{};
    std::uint8_t size = 0;

    constexpr Name& operator<<(std::string_view more) {
        for (const char letter : more) text[size++] = letter;
        return *this;
    }
    constexpr std::string_view view() const { return {text.data(), size}; }
};

constexpr std::array<Name, 256> make_names() {
    std::array<Name, 256> names{};
    for (const BthService service : services)
        for (const Row& row : rows)
            if ((row.services & bit(service)) != 0) names[opcode_of(service, row)] << prefix_of(service) << row.name;
    // Wireshark writes these two with a small letter.
    names[0x64] = Name{} << prefix_of(BthService::ud) << "SEND only";
    names[0x65] = Name{} << prefix_of(BthService::ud) << "SEND only with Immediate";
    for (const std::uint8_t opcode : cnp_opcodes) names[opcode] << "CNP";
    return names;
}

constexpr std::array<Name, 256> names = make_names();

/// By the opcode's low five bits.
constexpr std::array<std::string_view, 32> make_message_names() {
    std::array<std::string_view, 32> table{};
    for (const Row& row : rows) table[row.code] = row.name;
    return table;
}

constexpr std::array<std::string_view, 32> message_names = make_message_names();

constexpr std::array<ValueName, named_bth_opcode_count> make_value_names() {
    std::array<ValueName, named_bth_opcode_count> table{};
    std::size_t at = 0;
    for (unsigned opcode = 0; opcode < 256; ++opcode)
        if (names[opcode].size != 0) table[at++] = {opcode, names[opcode].view()};
    return at == table.size() ? table : throw "named_bth_opcode_count is wrong";
}

}  // namespace

constinit const std::array<BthOpcode, 256> bth_opcodes = make_opcodes();
constinit const std::array<ValueName, named_bth_opcode_count> bth_opcode_names = make_value_names();

std::string_view bth_message_name(std::uint8_t opcode) {
    const BthOpcode& found = bth_opcode(opcode);
    if (!found.known()) return "";
    if (found.service == BthService::cnp) return "CNP";
    return message_names[opcode % message_names.size()];
}

std::string_view name_of(BthService service) {
    constexpr std::array<std::string_view, 8> words{"RC", "UC", "RD", "UD", "CNP", "XRC", "manufacturer", ""};
    return words[static_cast<unsigned>(service)];
}

std::string_view name_of(BthOperation operation) {
    constexpr std::array<std::string_view, 13> words{
        "unknown",        "SEND",     "RDMA WRITE", "RDMA READ request", "RDMA READ response", "Acknowledge",
        "ATOMIC Acknowledge", "CmpSwap", "FetchAdd",   "RESYNC",            "FLUSH",              "ATOMIC WRITE",
        "CNP"};
    return words[static_cast<unsigned>(operation)];
}

}  // namespace wire
