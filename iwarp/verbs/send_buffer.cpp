#include "iwarp/verbs/send_buffer.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace iwarp::verbs {
namespace {

bool overlap(base::Bytes one, base::Bytes other) {
    const std::less<const std::byte*> before;
    return before(one.data(), other.data() + other.size()) && before(other.data(), one.data() + one.size());
}

}  // namespace

SendBuffer::SendBuffer(Device::Impl& device)
    : device_(device), batch_(&device.stages->account), copy_memory_(&device.stages->account) {}

SendBuffer::~SendBuffer() {
    batch_.clear();
    update_device();
}

void SendBuffer::update_device() {
    std::vector<SendBuffer*>& sending = device_.sending;
    if (!batch_.empty() && device_place_ == nowhere) {
        device_place_ = sending.size();
        sending.push_back(this);
    } else if (batch_.empty() && device_place_ != nowhere) {
        sending[device_place_] = sending.back();
        sending[device_place_]->device_place_ = device_place_;
        sending.pop_back();
        device_place_ = nowhere;
    }
}

Stream::Output SendBuffer::output(bool align) {
    update_device();
    if (!copy_.empty()) {
        piece_ = base::Bytes{copy_}.subspan(copy_sent_);
        return {{&piece_, piece_.empty() ? 0U : 1U}, false};
    }
    if (batch_.empty()) return {};
    if (align) return {batch_.next_fpdu(), true};
    return {batch_.pieces(), false};
}

void SendBuffer::sent(std::size_t bytes, std::int64_t now_ns) {
    const std::size_t of_copy = std::min(bytes, copy_.size() - copy_sent_);
    copy_sent_ += of_copy;
    if (copy_sent_ == copy_.size()) drop_copy();
    if (bytes > of_copy) batch_.consume(bytes - of_copy);
    update_device();
    sent_ns_ = now_ns;
    if (!shrink_ns_) shrink_ns_ = now_ns + 1'000'000'000;
}

void SendBuffer::clear() {
    shrink_ns_.reset();
    batch_.clear();
    update_device();
    drop_copy();
}

void SendBuffer::drop_copy() {
    std::vector<std::byte>().swap(copy_);  // `= {}` would keep its memory
    copy_memory_.set(0);
    copy_sent_ = 0;
}

bool SendBuffer::has_room_for_copy() const {
    return batch_.empty() || std::bit_ceil(batch_.octets()) <= device_.stages->account.left();
}

void SendBuffer::copy_batch() {
    if (batch_.empty()) return;
    std::vector<std::byte> rest;
    rest.reserve(bytes());
    rest.assign(copy_.begin() + static_cast<std::ptrdiff_t>(copy_sent_), copy_.end());
    for (const base::Bytes piece : batch_.pieces()) rest.insert(rest.end(), piece.begin(), piece.end());
    batch_.clear();
    copy_ = std::move(rest);
    copy_memory_.set(copy_.size());
    copy_sent_ = 0;
}

void SendBuffer::withdraw(std::span<const std::byte> memory) {
    const auto pieces = batch_.pieces();
    if (std::ranges::any_of(pieces, [&](base::Bytes piece) { return overlap(piece, memory); })) copy_batch();
}

void SendBuffer::shrink_if_idle(std::int64_t now_ns) {
    if (!shrink_ns_ || now_ns < *shrink_ns_) return;
    constexpr std::int64_t idle_ns = 1'000'000'000;
    const bool idle = now_ns - sent_ns_ >= idle_ns && batch_.empty();
    if (idle) batch_.shrink();
    shrink_ns_ = idle ? std::nullopt : std::optional{now_ns + idle_ns};
}

}  // namespace iwarp::verbs
