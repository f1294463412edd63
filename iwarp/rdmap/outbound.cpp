#include "iwarp/rdmap/outbound.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "iwarp/rdmap/local_operations.h"
#include "wire/ddp.h"
#include "wire/rdmap.h"
#include "wire/rdmap_atomic.h"
#include "wire/terminate.h"

namespace iwarp::rdmap {
namespace {

using wire::RdmapOpcode;

constexpr std::uint8_t control_of(RdmapOpcode opcode) {
    return static_cast<std::uint8_t>(1U << 6 | static_cast<std::uint8_t>(opcode));  // version 1, RFC 5040 section 4.1
}

using TaggedHeader = std::array<std::byte, wire::ddp_tagged_size>;
using UntaggedHeader = std::array<std::byte, wire::ddp_untagged_size>;

// These two are on the way of every segment, so they are written as stores; tests hold them against wire::emit_ddp.
TaggedHeader tagged(RdmapOpcode opcode, bool last, std::uint32_t stag, std::uint64_t offset) {
    TaggedHeader header;
    header[0] = static_cast<std::byte>(0x80U | (last ? 0x40U : 0U) | wire::ddp_version);
    header[1] = static_cast<std::byte>(control_of(opcode));
    base::store_be32(header.data() + 2, stag);
    base::store_be64(header.data() + 6, offset);
    return header;
}

UntaggedHeader untagged(RdmapOpcode opcode, bool last, std::uint32_t msn, std::uint32_t offset,
                        std::uint32_t invalidate_stag = 0) {
    UntaggedHeader header;
    header[0] = static_cast<std::byte>((last ? 0x40U : 0U) | wire::ddp_version);
    header[1] = static_cast<std::byte>(control_of(opcode));
    base::store_be32(header.data() + 2, invalidate_stag);
    base::store_be32(header.data() + 6, wire::rdmap_queue(static_cast<std::uint8_t>(opcode)));
    base::store_be32(header.data() + 10, msn);
    base::store_be32(header.data() + 14, offset);
    return header;
}

void add(mpa::FpduWriter& writer, mpa::Batch& batch, base::Bytes header, base::Bytes payload = {}) {
    writer.add(header, std::span{&payload, payload.empty() ? 0U : 1U}, batch);
}

Fault read_source_fault(ddp::MemoryFault fault) {
    switch (fault) {
        case ddp::MemoryFault::bounds: return fault::read_bounds;
        case ddp::MemoryFault::access: return fault::read_access;
        case ddp::MemoryFault::not_associated: return fault::read_not_associated;
        case ddp::MemoryFault::wrap: return fault::read_wrap;
        case ddp::MemoryFault::none:
        case ddp::MemoryFault::invalid_stag: break;
    }
    return fault::read_invalid_stag;
}

RdmapOpcode send_opcode(const WorkRequest& work) {
    if (work.invalidate) return work.solicited ? RdmapOpcode::send_solicited_invalidate : RdmapOpcode::send_invalidate;
    return work.solicited ? RdmapOpcode::send_solicited : RdmapOpcode::send;
}

/// Payload bytes of the next segment of a message, if at most `room` fit. Long segments are equal parts of the
/// message: a short one after a long one would have the peer receive it, and what follows, by way of a buffer.
std::uint32_t part_of(std::uint32_t message, std::uint32_t left, std::uint32_t room) {
    constexpr std::uint32_t long_segment = 16 * 1024;
    constexpr std::uint32_t multiple = 64;  // a line of the caches
    if (room < long_segment || left == 0) return std::min(room, left);
    const std::uint32_t parts = (message - 1) / room + 1;
    const std::uint32_t even = ((message - 1) / parts / multiple + 1) * multiple;
    return std::min({room, even, left});
}

}  // namespace

Outbound::Outbound(const Settings& settings, ddp::TaggedBuffers& memory, SendQueue& sends, OwedResponses& owed,
                   OutstandingRequests& outstanding, OutboundEvents& events)
    : settings_(settings), memory_(memory), sends_(sends), owed_(owed), outstanding_(outstanding), events_(events) {}

/// Whether the send queue is within a tagged message.
bool Outbound::writing() { return begun_ && !written_ && sends_.next()->operation != Operation::send; }

bool Outbound::may_send() {
    const WorkRequest* const work = sends_.next();
    if (work == nullptr) return false;
    if (begun_) return true;
    if (work->fence && !outstanding_.empty()) return false;
    if (work->awaits_answer() && outstanding_.full()) return false;
    const bool write = work->operation == Operation::write || work->operation == Operation::write_immediate;
    return !(write && responding_);
}

bool Outbound::waits_for_answers() {
    const WorkRequest* const work = sends_.next();
    return work == nullptr ? !sends_.empty()
                           : !begun_ && (work->awaits_answer() || (work->fence && !outstanding_.empty()));
}

bool Outbound::may_respond() {
    if (owed_.empty()) return false;
    return owed_.front().atomic || !writing();
}

void Outbound::fill(mpa::FpduWriter& writer, mpa::Batch& batch) {
    while (!batch.full() && !send_failure_ && !answer_failure_) {
        if (ready_ != mpa::ReadyMessage::none) {
            send_ready(writer, batch);
            continue;
        }
        const bool answer = may_respond();
        const bool send = may_send();
        if (answer && (respond_next_ || !send)) {
            respond(writer, batch);
            respond_next_ = false;
        } else if (send) {
            // What was filled in before may lie in the memory that an invalidation gives back.
            if (sends_.next()->operation == Operation::local_invalidate && !batch.empty()) return;
            send_one(writer, batch);
            respond_next_ = true;
        } else {
            return;
        }
    }
}

void Outbound::perform_local() {
    while (!send_failure_ && may_send() && sends_.next()->is_local()) perform(*sends_.next());
}

void Outbound::fill_answers(mpa::FpduWriter& writer, mpa::Batch& batch) {
    while (!batch.full() && !answer_failure_ && may_respond()) respond(writer, batch);
}

void Outbound::send_one(mpa::FpduWriter& writer, mpa::Batch& batch) {
    WorkRequest& work = *sends_.next();
    switch (work.operation) {
        case Operation::send:
        case Operation::write: return send_segment(work, writer, batch);
        case Operation::write_immediate:
            return written_ ? send_immediate(work, writer, batch) : send_segment(work, writer, batch);
        case Operation::immediate: return send_immediate(work, writer, batch);
        case Operation::read: return request_read(work, writer, batch);
        case Operation::fetch_add:
        case Operation::compare_swap: return request_atomic(work, writer, batch);
        case Operation::bind_window:
        case Operation::register_region:
        case Operation::local_invalidate: return perform(work);
    }
}

bool Outbound::readable(const Sge& piece) const {
    return memory_.resolve_local(piece, Access::none, settings_.domain, settings_.queue_pair, settings_.privileged)
               .fault == ddp::MemoryFault::none;
}

void Outbound::fail(Status status) { send_failure_ = {sends_.next_ticket(), status}; }

void Outbound::finish_message() {
    begun_ = written_ = false;
    message_offset_ = piece_ = piece_offset_ = 0;
    sends_.handed_over();
}

/// One segment of a Send or a Write. RFC 5041 section 5.1.
void Outbound::send_segment(WorkRequest& work, mpa::FpduWriter& writer, mpa::Batch& batch) {
    const bool is_send = work.operation == Operation::send;
    const auto header_size = static_cast<std::uint32_t>(is_send ? wire::ddp_untagged_size : wire::ddp_tagged_size);
    const std::uint32_t room = settings_.max_ulpdu - header_size;
    const std::uint32_t size = part_of(work.length, work.length - message_offset_, room);
    const bool last = size == work.length - message_offset_;
    if (!begun_ && !last && !work.inline_data &&
        !std::ranges::all_of(work.pieces, [&](const Sge& piece) { return piece.length == 0 || readable(piece); }))
        return fail(Status::local_protection);

    Parts parts;
    std::size_t count = 0;
    std::uint32_t piece = piece_;
    std::uint32_t offset = piece_offset_;
    for (std::uint32_t left = size; left > 0;) {
        const Sge& source = work.pieces[piece];
        const std::uint32_t part = std::min(left, source.length - offset);
        if (part > 0) {
            const Sge used{source.address + offset, part, source.stag};
            // Again for each segment: memory may be deregistered while a long message leaves.
            if (!work.inline_data && !readable(used)) return fail(Status::local_protection);
            parts[count++] = {used.address, part};
        }
        left -= part;
        offset += part;
        if (offset == source.length) {
            ++piece;
            offset = 0;
        }
    }
    const std::span<const base::Bytes> payload{parts.data(), count};
    if (is_send)
        writer.add(
            untagged(send_opcode(work), last, send_msn_, message_offset_, work.invalidate ? work.invalidate_stag : 0),
            payload, batch);
    else
        writer.add(tagged(RdmapOpcode::write, last, work.remote_stag, work.remote_offset + message_offset_), payload,
                   batch);
    payload_octets_ += size;
    begun_ = true;
    piece_ = piece;
    piece_offset_ = offset;
    message_offset_ += size;
    if (!last) return;
    if (work.operation == Operation::write_immediate) {
        written_ = true;
        return;
    }
    if (is_send) ++send_msn_;
    finish_message();
}

void Outbound::send_immediate(WorkRequest& work, mpa::FpduWriter& writer, mpa::Batch& batch) {
    const auto body = wire::to_octets(wire::RdmapImmediate{work.immediate});
    const auto opcode = work.solicited ? RdmapOpcode::immediate_solicited : RdmapOpcode::immediate;
    add(writer, batch, untagged(opcode, true, send_msn_++, 0), body);
    payload_octets_ += body.size();
    finish_message();
}

/// RFC 5040 section 5.2.1.
void Outbound::request_read(WorkRequest& work, mpa::FpduWriter& writer, mpa::Batch& batch) {
    OutstandingRequest request;
    request.ticket = sends_.next_ticket();
    request.length = work.length;
    if (!work.pieces.empty()) {
        request.sink = work.pieces.front();
        const auto place = memory_.resolve_local(request.sink, Access::local_write, settings_.domain,
                                                 settings_.queue_pair, settings_.privileged);
        if (work.length > 0 && place.fault != ddp::MemoryFault::none) return fail(Status::local_protection);
        const auto address = std::bit_cast<std::uintptr_t>(request.sink.address);
        const ddp::TaggedBuffer* const sink = memory_.find(request.sink.stag);
        request.sink_stag = request.sink.stag;
        request.sink_offset =
            sink == nullptr ? address : sink->first_offset + (address - std::bit_cast<std::uintptr_t>(sink->memory));
    }
    const auto body = wire::to_octets(wire::RdmapReadRequest{request.sink_stag, request.sink_offset, work.length,
                                                             work.remote_stag, work.remote_offset});
    add(writer, batch, untagged(RdmapOpcode::read_request, true, request_msn_++, 0), body);
    outstanding_.push(request);
    finish_message();
}

/// RFC 7306 section 5.2.1.
void Outbound::request_atomic(WorkRequest& work, mpa::FpduWriter& writer, mpa::Batch& batch) {
    OutstandingRequest request;
    request.atomic = true;
    request.request_id = request_id_++;
    request.ticket = sends_.next_ticket();
    request.length = work.length;
    request.sink = work.pieces.front();
    const auto place = memory_.resolve_local(request.sink, Access::local_write, settings_.domain, settings_.queue_pair,
                                             settings_.privileged);
    if (place.fault != ddp::MemoryFault::none) return fail(Status::local_protection);
    wire::RdmapAtomicRequest message;
    message.request_id = request.request_id;
    message.remote_stag = work.remote_stag;
    message.remote_offset = work.remote_offset;
    message.data = work.operand;
    message.mask = work.operand_mask;
    if (work.operation == Operation::compare_swap) {
        message.operation = static_cast<std::uint8_t>(wire::AtomicOperation::compare_swap);
        message.compare = work.compare;
        message.compare_mask = work.compare_mask;
    }
    add(writer, batch, untagged(RdmapOpcode::atomic_request, true, request_msn_++, 0), wire::to_octets(message));
    outstanding_.push(request);
    finish_message();
}

void Outbound::perform(WorkRequest& work) {
    bool done = false;
    const Binding binding{work.address,     work.local_length,    work.access,
                          settings_.domain, settings_.queue_pair, work.key};
    if (work.operation == Operation::bind_window && work.local_length == 0)
        done = unbind_window(memory_, *work.window, binding);
    else if (work.operation == Operation::bind_window)
        done = bind_window(memory_, *work.window, *work.region, binding);
    else if (work.operation == Operation::register_region)
        done = register_region(memory_, *work.region, work.address, work.local_length, work.access, settings_.domain);
    else if (work.operation == Operation::local_invalidate)
        done = invalidate(work);
    if (!done) return fail(Status::window_bind);
    finish_message();
}

bool Outbound::invalidate(const WorkRequest& work) {
    const ddp::TaggedBuffer* const buffer = memory_.find(work.invalidate_stag);
    if (memory_.invalidate(work.invalidate_stag, settings_.domain, settings_.queue_pair) != ddp::MemoryFault::none)
        return false;
    if (buffer->kind == ddp::TaggedBuffer::Kind::region) events_.withdrawn({buffer->memory, buffer->length});
    return true;
}

/// RFC 6581 section 9.2: nothing in it, and nothing is waited for.
void Outbound::send_ready(mpa::FpduWriter& writer, mpa::Batch& batch) {
    const auto kind = ready_;
    ready_ = mpa::ReadyMessage::none;
    if (kind == mpa::ReadyMessage::send) {
        add(writer, batch, untagged(RdmapOpcode::send, true, send_msn_++, 0));
    } else if (kind == mpa::ReadyMessage::write) {
        add(writer, batch, tagged(RdmapOpcode::write, true, 0, 0));
    } else {
        OutstandingRequest request;
        request.ticket = no_ticket;
        outstanding_.push(request);
        add(writer, batch, untagged(RdmapOpcode::read_request, true, request_msn_++, 0),
            wire::to_octets(wire::RdmapReadRequest{}));
    }
}

namespace {
bool permits_any(Access granted, Access wanted) {
    return (static_cast<unsigned>(granted) & static_cast<unsigned>(wanted)) != 0;
}
}  // namespace

/// One segment of the oldest answer. RFC 5040 section 5.2.2, RFC 7306 section 5.2.2.
void Outbound::respond(mpa::FpduWriter& writer, mpa::Batch& batch) {
    const OwedResponse& response = owed_.front();
    if (response.atomic) {
        const auto body = wire::to_octets(wire::RdmapAtomicResponse{response.request_id, response.original});
        add(writer, batch, untagged(RdmapOpcode::atomic_response, true, atomic_response_msn_++, 0), body);
    } else {
        const std::uint32_t room = settings_.max_ulpdu - static_cast<std::uint32_t>(wire::ddp_tagged_size);
        const std::uint32_t size = part_of(response.length, response.length - response_offset_, room);
        const bool last = size == response.length - response_offset_;
        base::Bytes payload;
        if (size > 0) {
            const auto source = memory_.resolve(response.source_stag, response.source_offset + response_offset_, size,
                                                Access::remote_read, settings_.domain, settings_.queue_pair);
            if (source.fault != ddp::MemoryFault::none) return refuse(response, source.fault);
            payload = {source.memory, size};
            const ddp::TaggedBuffer* const buffer = memory_.find(response.source_stag);
            may_change_ =
                may_change_ || buffer == nullptr || buffer->kind != ddp::TaggedBuffer::Kind::region ||
                permits_any(buffer->access, Access::local_write | Access::remote_write | Access::remote_atomic);
        }
        add(writer, batch,
            tagged(RdmapOpcode::read_response, last, response.sink_stag, response.sink_offset + response_offset_),
            payload);
        payload_octets_ += size;
        responding_ = !last;
        response_offset_ += size;
        if (!last) return;
        response_offset_ = 0;
        ++reads_served_;
    }
    ++answered_msn_;
    owed_.pop();
}

/// RFC 5040 section 4.8: the headers of the Read Request, put together again from what was kept of it, and updated to
/// where the answer has got.
void Outbound::refuse(const OwedResponse& response, ddp::MemoryFault fault) {
    const Fault answer = read_source_fault(fault);
    const auto request = wire::to_octets(wire::RdmapReadRequest{
        response.sink_stag, response.sink_offset + response_offset_, response.length - response_offset_,
        response.source_stag, response.source_offset + response_offset_});
    const auto header = untagged(RdmapOpcode::read_request, true, answered_msn_, 0);
    std::vector<std::byte> body(wire::terminate_longest);
    const wire::TerminateControl control{static_cast<std::uint8_t>(answer.layer), answer.type, answer.code};
    body.resize(wire::emit_terminate(body, control, static_cast<std::uint16_t>(header.size() + request.size()), header,
                                     request));
    answer_failure_ = AnswerFailure{answer, std::move(body)};
}

void add_terminate(base::Bytes body, mpa::FpduWriter& writer, mpa::Batch& batch) {
    add(writer, batch, untagged(RdmapOpcode::terminate, true, 1, 0), body);
}

}  // namespace iwarp::rdmap
