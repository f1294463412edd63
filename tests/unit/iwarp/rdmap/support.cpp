#include "support.h"

#include <algorithm>
#include <cstring>
#include <fmt/core.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

namespace support {

using iwarp::Access;

GuardedMemory::GuardedMemory(std::size_t octets) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inside = (octets + page - 1) / page * page;
    mapped_octets_ = inside + 2 * page;
    void* at = mmap(nullptr, mapped_octets_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || mprotect(static_cast<std::byte*>(at) + page, inside, PROT_READ | PROT_WRITE) != 0)
        throw std::runtime_error("no memory between guard pages");
    mapped_ = static_cast<std::byte*>(at);
    octets_ = {mapped_ + page + inside - octets, octets};
}

GuardedMemory::~GuardedMemory() { munmap(mapped_, mapped_octets_); }

void GuardedMemory::forbid(bool forbidden) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    if (mprotect(mapped_ + page, mapped_octets_ - 2 * page, forbidden ? PROT_NONE : PROT_READ | PROT_WRITE) != 0)
        throw std::runtime_error("no protection");
}

std::string text_of(const std::optional<iwarp::Fault>& fault) {
    if (!fault) return "";
    return fmt::format("{}/{}/{:02x}", static_cast<int>(fault->layer), fault->type, fault->code);
}

std::string hex(base::Bytes octets) {
    std::string text;
    for (const std::byte octet : octets) text += fmt::format("{:02x}", std::to_integer<unsigned>(octet));
    return text;
}

std::vector<std::byte> octets_of(const std::string& hex) {
    std::vector<std::byte> octets;
    std::string digits;
    for (const char c : hex)
        if (c != ' ') digits += c;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2)
        octets.push_back(static_cast<std::byte>(std::stoi(digits.substr(at, 2), nullptr, 16)));
    return octets;
}

std::vector<std::byte> pattern(std::size_t octets, unsigned seed) {
    std::mt19937 random{seed};
    std::vector<std::byte> result(octets);
    for (auto& octet : result) octet = static_cast<std::byte>(random() & 0xff);
    return result;
}

std::vector<std::byte> header_of(const Untagged& segment) {
    std::array<std::byte, wire::ddp_untagged_size> out{};
    wire::DdpUntagged header;
    header.control.last = segment.last;
    header.ulp = (std::uint64_t{0x40} | static_cast<std::uint8_t>(segment.opcode)) << 32 | segment.invalidate;
    header.queue = segment.queue;
    header.msn = segment.msn;
    header.offset = segment.offset;
    wire::emit_ddp(std::span{out}, header);
    return {out.begin(), out.end()};
}

std::vector<std::byte> header_of(const Tagged& segment) {
    std::array<std::byte, wire::ddp_tagged_size> out{};
    wire::DdpTagged header;
    header.control.tagged = true;
    header.control.last = segment.last;
    header.ulp = static_cast<std::uint8_t>(0x40 | static_cast<std::uint8_t>(segment.opcode));
    header.stag = segment.stag;
    header.offset = segment.offset;
    wire::emit_ddp(std::span{out}, header);
    return {out.begin(), out.end()};
}

Stream::Stream(std::uint32_t ird, std::uint32_t ord) : owed(ird), outstanding(ord) {
    stag = register_region(Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic);
    restart({.domain = domain, .queue_pair = queue_pair});
}

void Stream::restart(iwarp::rdmap::Inbound::Settings settings) {
    events = {};
    inbound.emplace(settings, table, receives, owed, outstanding, events);
}

std::uint32_t Stream::register_region(Access access, std::uint32_t of_domain) {
    iwarp::ddp::TaggedBuffer buffer;
    buffer.valid = true;
    buffer.access = access;
    buffer.domain = of_domain;
    buffer.memory = memory.data();
    buffer.length = region_octets;
    buffer.first_offset = offset_of(0);
    return table.insert(buffer).value();
}

std::string Stream::raw(base::Bytes header, base::Bytes payload) {
    const auto begun = inbound->begin_segment(header, static_cast<std::uint32_t>(payload.size()));
    if (!begun) return text_of(begun.error());
    std::size_t at = 0;
    for (const auto piece : begun->pieces) {
        EXPECT_LE(at + piece.size(), payload.size());
        if (at + piece.size() > payload.size()) return "target too long";
        std::memcpy(piece.data(), payload.data() + at, piece.size());
        at += piece.size();
    }
    EXPECT_EQ(at, payload.size()) << "target too short";
    return text_of(inbound->end_segment());
}

std::string Stream::read_request(std::uint32_t msn, const wire::RdmapReadRequest& request) {
    return untagged({.opcode = wire::RdmapOpcode::read_request, .queue = 1, .msn = msn}, wire::to_octets(request));
}
std::string Stream::atomic_request(std::uint32_t msn, const wire::RdmapAtomicRequest& request) {
    return untagged({.opcode = wire::RdmapOpcode::atomic_request, .queue = 1, .msn = msn}, wire::to_octets(request));
}
std::string Stream::atomic_response(std::uint32_t msn, std::uint32_t request_id, std::uint64_t original) {
    return untagged({.opcode = wire::RdmapOpcode::atomic_response, .queue = 3, .msn = msn},
                    wire::to_octets(wire::RdmapAtomicResponse{request_id, original}));
}

void Stream::post(std::uint64_t id, std::size_t offset, std::uint32_t octets) {
    const iwarp::Sge piece{memory.data() + offset, octets, stag};
    ASSERT_EQ(receives.post({.id = id, .pieces = {&piece, 1}}), iwarp::Posted::ok);
}

iwarp::rdmap::OutstandingRequest& Stream::ask_read(std::size_t sink, std::uint32_t octets) {
    return outstanding.push({.ticket = outstanding.size(),
                             .sink_stag = stag,
                             .sink_offset = offset_of(sink),
                             .length = octets,
                             .sink = {memory.data() + sink, octets, stag}});
}
iwarp::rdmap::OutstandingRequest& Stream::ask_atomic(std::size_t sink, std::uint32_t id) {
    return outstanding.push({.atomic = true,
                             .request_id = id,
                             .ticket = outstanding.size(),
                             .length = 8,
                             .sink = {memory.data() + sink, 8, stag}});
}

}  // namespace support
