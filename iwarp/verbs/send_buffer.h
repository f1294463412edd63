#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "iwarp/mpa/batch.h"
#include "iwarp/verbs/device_impl.h"
#include "iwarp/verbs/stream.h"

namespace iwarp::verbs {

/// What a stream has made ready and the transport has not sent. Payload lies in the user's memory, and is copied before
/// that memory may change or vanish. The device knows the buffers that are not empty, to find those that refer to
/// memory which its owner withdraws.
class SendBuffer {
public:
    explicit SendBuffer(Device::Impl& device);
    SendBuffer(const SendBuffer&) = delete;
    SendBuffer& operator=(const SendBuffer&) = delete;
    ~SendBuffer();

    bool empty() const { return copy_.empty() && batch_.empty(); }
    std::size_t bytes() const { return copy_.size() - copy_sent_ + batch_.octets(); }
    /// What is filled, after what was copied.
    mpa::Batch& batch() { return batch_; }
    const mpa::Batch& batch() const { return batch_; }

    Stream::Output output(bool align);
    void sent(std::size_t bytes, std::int64_t now_ns);
    void clear();

    /// Whether the memory of the device's streams exceeds its limit.
    bool is_memory_exceeded() const { return device_.stages->account.exceeded(); }
    /// Whether there is memory for a copy of the batch; sizes of copies are powers of two.
    bool has_room_for_copy() const;
    /// Copies the rest of the batch, which is then empty.
    void copy_batch();
    /// Copies the payload of the rest of the batch into the batch.
    void detach_payload() { batch_.detach(); }
    /// The owner removes this memory.
    void withdraw(std::span<const std::byte> memory);

    /// When to check whether the batch's memory is still needed.
    std::optional<std::int64_t> shrink_ns() const { return shrink_ns_; }
    void shrink_if_idle(std::int64_t now_ns);

private:
    static constexpr std::size_t nowhere = ~std::size_t{0};
    /// The batch was filled, or is empty now.
    void update_device();
    void drop_copy();

    Device::Impl& device_;
    mpa::Batch batch_;
    std::vector<std::byte> copy_;  ///< is sent before the batch
    std::size_t copy_sent_ = 0;
    mpa::StreamMemory::Part copy_memory_;
    base::Bytes piece_;                   ///< the part of the copy that output() returns
    std::size_t device_place_ = nowhere;  ///< in Device::Impl::sending
    std::optional<std::int64_t> shrink_ns_;
    std::int64_t sent_ns_ = 0;
};

}  // namespace iwarp::verbs
