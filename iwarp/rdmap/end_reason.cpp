#include "iwarp/rdmap/end_reason.h"

#include <cstdint>
#include <fmt/core.h>
#include <optional>
#include <string_view>

#include "wire/ddp.h"
#include "wire/rdmap.h"
#include "wire/terminate.h"

namespace iwarp::rdmap {

namespace {

constexpr std::uint8_t layer_ddp = 1;         // below it only RDMAP: 0
constexpr std::uint8_t type_of_memory = 1;    // RFC 5040, 4.8: remote protection errors; RFC 5041, 7: tagged buffers
constexpr std::uint8_t type_of_untagged = 2;  // RFC 5041, 7

/// What is known of the request at fault.
struct FaultyRequest {
    Operation operation{};
    std::optional<std::uint32_t> rkey = {};
    std::optional<std::uint64_t> address = {};
    std::optional<std::uint32_t> length = {};
    std::optional<std::uint64_t> wr_id = {};
};

std::string_view verb_of(Operation operation) {
    switch (operation) {
        case Operation::write:
        case Operation::write_immediate: return "RDMA WRITE";
        case Operation::read: return "RDMA READ";
        case Operation::fetch_add:
        case Operation::compare_swap: return "atomic";
        default: return "SEND";
    }
}

std::string_view right_of(Operation operation) {
    switch (operation) {
        case Operation::read: return "IBV_ACCESS_REMOTE_READ";
        case Operation::fetch_add:
        case Operation::compare_swap: return "IBV_ACCESS_REMOTE_ATOMIC";
        default: return "IBV_ACCESS_REMOTE_WRITE";
    }
}

/// ": 8 bytes at 0x7f00, wr_id 3"
std::string details_of(const FaultyRequest& request) {
    std::string text;
    if (request.length) text += fmt::format("{} byte{}", *request.length, *request.length == 1 ? "" : "s");
    if (request.address) text += fmt::format("{}at {:#x}", text.empty() ? "" : " ", *request.address);
    if (request.wr_id) text += fmt::format("{}wr_id {}", text.empty() ? "" : ", ", *request.wr_id);
    return text.empty() ? text : ": " + text;
}

/// Why the memory could not be reached. `holder` has registered that memory.
std::string memory_reason(const Terminate& why, const FaultyRequest& request, std::string_view holder) {
    const std::string key = request.rkey ? fmt::format("rkey {:#x}", *request.rkey) : std::string("an rkey");
    const bool of_ddp = why.layer == layer_ddp;
    // RDMAP counts access rights among the codes, DDP does not.
    switch (why.code) {
        case 0: return fmt::format("used {} that {} does not have", key, holder);
        case 1: return fmt::format("went beyond the memory of {}", key);
        case 2:
            if (of_ddp) return fmt::format("used {}, which belongs to another protection domain", key);
            return fmt::format("used {}, whose memory is registered without {}", key, right_of(request.operation));
        case 3:
            if (!of_ddp) return fmt::format("used {}, which belongs to another protection domain", key);
            return fmt::format("used {} with an address that wraps", key);
        case 4: return of_ddp ? std::string{} : fmt::format("used {} with an address that wraps", key);
        default: return {};
    }
}

std::string untagged_reason(const Terminate& why) {
    constexpr std::uint8_t no_buffer = 2;
    constexpr std::uint8_t too_long = 5;
    if (why.code == no_buffer)
        return why.sent_by_us ? "a SEND of the peer arrived and no receive was posted here"
                              : "your SEND arrived and the peer had no receive posted";
    if (why.code == too_long)
        return why.sent_by_us ? "a SEND of the peer is longer than the receive that was posted here"
                              : "your SEND is longer than the receive that the peer had posted";
    return {};
}

std::string reason_of(const Terminate& why, const FaultyRequest& request) {
    std::string text;
    if (why.layer == layer_ddp && why.type == type_of_untagged) {
        text = untagged_reason(why);
    } else if (why.layer <= layer_ddp && why.type == type_of_memory) {
        text = memory_reason(why, request, why.sent_by_us ? "this side" : "the peer");
        if (!text.empty())
            text = fmt::format("{} {} {}", why.sent_by_us ? "the peer's" : "your", verb_of(request.operation), text);
    }
    return text.empty() ? text : text + details_of(request);
}

/// The request whose segment has these headers; no value for answers, or if the headers do not show it.
std::optional<FaultyRequest> request_of(base::Bytes body) {
    const auto parts = wire::parse_terminate(body);
    if (!parts || parts->ddp_header.size == 0) return std::nullopt;
    const base::Bytes header = body.subspan(parts->ddp_header.offset, parts->ddp_header.size);
    FaultyRequest request;
    if (const auto tagged = wire::parse_ddp_tagged(header); tagged && tagged->control.tagged) {
        if ((tagged->ulp & 0xf) != static_cast<std::uint8_t>(wire::RdmapOpcode::write)) return std::nullopt;
        request.operation = Operation::write;
        request.rkey = tagged->stag;
        request.address = tagged->offset;
        const std::uint16_t segment = base::load_be16(body.data() + parts->segment_length.offset);
        if (parts->segment_length.size != 0 && segment > header.size())
            request.length = static_cast<std::uint32_t>(segment - header.size());
        return request;
    }
    const auto untagged = wire::parse_ddp_untagged(header);
    if (!untagged) return std::nullopt;
    if (untagged->queue == 0) {
        request.operation = Operation::send;
        return request;
    }
    if (parts->rdma_header.size == 0) return std::nullopt;
    const auto read = wire::parse<wire::RdmapReadRequest>(body.subspan(parts->rdma_header.offset));
    if (!read) return std::nullopt;
    request.operation = Operation::read;
    request.rkey = read->source_stag;
    request.address = read->source_offset;
    request.length = read->size;
    return request;
}

bool is_same_verb(Operation one, Operation other) { return verb_of(one) == verb_of(other); }

}  // namespace

void explain_terminate(Terminate& why, base::Bytes body) {
    const std::optional<FaultyRequest> request = request_of(body);
    if (!request) return;
    why.operation = request->operation;
    why.reason = reason_of(why, *request);
}

void explain_terminate(Terminate& why, const WorkRequest& request) {
    // The Terminate means another request than the oldest of its kind.
    if (why.operation && !is_same_verb(*why.operation, request.operation)) return;
    FaultyRequest own{request.operation};
    if (verb_of(request.operation) != "SEND") {
        own.rkey = request.remote_stag;
        own.address = request.remote_offset;
    }
    own.length = request.length;
    own.wr_id = request.id;
    const std::string reason = reason_of(why, own);
    if (reason.empty()) return;
    why.operation = request.operation;
    why.reason = reason;
}

}  // namespace iwarp::rdmap
