#include <algorithm>
#include <cstring>
#include <fmt/core.h>

#include "cli/endpoint/bench.h"
#include "cli/endpoint/memory_budget.h"

namespace cli::endpoint {

namespace {

constexpr std::uint64_t verified_octets = std::uint64_t{16} << 20;  ///< what `serve` lends by default

std::uint64_t stride_of(const BenchOptions& options) {
    return std::max<std::uint64_t>(64, (options.size + 63) / 64 * 64);
}

/// Buffers used in turn. Where contents are compared, each request has one of its own until it is done.
std::uint64_t slots_of(const BenchOptions& options) {
    const bool own = options.verify || options.ping_pong || options.kind == BenchKind::atomic;
    const std::uint64_t fitting = (own ? verified_octets : cached_octets) / stride_of(options);
    return std::clamp<std::uint64_t>(fitting, 1, options.depth);
}

bool reads_back(const BenchOptions& options) { return options.kind == BenchKind::write && options.verify; }

/// A read that shows what was written belongs to the same request.
std::uint32_t requests_of(const BenchOptions& options) {
    return static_cast<std::uint32_t>(options.depth * (reads_back(options) ? 2 : 1) + 1);
}

std::uint32_t receives_of(const BenchOptions& options) {
    return options.kind == BenchKind::send ? static_cast<std::uint32_t>(options.depth) : 1;
}

std::uint64_t receive_octets(const BenchOptions& options) {
    return options.ping_pong ? stride_of(options) : Credit::octets;
}

}  // namespace

std::size_t Lane::completions(const BenchOptions& options) {
    return std::size_t{requests_of(options)} + receives_of(options);
}

Lane::Lane(Shared& shared, std::uint32_t index)
    : shared_(shared),
      index_(index),
      slots_(slots_of(shared.options)),
      stride_(stride_of(shared.options)),
      depth_(shared.options.verify || shared.options.ping_pong ? std::min(slots_, shared.options.depth)
                                                               : shared.options.depth),
      memory_(slots_ * stride_ * (reads_back(shared.options) ? 2 : 1)),
      receives_(receives_of(shared.options) * receive_octets(shared.options)),
      begun_(shared.options.depth) {
    region_ = shared.domain->register_memory(memory_.octets(), iwarp::Access::local_write);
    receive_region_ = shared.domain->register_memory(receives_.octets(), iwarp::Access::local_write);
    iwarp::QueuePairOptions queues;
    queues.max_send = requests_of(shared.options);
    queues.max_receive = receives_of(shared.options);
    queues.max_pieces = 1;
    queues.max_inline = 0;
    queue_pair_ = shared.device.create_queue_pair(shared.domain, shared.completions, shared.completions, queues);
    for (std::uint64_t slot = 0; slot < slots_; ++slot)
        shared.pattern.copy({memory_.data() + slot * stride_, shared.options.size}, slot);
}

void Lane::connect() {
    const BenchOptions& options = shared_.options;
    Hello hello;
    hello.verify = options.verify;
    if (options.kind == BenchKind::send) {
        hello.service = echoes() ? Hello::Service::echo : Hello::Service::sink;
        hello.message_octets = static_cast<std::uint32_t>(options.size);
        hello.depth = static_cast<std::uint32_t>(depth_);
    } else if (options.kind == BenchKind::write) {
        hello.writable_octets = slots_ * stride_;
    } else if (options.kind == BenchKind::atomic) {
        hello.writable_octets = 64;
    }
    iwarp::ConnectionOptions connection = options.connection;
    connection.private_data = hello.encode();
    queue_pair_->connect(options.to.host, options.to.port, connection);
}

void Lane::established(std::span<const std::byte> private_data) {
    const BenchOptions& options = shared_.options;
    const std::string name = text_of(options.to);
    const auto offer = Offer::decode(private_data);
    if (!offer)
        throw iwarp::Error(
            fmt::format("{} offers no memory and no credits: it is no `rdmascope endpoint serve` of this "
                        "version; `endpoint ping` works with rping too",
                        name));
    offer_ = *offer;
    if (options.kind == BenchKind::read && offer_.readable.length < options.size)
        throw iwarp::Error(fmt::format("{} lends {} bytes to be read, --size is {}; give its serve a larger --region",
                                       name, offer_.readable.length, options.size));
    if (options.kind == BenchKind::write || options.kind == BenchKind::atomic) {
        const std::uint64_t needed = options.kind == BenchKind::atomic ? 8 : options.size;
        if (offer_.writable.length < needed)
            throw iwarp::Error(fmt::format("{} lends {} bytes to be written, {} are needed; give it a larger --region",
                                           name, offer_.writable.length, needed));
        if (options.kind == BenchKind::write)
            slots_ = std::clamp<std::uint64_t>(offer_.writable.length / stride_, 1, slots_);
        if (reads_back(options)) depth_ = std::min(depth_, slots_);
    }
    if (options.kind == BenchKind::send) {
        if (offer_.message_octets < options.size)
            throw iwarp::Error(fmt::format("{} takes messages of {} bytes at most, --size is {}", name,
                                           offer_.message_octets, options.size));
        if (offer_.credits == 0) throw iwarp::Error(fmt::format("{} takes no messages", name));
        depth_ = std::min<std::uint64_t>(depth_, offer_.credits);
        const auto receives = echoes() ? depth_ : std::min<std::uint64_t>(offer_.credits, receives_of(options));
        for (std::uint32_t slot = 0; slot < receives; ++slot) offer_slot(slot);
    }
    const auto agreement = queue_pair_->agreement();
    const bool answers = options.kind == BenchKind::read || options.kind == BenchKind::atomic || reads_back(options);
    if (answers && agreement && agreement->ord == 0)
        throw iwarp::Error(fmt::format("{} serves no reads on this connection (ORD 0); give it a larger --ird", name));
    shared_.result.deepest = std::max(shared_.result.deepest, depth_);
}

void Lane::offer_slot(std::uint32_t slot) {
    const std::uint64_t octets = receive_octets(shared_.options);
    const std::uint64_t length = echoes() ? shared_.options.size : octets;
    const iwarp::Sge piece{receives_.data() + slot * octets, static_cast<std::uint32_t>(length),
                           receive_region_->stag()};
    queue_pair_->post_receive({id(tag_receive + slot), {&piece, 1}});
}

void Lane::post(iwarp::Operation operation, std::uint32_t tag, std::byte* at, std::uint64_t length, bool signalled,
                const RemoteRegion& remote, std::uint64_t offset) {
    const iwarp::Sge piece{at, static_cast<std::uint32_t>(length), region_->stag()};
    iwarp::SendRequest request;
    request.id = id(tag);
    request.operation = operation;
    request.pieces = {&piece, 1};
    request.signalled = signalled;
    request.remote_stag = remote.stag;
    request.remote_offset = remote.offset + offset;
    if (const auto posted = queue_pair_->post_send(request);
        posted != iwarp::Posted::ok && posted != iwarp::Posted::wrong_state)
        throw iwarp::Error(fmt::format("a request was not taken: {}", iwarp::name_of(posted)));
}

/// Where request `number` reads: in turn through what is lent where contents are compared, else few places.
std::uint64_t Lane::source_of(std::uint64_t number) const {
    const std::uint64_t places = offer_.readable.length / stride_;
    if (places <= 1) return 0;
    return number % (shared_.options.verify ? places : std::min(places, slots_)) * stride_;
}

void Lane::post(std::int64_t now_ns, std::int64_t due_ns) {
    const BenchOptions& options = shared_.options;
    BenchResult& result = shared_.result;
    const std::uint64_t number = posted_++;
    begun_[number % begun_.size()] = {now_ns, due_ns};
    std::byte* at = local(number);
    const std::uint64_t slot = number % slots_ * stride_;
    switch (options.kind) {
        case BenchKind::write:
            if (options.verify) shared_.pattern.copy({at, options.size}, number);
            result.writes.add(options.size);
            post(iwarp::Operation::write, tag_done, at, options.size, !options.verify, offer_.writable, slot);
            if (!options.verify) break;
            // The Read comes after the Write and shows what it placed (RFC 5040 section 5.5).
            std::memset(back(number), 0xff, options.size);
            result.reads.add(options.size);
            post(iwarp::Operation::read, tag_done, back(number), options.size, true, offer_.writable, slot);
            break;
        case BenchKind::read:
            if (options.verify) std::memset(at, 0xff, options.size);
            result.reads.add(options.size);
            post(iwarp::Operation::read, tag_done, at, options.size, true, offer_.readable, source_of(number));
            break;
        case BenchKind::send:
            if (options.verify) shared_.pattern.copy({at, options.size}, number);
            result.sends.add(options.size);
            post(iwarp::Operation::send, tag_sent, at, options.size, true, {}, 0);
            break;
        case BenchKind::atomic: post_atomic(); break;
    }
}

void Lane::post_atomic() {
    const bool swap = shared_.options.compare_swap;
    std::uint64_t first = 0;
    std::memcpy(&first, shared_.pattern.at(0, sizeof first).data(), sizeof first);
    const std::uint64_t number = posted_ - 1;
    const iwarp::Sge piece{local(number), 8, region_->stag()};
    iwarp::SendRequest request;
    request.id = id(tag_done);
    request.operation = swap ? iwarp::Operation::compare_swap : iwarp::Operation::fetch_add;
    request.pieces = {&piece, 1};
    request.remote_stag = offer_.writable.stag;
    request.remote_offset = offer_.writable.offset;
    request.operand = swap ? first + number + 1 : 1;
    request.compare = first + number;
    shared_.result.atomics.add(8);
    if (const auto posted = queue_pair_->post_send(request);
        posted != iwarp::Posted::ok && posted != iwarp::Posted::wrong_state)
        throw iwarp::Error(fmt::format("an atomic was not taken: {}", iwarp::name_of(posted)));
}

void Lane::flush() {
    const auto agreement = queue_pair_->agreement();
    if (shared_.options.kind != BenchKind::write || shared_.options.verify || !agreement || agreement->ord == 0) return;
    flushing_ = true;
    shared_.result.reads.add(0);
    post(iwarp::Operation::read, tag_flush, memory_.data(), 0, true, offer_.writable, 0);
}

void Lane::completed(const iwarp::Completion& completion, std::int64_t now_ns) {
    const auto tag = static_cast<std::uint32_t>(completion.id);
    if (tag == tag_flush) {
        flushing_ = false;
    } else if (tag == tag_done) {
        check(done_);
        done_one(now_ns);
    } else if (tag >= tag_receive && echoes()) {
        const std::byte* echo = receives_.data() + (tag - tag_receive) * receive_octets(shared_.options);
        if (completion.length != shared_.options.size ||
            (shared_.options.verify && !shared_.pattern.matches({echo, completion.length}, done_)))
            ++shared_.result.wrong;
        offer_slot(tag - tag_receive);
        done_one(now_ns);
    } else if (tag >= tag_receive) {
        const std::byte* at = receives_.data() + (tag - tag_receive) * Credit::octets;
        const Credit credit = Credit::decode(std::span<const std::byte, Credit::octets>(at, Credit::octets));
        offer_slot(tag - tag_receive);
        // Of the messages that it has taken, not more than it says it has.
        shared_.result.wrong += std::min(credit.wrong - std::min(wrong_, credit.wrong), credit.messages);
        wrong_ = credit.wrong;
        for (std::uint32_t i = 0; i < credit.messages && done_ < posted_; ++i) done_one(now_ns);
    }
}

void Lane::check(std::uint64_t number) {
    const BenchOptions& options = shared_.options;
    if (!options.verify) return;
    bool right = true;
    if (options.kind == BenchKind::atomic) {
        std::uint64_t first = 0;
        std::uint64_t original = 0;
        std::memcpy(&first, shared_.pattern.at(0, sizeof first).data(), sizeof first);
        std::memcpy(&original, local(number), sizeof original);
        right = original == first + number;
    } else {
        const std::uint64_t from = options.kind == BenchKind::write ? number : source_of(number);
        const std::byte* got = options.kind == BenchKind::write ? back(number) : local(number);
        right = shared_.pattern.matches({got, options.size}, from);
    }
    if (!right) ++shared_.result.wrong;
}

void Lane::done_one(std::int64_t now_ns) {
    const Begun& begun = begun_[done_++ % begun_.size()];
    BenchResult& result = shared_.result;
    ++result.messages;
    result.octets += shared_.options.kind == BenchKind::atomic ? 8 : shared_.options.size;
    result.latency.record(static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns - begun.at_ns, 0)));
    if (!shared_.options.bits_per_sec) return;
    ++(now_ns <= begun.due_ns ? result.deadlines_met : result.deadlines_missed);
}

}  // namespace cli::endpoint
