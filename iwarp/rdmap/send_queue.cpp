#include "iwarp/rdmap/send_queue.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace iwarp::rdmap {
namespace {

constexpr std::size_t first_slots = 4;

/// Bytes of all pieces; nothing where a message cannot be that long (RFC 5041 section 5.2).
std::optional<std::uint32_t> total(std::span<const Sge> pieces) {
    std::uint64_t sum = 0;
    for (const Sge& piece : pieces) sum += piece.length;
    if (sum > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return static_cast<std::uint32_t>(sum);
}

bool fits(const SendRequest& request, std::uint32_t length, const StagHandle* window, const StagHandle* region) {
    switch (request.operation) {
        case Operation::send:
        case Operation::write:
        case Operation::write_immediate: return !request.invalidate || request.operation == Operation::send;
        case Operation::immediate: return request.pieces.empty() && !request.invalidate;
        case Operation::read:
            return !request.inline_data &&
                   (request.pieces.size() == 1 || (request.pieces.empty() && !request.invalidate));
        case Operation::fetch_add:
        case Operation::compare_swap: return !request.inline_data && request.pieces.size() == 1 && length == 8;
        case Operation::bind_window:
            return request.pieces.empty() && window != nullptr && (region != nullptr || request.length == 0);
        case Operation::register_region: return request.pieces.empty() && region != nullptr;
        case Operation::local_invalidate: return request.pieces.empty();
    }
    return false;
}

}  // namespace

CompletedOperation completed_as(Operation operation) {
    switch (operation) {
        case Operation::send:
        case Operation::immediate: return CompletedOperation::send;
        case Operation::write:
        case Operation::write_immediate: return CompletedOperation::write;
        case Operation::read: return CompletedOperation::read;
        case Operation::fetch_add: return CompletedOperation::fetch_add;
        case Operation::compare_swap: return CompletedOperation::compare_swap;
        case Operation::bind_window: return CompletedOperation::bind_window;
        case Operation::register_region: return CompletedOperation::register_region;
        case Operation::local_invalidate: return CompletedOperation::local_invalidate;
    }
    return CompletedOperation::send;
}

SendQueue::SendQueue(std::uint32_t capacity, std::uint32_t max_pieces, std::uint32_t max_inline)
    : capacity_(capacity), max_pieces_(max_pieces), max_inline_(max_inline) {}

void SendQueue::grow() {
    std::vector<WorkRequest> slots(slots_.empty() ? first_slots : 2 * slots_.size());
    for (std::uint64_t ticket = oldest_; ticket != end_; ++ticket)
        slots[ticket & (slots.size() - 1)] = std::move(slot(ticket));
    slots_ = std::move(slots);
}

Posted SendQueue::post(const SendRequest& request, std::shared_ptr<StagHandle> window,
                       std::shared_ptr<StagHandle> region) {
    if (size() >= capacity_) return Posted::queue_full;
    if (request.pieces.size() > max_pieces_) return Posted::too_many_pieces;
    const auto length = total(request.pieces);
    if (!length || (request.inline_data && *length > max_inline_)) return Posted::too_long;
    if (!fits(request, *length, window.get(), region.get())) return Posted::invalid;
    if (size() == slots_.size()) grow();

    WorkRequest& work = slot(end_);
    work.id = request.id;
    work.operation = request.operation;
    work.signalled = request.signalled;
    work.solicited = request.solicited;
    work.fence = request.fence;
    work.inline_data = request.inline_data;
    work.invalidate = request.invalidate;
    work.answered = false;
    work.status = Status::success;
    work.access = request.access;
    work.length = *length;
    work.remote_stag = request.remote_stag;
    work.invalidate_stag = request.invalidate_stag;
    work.remote_offset = request.remote_offset;
    work.immediate = request.immediate;
    work.operand = request.operand;
    // RFC 7306 section 5.1: a FetchAdd of one 64-bit field has a mask of zeros (its top carries out anyway), a
    // CmpSwap of everything has one of ones.
    work.operand_mask =
        request.operand_mask.value_or(request.operation == Operation::fetch_add ? 0 : ~std::uint64_t{0});
    work.compare = request.compare;
    work.compare_mask = request.compare_mask;
    work.window = std::move(window);
    work.region = std::move(region);
    work.address = request.address;
    work.local_length = request.length;
    work.key = request.key;
    work.pieces.assign(request.pieces.begin(), request.pieces.end());
    if (request.inline_data && *length > 0) {
        if (!work.octets) work.octets = std::make_unique<std::byte[]>(max_inline_);
        std::byte* to = work.octets.get();
        for (const Sge& piece : request.pieces) {
            if (piece.length > 0) std::memcpy(to, piece.address, piece.length);
            to += piece.length;
        }
        work.pieces.assign(1, Sge{work.octets.get(), *length, 0});
    }
    ++end_;
    return Posted::ok;
}

void SendQueue::take_back() {
    if (next_ == end_) return;
    WorkRequest& work = slot(--end_);
    work.window.reset();
    work.region.reset();
}

WorkRequest* SendQueue::next() { return next_ == end_ ? nullptr : &slot(next_); }

void SendQueue::answered(std::uint64_t ticket, Status status) {
    if (ticket < oldest_ || ticket >= next_) return;
    WorkRequest& work = slot(ticket);
    work.answered = true;
    work.status = status;
}

WorkRequest& SendQueue::at(std::uint64_t ticket) { return slot(ticket); }

WorkRequest* SendQueue::finished() {
    if (oldest_ == drained_) return nullptr;
    WorkRequest& work = slot(oldest_);
    return work.awaits_answer() && !work.answered ? nullptr : &work;
}

void SendQueue::pop() {
    WorkRequest& work = slot(oldest_);
    work.window.reset();
    work.region.reset();
    ++oldest_;
    drained_ = std::max(drained_, oldest_);
    next_ = std::max(next_, oldest_);
}

bool SendQueue::resize(std::uint32_t capacity) {
    if (capacity < size()) return false;
    capacity_ = capacity;
    return true;
}

}  // namespace iwarp::rdmap
