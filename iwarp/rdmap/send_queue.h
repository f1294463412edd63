#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "iwarp/iwarp.h"

/// The work requests of a queue pair's sending side, from posting to completion.
namespace iwarp::rdmap {

/// The STag of a region or a window, which binds and fast registrations change. The object and the work requests that
/// name it share it: the object may go first.
struct StagHandle {
    std::uint32_t stag = 0;
    std::uint8_t next_key = 0;  ///< of a region: for its next fast registration
};

/// A SendRequest as the queue keeps it.
struct WorkRequest {
    std::uint64_t id = 0;
    Operation operation = Operation::send;
    bool signalled = true;
    bool solicited = false;
    bool fence = false;
    bool inline_data = false;
    bool invalidate = false;
    bool answered = false;  ///< reads and atomics: the answer has come
    Status status = Status::success;
    Access access = Access::none;
    std::uint32_t length = 0;  ///< bytes of all pieces
    std::uint32_t remote_stag = 0;
    std::uint32_t invalidate_stag = 0;
    std::uint64_t remote_offset = 0;
    std::uint64_t immediate = 0;
    std::uint64_t operand = 0;
    std::uint64_t operand_mask = 0;
    std::uint64_t compare = 0;
    std::uint64_t compare_mask = 0;
    std::vector<Sge> pieces;  ///< of inline data: one, in the bytes below
    std::unique_ptr<std::byte[]> octets;
    std::shared_ptr<StagHandle> window;
    std::shared_ptr<StagHandle> region;
    std::byte* address = nullptr;
    std::uint64_t local_length = 0;     ///< of bind_window and register_region
    std::optional<std::uint8_t> key{};  ///< of bind_window

    bool awaits_answer() const {
        return operation == Operation::read || operation == Operation::fetch_add ||
               operation == Operation::compare_swap;
    }
    bool is_local() const {
        return operation == Operation::bind_window || operation == Operation::register_region ||
               operation == Operation::local_invalidate;
    }
};

CompletedOperation completed_as(Operation);

/// A ring. A request is posted, begun (the next one), handed over (all of its bytes are in a batch, or a local one has
/// been performed), drained (the transport has sent the batch), answered if it needs an answer, and leaves in the order
/// of posting (RFC 5040 section 5.5, rules 13 to 15). Its ticket counts the posted ones and names it meanwhile.
///
/// The ring grows as it is used, up to its capacity; after that nothing here allocates. Pointers into it are valid
/// until the next post().
class SendQueue {
public:
    SendQueue(std::uint32_t capacity, std::uint32_t max_pieces, std::uint32_t max_inline);

    Posted post(const SendRequest& request, std::shared_ptr<StagHandle> window, std::shared_ptr<StagHandle> region);

    /// Removes the newest again; it must not have been begun: next() was not called since it was posted.
    void take_back();
    /// The oldest that is not handed over; null if absent.
    WorkRequest* next();
    std::uint64_t next_ticket() const { return next_; }
    void handed_over() { ++next_; }
    /// Everything handed over so far was sent by the transport.
    void drained() { drained_ = next_; }
    /// A read or an atomic that is still there.
    void answered(std::uint64_t ticket, Status status);
    WorkRequest& at(std::uint64_t ticket);

    bool empty() const { return oldest_ == end_; }
    std::uint32_t size() const { return static_cast<std::uint32_t>(end_ - oldest_); }
    std::uint32_t capacity() const { return capacity_; }
    std::uint64_t oldest_ticket() const { return oldest_; }
    /// The oldest, if it can complete; else null.
    WorkRequest* finished();
    /// Removes the oldest.
    void pop();
    /// `false` if more are posted.
    bool resize(std::uint32_t capacity);

private:
    WorkRequest& slot(std::uint64_t ticket) { return slots_[ticket & (slots_.size() - 1)]; }
    void grow();

    std::vector<WorkRequest> slots_;  ///< a power of two of them, or none
    std::uint64_t oldest_ = 0;
    std::uint64_t drained_ = 0;
    std::uint64_t next_ = 0;
    std::uint64_t end_ = 0;
    std::uint32_t capacity_;
    std::uint32_t max_pieces_;
    std::uint32_t max_inline_;
};

}  // namespace iwarp::rdmap
