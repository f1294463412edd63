#include "iwarp/rdmap/inbound.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "iwarp/rdmap/atomics.h"
#include "wire/ddp.h"
#include "wire/rdmap.h"
#include "wire/terminate.h"

namespace iwarp::rdmap {

namespace {

using ddp::MemoryFault;
using wire::RdmapOpcode;

constexpr std::uint64_t longest_message = 0xffffffff;  // RFC 5041 section 5.2
constexpr std::size_t waste_octets = 2048;

constexpr std::uint8_t number_of(RdmapOpcode opcode) { return static_cast<std::uint8_t>(opcode); }

constexpr bool is_immediate(std::uint8_t opcode) {
    return opcode == number_of(RdmapOpcode::immediate) || opcode == number_of(RdmapOpcode::immediate_solicited);
}
constexpr bool is_solicited(std::uint8_t opcode) {
    return opcode == number_of(RdmapOpcode::send_solicited) ||
           opcode == number_of(RdmapOpcode::send_solicited_invalidate) ||
           opcode == number_of(RdmapOpcode::immediate_solicited);
}

/// RFC 5041 section 7.2.
Fault tagged_fault(MemoryFault fault) {
    switch (fault) {
        case MemoryFault::bounds: return fault::tagged_bounds;
        case MemoryFault::access: return fault::write_access;
        case MemoryFault::not_associated: return fault::tagged_not_associated;
        case MemoryFault::wrap: return fault::tagged_wrap;
        default: return fault::tagged_invalid_stag;
    }
}
/// RFC 5040 section 7.2.
Fault read_fault(MemoryFault fault) {
    switch (fault) {
        case MemoryFault::bounds: return fault::read_bounds;
        case MemoryFault::access: return fault::read_access;
        case MemoryFault::not_associated: return fault::read_not_associated;
        case MemoryFault::wrap: return fault::read_wrap;
        default: return fault::read_invalid_stag;
    }
}
/// RFC 7306 section 8.1: without the RDMA header.
Fault atomic_fault(MemoryFault fault) {
    switch (fault) {
        case MemoryFault::bounds: return fault::atomic_bounds;
        case MemoryFault::access: return fault::atomic_access;
        case MemoryFault::not_associated: return fault::atomic_not_associated;
        case MemoryFault::wrap: return fault::atomic_wrap;
        default: return fault::atomic_invalid_stag;
    }
}

/// The memory may not be valid: numbers are added, not pointers.
Sge part_of(const Sge& piece, std::uint32_t from, std::uint32_t octets) {
    return {std::bit_cast<std::byte*>(std::bit_cast<std::uintptr_t>(piece.address) + from), octets, piece.stag};
}

/// Bytes of a message for RDMAP itself; of a Terminate the most.
constexpr std::uint32_t collected_size(std::uint8_t opcode) {
    switch (static_cast<RdmapOpcode>(opcode)) {
        case RdmapOpcode::read_request: return wire::size_of<wire::RdmapReadRequest>;
        case RdmapOpcode::atomic_request: return wire::size_of<wire::RdmapAtomicRequest>;
        case RdmapOpcode::atomic_response: return wire::size_of<wire::RdmapAtomicResponse>;
        default: return wire::terminate_longest;
    }
}

}  // namespace

Inbound::Inbound(const Settings& settings, ddp::TaggedBuffers& memory, ddp::ReceiveQueue& receives, OwedResponses& owed,
                 OutstandingRequests& outstanding, InboundEvents& events)
    : settings_(settings),
      memory_(&memory),
      receives_(&receives),
      owed_(&owed),
      outstanding_(&outstanding),
      events_(&events) {
    next_msn_.fill(settings.first_msn);
}

base::Result<mpa::Target, Fault> Inbound::begin_segment(base::Bytes header, std::uint32_t payload_length) {
    payload_length_ = payload_length;
    piece_count_ = 0;
    segment_ = Segment::nothing;
    target_lost_ = false;
    if (over_) return drop();
    header_size_ = static_cast<std::uint8_t>(std::min(header.size(), header_.size()));
    if (header_size_ == wire::ddp_untagged_size)
        std::memcpy(header_.data(), header.data(), wire::ddp_untagged_size);  // a length known here needs no call
    else if (header_size_ == wire::ddp_tagged_size)
        std::memcpy(header_.data(), header.data(), wire::ddp_tagged_size);
    else
        std::copy_n(header.data(), header_size_, header_.data());
    // A ULPDU too short for its header: nothing in DDP's table, and MPA's own says "marker and length".
    if (header_size_ == 0 || header_size_ < wire::ddp_header_size(header_[0])) return refuse(fault::marker_or_length);

    const auto control = wire::View<wire::DdpControl>::unchecked(header_.data());
    const auto rdmap = wire::View<wire::RdmapControl>::unchecked(header_.data() + 1);
    const bool tagged = control.get<&wire::DdpControl::tagged>();
    last_ = control.get<&wire::DdpControl::last>();
    opcode_ = rdmap.get<&wire::RdmapControl::opcode>();
    if (control.get<&wire::DdpControl::version>() != wire::ddp_version)
        return refuse(tagged ? fault::tagged_version : fault::untagged_version);
    const auto queue = wire::View<wire::DdpUntaggedBuffer>::unchecked(header_.data() + 6);
    if (!tagged && queue.get<&wire::DdpUntaggedBuffer::queue>() > wire::queue_atomic_response)
        return refuse(fault::queue_number);
    // Opcode and version before the rest of DDP's checks: they say what the buffers are for. RFC 5040 section 7.2.
    if (!wire::rdmap_known(opcode_) || wire::rdmap_tagged(opcode_) != tagged) return refuse(fault::unexpected_opcode);
    if (rdmap.get<&wire::RdmapControl::version>() > 1) return refuse(fault::rdmap_version);

    const std::optional<Fault> fault = tagged ? begin_tagged() : begin_untagged();
    if (fault == fault::not_yet) return base::Failure<Fault>{*fault};
    if (fault) return refuse(*fault);
    memory_changes_ = memory_->changes();
    settings_.owes_ready_message = false;
    return mpa::Target{{pieces_.data(), piece_count_}};
}

std::optional<Fault> Inbound::begin_tagged() {
    // A message of no length is one segment; an empty one that another shall follow belongs to no message.
    if (payload_length_ == 0 && !last_) return fault::unspecified;
    if (opcode_ == number_of(RdmapOpcode::write)) {
        segment_ = Segment::write;
        return payload_length_ == 0 ? std::nullopt : place_write();
    }
    const auto buffer = wire::View<wire::DdpTaggedBuffer>::unchecked(header_.data() + 2);
    return begin_read_response(buffer.get<&wire::DdpTaggedBuffer::stag>(),
                               buffer.get<&wire::DdpTaggedBuffer::offset>());
}

std::optional<Fault> Inbound::place_write() {
    const auto buffer = wire::View<wire::DdpTaggedBuffer>::unchecked(header_.data() + 2);
    const auto place =
        memory_->resolve(buffer.get<&wire::DdpTaggedBuffer::stag>(), buffer.get<&wire::DdpTaggedBuffer::offset>(),
                         payload_length_, Access::remote_write, settings_.domain, settings_.queue_pair);
    if (place.fault != MemoryFault::none) return tagged_fault(place.fault);
    piece_count_ = 0;
    aim(place.memory, payload_length_);
    return std::nullopt;
}

// Responses come in the order of the requests (RFC 5040 section 5.5, RFC 7306 section 7), so that this one must answer
// the oldest, in whole. RFC 5040 section 5.2.2 permits to check that.
std::optional<Fault> Inbound::begin_read_response(std::uint32_t stag, std::uint64_t offset) {
    if (outstanding_->empty() || outstanding_->front().atomic) return fault::unexpected_opcode;
    const OutstandingRequest& request = outstanding_->front();
    if (payload_length_ != 0) {
        if (stag != request.sink_stag) return fault::tagged_invalid_stag;
        if (offset + payload_length_ < offset) return fault::tagged_wrap;
        if (offset != request.sink_offset + request.arrived) return fault::tagged_bounds;
    }
    const std::uint32_t missing = request.length - request.arrived;
    if (payload_length_ > missing || last_ != (payload_length_ == missing)) return fault::tagged_bounds;
    segment_ = Segment::read_response;
    return payload_length_ == 0 ? std::nullopt : place_read_response();
}

std::optional<Fault> Inbound::place_read_response() {
    const OutstandingRequest& request = outstanding_->front();
    const Sge& sink = request.sink;
    const Sge part = part_of(sink, request.arrived, payload_length_);
    const auto place =
        memory_->resolve_local(part, Access::local_write, settings_.domain, settings_.queue_pair, settings_.privileged);
    const bool fits = request.arrived <= sink.length && payload_length_ <= sink.length - request.arrived;
    if (fits && place.fault == MemoryFault::none) {
        piece_count_ = 0;
        aim(place.memory, payload_length_);
        return std::nullopt;
    }
    events_->answered(request, Status::local_protection);
    outstanding_->pop();
    return fits ? tagged_fault(place.fault) : fault::tagged_bounds;
}

std::optional<Fault> Inbound::begin_untagged() {
    const auto buffer = wire::View<wire::DdpUntaggedBuffer>::unchecked(header_.data() + 6);
    const auto queue = buffer.get<&wire::DdpUntaggedBuffer::queue>();
    if (queue != wire::rdmap_queue(opcode_)) return fault::queue_number;
    queue_ = static_cast<std::uint8_t>(queue);
    if (buffer.get<&wire::DdpUntaggedBuffer::msn>() != next_msn_[queue_]) return fault::msn_range;
    const auto offset = buffer.get<&wire::DdpUntaggedBuffer::offset>();
    return queue_ == wire::queue_send ? begin_receive(offset) : begin_collected(offset);
}

bool Inbound::take_receive() {
    if (!receives_->take(receive_)) return false;
    if (receives_->limit_reached()) events_->receive_limit();
    receiving_ = true;
    receiving_immediate_ = is_immediate(opcode_);
    received_ = 0;
    cursor_ = {};
    return true;
}

std::optional<Fault> Inbound::begin_receive(std::uint32_t offset) {
    const bool immediate = is_immediate(opcode_);
    if (settings_.owes_ready_message && !immediate && payload_length_ == 0 && last_ && offset == 0) {
        ++next_msn_[wire::queue_send];  // RFC 6581 section 9.2: no work request of the user's is spent on it
        return std::nullopt;
    }
    if (!receiving_) {
        if (!take_receive()) return settings_.waits_for_receives ? fault::not_yet : fault::no_buffer;
    } else if (immediate != receiving_immediate_) {
        return fault::unexpected_opcode;
    }
    if (offset != received_) return fault::message_offset;
    if (immediate) {
        // RFC 7306 section 6.3. They travel in the completion, wherever the receive's pieces lie.
        if (payload_length_ != wire::size_of<wire::RdmapImmediate> || !last_) return fault::unspecified;
        segment_ = Segment::immediate;
        aim(immediate_.data(), immediate_.size());
        return std::nullopt;
    }
    if (payload_length_ == 0 && !last_) return fault::message_offset;  // stands still
    if (received_ + payload_length_ > std::min(receive_.length, longest_message))
        return refuse_receive(Status::local_length, fault::too_long);
    segment_ = Segment::receive;
    if (!place_receive()) return refuse_receive(Status::local_protection, fault::local_catastrophic);
    return std::nullopt;
}

// Aims at the next payload_length_ bytes of the receive, which has that many left.
bool Inbound::place_receive() {
    piece_count_ = 0;
    cursor_after_ = cursor_;
    for (std::uint32_t left = payload_length_; left > 0;) {
        const Sge& piece = receive_.pieces[cursor_after_.piece];
        const std::uint32_t octets = std::min(left, piece.length - cursor_after_.offset);
        if (octets > 0) {
            const Sge part = part_of(piece, cursor_after_.offset, octets);
            const auto place = memory_->resolve_local(part, Access::local_write, receive_domain(), settings_.queue_pair,
                                                      settings_.privileged);
            if (place.fault != MemoryFault::none || piece_count_ == pieces_.size()) return false;
            aim(place.memory, octets);
            left -= octets;
            cursor_after_.offset += octets;
        }
        if (cursor_after_.offset == piece.length) cursor_after_ = {cursor_after_.piece + 1, 0};
    }
    return true;
}

std::optional<Fault> Inbound::refuse_receive(Status status, const Fault& fault) {
    receiving_ = false;
    events_->delivered({.receive_id = receive_.id,
                        .status = status,
                        .length = static_cast<std::uint32_t>(received_),
                        .solicited = is_solicited(opcode_)});
    return fault;
}

std::optional<Fault> Inbound::begin_collected(std::uint32_t offset) {
    Collected& message = collected_[queue_ - 1u];
    if (message.arrived == 0) {
        // The buffers of queue 1 are as many as the IRD says (RFC 5040 section 5.2.2, RFC 7306 section 5.2.2).
        if (queue_ == wire::queue_read_request && owed_->full()) return fault::no_buffer;
        if (queue_ == wire::queue_atomic_response && (outstanding_->empty() || !outstanding_->front().atomic))
            return fault::unexpected_opcode;
        message.opcode = opcode_;
    } else if (message.opcode != opcode_) {
        return fault::unexpected_opcode;
    }
    if (offset != message.arrived || (payload_length_ == 0 && !last_)) return fault::message_offset;
    if (payload_length_ > collected_size(opcode_) - message.arrived) return fault::too_long;
    segment_ = Segment::collected;
    if (payload_length_ > 0) aim(message.octets.data() + message.arrived, payload_length_);
    return std::nullopt;
}

base::Result<mpa::Target, Fault> Inbound::refuse(const Fault& fault) {
    over_ = true;
    fault_ = fault;
    fault_payload_ = payload_length_;
    segment_ = Segment::nothing;
    return base::Failure<Fault>{fault};
}

base::Result<mpa::Target, Fault> Inbound::drop() {
    segment_ = Segment::dropped;
    static_assert(most_pieces * waste_octets >= 0xffff);  // what MPA's length field can say
    if (payload_length_ > 0 && !waste_) waste_.reset(new (std::nothrow) std::byte[waste_octets]);
    if (payload_length_ > 0 && !waste_) return base::Failure<Fault>{fault::local_catastrophic};
    for (std::size_t left = payload_length_; left > 0; left -= pieces_[piece_count_ - 1].size())
        aim(waste_.get(), std::min(left, waste_octets));
    return mpa::Target{{pieces_.data(), piece_count_}};
}

std::optional<Fault> Inbound::recheck_target() {
    if (target_lost_) return fault_;
    if (over_ || memory_changes_ == memory_->changes() || payload_length_ == 0) return std::nullopt;
    std::optional<Fault> fault;
    switch (segment_) {
        case Segment::write: fault = place_write(); break;
        case Segment::read_response: fault = place_read_response(); break;
        case Segment::receive:
            if (!place_receive()) fault = refuse_receive(Status::local_protection, fault::local_catastrophic);
            break;
        default: break;
    }
    memory_changes_ = memory_->changes();
    target_lost_ = fault.has_value();
    if (fault) static_cast<void>(refuse(*fault));
    return fault;
}

std::optional<Fault> Inbound::end_segment() {
    const Segment segment = std::exchange(segment_, Segment::nothing);
    target_lost_ = false;
    if (over_) return std::nullopt;
    if (!fpdu_seen_) {
        fpdu_seen_ = true;
        events_->first_fpdu();
    }
    std::optional<Fault> fault;
    switch (segment) {
        case Segment::read_response: fault = end_read_response(); break;
        case Segment::receive:
        case Segment::immediate: fault = end_receive(); break;
        case Segment::collected: fault = end_collected(); break;
        case Segment::write: writing_ = !last_; break;  // it is not reported, RFC 5040 section 5.1
        default: break;
    }
    if (fault) static_cast<void>(refuse(*fault));
    if (!fault && last_ && asks(segment)) ++messages_;
    return fault;
}

bool Inbound::at_boundary() const {
    const auto begun = [](const Collected& message) { return message.arrived != 0; };
    const bool reading = !outstanding_->empty() && outstanding_->at(0).arrived != 0;
    return over_ || (!writing_ && !receiving_ && !reading && std::ranges::none_of(collected_, begun));
}

/// Whether the segment is of a message that the peer posted, and not of an answer or a farewell.
bool Inbound::asks(Segment segment) const {
    if (segment == Segment::collected)
        return opcode_ == number_of(RdmapOpcode::read_request) || opcode_ == number_of(RdmapOpcode::atomic_request);
    return segment == Segment::write || segment == Segment::receive || segment == Segment::immediate;
}

std::optional<Fault> Inbound::end_read_response() {
    if (outstanding_->empty()) return std::nullopt;  // flushed from above since the segment began
    OutstandingRequest& request = outstanding_->front();
    request.arrived += payload_length_;
    if (!last_) return std::nullopt;
    events_->answered(request, Status::success);
    outstanding_->pop();
    return std::nullopt;
}

std::optional<Fault> Inbound::end_receive() {
    received_ += payload_length_;
    cursor_ = cursor_after_;
    if (!last_) return std::nullopt;
    Delivered delivered{
        .receive_id = receive_.id, .length = static_cast<std::uint32_t>(received_), .solicited = is_solicited(opcode_)};
    if (receiving_immediate_) {
        delivered.immediate = base::load_be64(immediate_.data());
        delivered.length = 0;
    }
    if (wire::rdmap_invalidates(opcode_)) {
        const std::uint32_t stag = base::load_be32(header_.data() + 2);
        if (!invalidate(stag)) return fault::cannot_invalidate;
        delivered.invalidated_stag = stag;
    }
    ++next_msn_[wire::queue_send];
    receiving_ = false;
    events_->delivered(delivered);
    return std::nullopt;
}

// Only what was shown to peers is theirs to take back.
bool Inbound::invalidate(std::uint32_t stag) {
    const ddp::TaggedBuffer* buffer = std::as_const(*memory_).find(stag);
    constexpr auto remote = static_cast<unsigned>(Access::remote_read | Access::remote_write | Access::remote_atomic);
    return buffer != nullptr && (static_cast<unsigned>(buffer->access) & remote) != 0 &&
           memory_->invalidate(stag, settings_.domain, settings_.queue_pair) == MemoryFault::none;
}

std::optional<Fault> Inbound::end_collected() {
    Collected& message = collected_[queue_ - 1u];
    message.arrived += payload_length_;
    if (!last_) return std::nullopt;
    ++next_msn_[queue_];
    const base::Bytes octets{message.octets.data(), std::exchange(message.arrived, 0)};
    if (queue_ == wire::queue_terminate) {
        over_ = true;
        events_->terminated(parse_terminate(octets));
        return std::nullopt;
    }
    if (octets.size() != collected_size(opcode_)) return fault::unspecified;
    switch (static_cast<RdmapOpcode>(opcode_)) {
        case RdmapOpcode::read_request: return read_requested(octets);
        case RdmapOpcode::atomic_request: return atomic_requested(octets);
        default: return atomic_answered(octets);
    }
}

std::optional<Fault> Inbound::read_requested(base::Bytes message) {
    const auto request = *wire::parse<wire::RdmapReadRequest>(message);
    if (request.size != 0) {  // otherwise the source MUST NOT be validated, RFC 5040 section 5.2.1
        const auto place = memory_->resolve(request.source_stag, request.source_offset, request.size,
                                            Access::remote_read, settings_.domain, settings_.queue_pair);
        if (place.fault != MemoryFault::none) return read_fault(place.fault);
    }
    owed_->push({.sink_stag = request.sink_stag,
                 .sink_offset = request.sink_offset,
                 .length = request.size,
                 .source_stag = request.source_stag,
                 .source_offset = request.source_offset});
    events_->response_owed();
    return std::nullopt;
}

std::optional<Fault> Inbound::atomic_requested(base::Bytes message) {
    constexpr std::uint64_t octets = sizeof(std::uint64_t);
    const auto request = *wire::parse<wire::RdmapAtomicRequest>(message);
    if (wire::name_of(wire::atomic_operations, request.operation).empty()) return fault::unexpected_opcode;
    const auto place = memory_->resolve(request.remote_stag, request.remote_offset, octets, Access::remote_atomic,
                                        settings_.domain, settings_.queue_pair);
    if (place.fault != MemoryFault::none) return atomic_fault(place.fault);
    // RFC 7306 section 8.2: the memory's address counts, not the offset.
    if (reinterpret_cast<std::uintptr_t>(place.memory) % octets != 0) return fault::stream_catastrophic;
    owed_->push({.atomic = true,
                 .request_id = request.request_id,
                 .original = perform_atomic(request, place.memory),
                 .length = octets,
                 .source_stag = request.remote_stag,
                 .source_offset = request.remote_offset});
    events_->response_owed();
    return std::nullopt;
}

std::optional<Fault> Inbound::atomic_answered(base::Bytes message) {
    const auto response = *wire::parse<wire::RdmapAtomicResponse>(message);
    if (outstanding_->empty()) return std::nullopt;  // flushed from above since the message began
    const OutstandingRequest& request = outstanding_->front();
    if (response.request_id != request.request_id) return fault::unexpected_opcode;
    const auto place = memory_->resolve_local(request.sink, Access::local_write, settings_.domain, settings_.queue_pair,
                                              settings_.privileged);
    const bool placed = place.fault == MemoryFault::none && request.sink.length == sizeof response.original;
    if (placed) std::memcpy(place.memory, &response.original, sizeof response.original);
    events_->answered(request, placed ? Status::success : Status::local_protection);
    outstanding_->pop();
    return placed ? std::nullopt : std::optional{fault::local_catastrophic};
}

std::vector<std::byte> Inbound::terminate_body(const Fault& fault) const {
    std::array<std::byte, wire::terminate_longest> body{};
    base::Bytes ddp;
    base::Bytes rdma;
    // Headers only for what was found here: those of another segment would mislead.
    if (fault_ == fault) {
        if (fault.headers != Fault::Headers::none) ddp = {header_.data(), wire::ddp_header_size(header_[0])};
        if (fault.headers == Fault::Headers::ddp_and_rdma && queue_ == wire::queue_read_request)
            rdma = {collected_[0].octets.data(), wire::size_of<wire::RdmapReadRequest>};
    }
    const auto length = static_cast<std::uint16_t>(std::min<std::size_t>(ddp.size() + fault_payload_, 0xffff));
    const std::size_t octets = wire::emit_terminate(
        body, {.layer = static_cast<std::uint8_t>(fault.layer), .type = fault.type, .code = fault.code}, length, ddp,
        rdma);
    return {body.begin(), body.begin() + static_cast<std::ptrdiff_t>(octets)};
}

std::optional<std::uint64_t> Inbound::unfinished_receive() const {
    return receiving_ ? std::optional{receive_.id} : std::nullopt;
}

}  // namespace iwarp::rdmap
