// Sessions that take messages. iWARP has no "receiver not ready": a message without a receive ends the connection, so
// the client has as many outstanding as the server has receives, and gets a message when there are more.
#include <algorithm>
#include <array>
#include <cstring>

#include "cli/endpoint/memory_budget.h"
#include "cli/endpoint/pattern.h"
#include "cli/endpoint/server_session.h"

namespace cli::endpoint {

namespace {

constexpr std::uint32_t deepest = 4096;
constexpr std::uint32_t credit_messages = 16;  ///< under way at once

/// Receives for messages of one size, all in one piece of memory.
class MessageSession : public Session {
public:
    void begin() override {
        for (std::uint32_t slot = 0; slot < slots_; ++slot) offer_slot(slot);
    }

protected:
    /// `places`: of memory, which the slots use in turn.
    MessageSession(Host& host, const Hello& hello, std::uint32_t slots, std::uint32_t send, std::uint32_t places)
        : Session(host, {send, slots, 0, places * stride_of(hello)}),
          slots_(slots),
          places_(places),
          stride_(stride_of(hello)),
          message_octets_(hello.message_octets) {
        offer_.message_octets = hello.message_octets;
    }

    /// As many as are asked for and fit a region; at least one.
    static std::uint32_t slots_for(const Host& host, const Hello& hello, std::uint32_t depth) {
        const std::uint64_t fitting = host.region_octets / stride_of(hello);
        return static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(std::min<std::uint64_t>(depth, fitting), 1, deepest));
    }
    static std::uint64_t stride_of(const Hello& hello) {
        return std::max<std::uint64_t>(64, (std::uint64_t{hello.message_octets} + 63) / 64 * 64);
    }

    std::byte* slot(std::uint64_t number) const { return messages_.data() + number % places_ * stride_; }
    void offer_slot(std::uint64_t number) {
        post_receive(number, slot(number), message_octets_, message_region_->stag());
    }
    void count_received(const iwarp::Completion& done) {
        ++host_.counters.messages_received;
        host_.counters.message_octets_received += done.length;
    }

    std::uint32_t slots_;
    std::uint32_t places_;
    std::uint64_t stride_;
    std::uint32_t message_octets_;
};

class SinkSession final : public MessageSession {
public:
    SinkSession(Host& host, const Hello& hello)
        : MessageSession(host, hello, slots_for(host, hello, hello.depth), credit_messages, places_for(host, hello)),
          verify_(hello.verify) {
        offer_.credits = slots_;
    }

    void completed(const iwarp::Completion& done) override {
        if (done.status != iwarp::Status::success) return;
        if (done.id >= slots_) {
            --under_way_;
            return;
        }
        count_received(done);
        if (verify_ && !as_agreed(done)) {
            ++wrong_;
            ++host_.counters.messages_wrong;
        }
        ++number_;
        offer_slot(done.id);
        ++owed_;
    }

    void settle() override {
        if (owed_ == 0 || under_way_ == credit_messages) return;
        std::array<std::byte, Credit::octets> message{};
        Credit{owed_, wrong_}.encode(message);
        if (post_inline(slots_, message) != iwarp::Posted::ok) return;
        ++under_way_;
        owed_ = 0;
        ++host_.counters.messages_sent;
        host_.counters.message_octets_sent += message.size();
    }

private:
    /// What is not compared need not be kept apart: the messages then come where the last ones are in a cache.
    static std::uint32_t places_for(const Host& host, const Hello& hello) {
        const std::uint32_t slots = slots_for(host, hello, hello.depth);
        if (hello.verify) return slots;
        return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(cached_octets / stride_of(hello), 1, slots));
    }

    /// Message n is the pattern from byte n on.
    bool as_agreed(const iwarp::Completion& done) const {
        return done.length == message_octets_ &&
               (done.length == 0 ||
                std::memcmp(slot(done.id), host_.readable.data() + number_ % Pattern::period, done.length) == 0);
    }

    bool verify_;
    std::uint64_t number_ = 0;
    std::uint32_t owed_ = 0;
    std::uint32_t wrong_ = 0;
    std::uint32_t under_way_ = 0;
};

/// Twice as many receives as the client may have outstanding: one half is being sent back.
class EchoSession final : public MessageSession {
public:
    EchoSession(Host& host, const Hello& hello) : EchoSession(host, hello, std::clamp(hello.depth, 1U, deepest / 2)) {}

    void completed(const iwarp::Completion& done) override {
        if (done.status != iwarp::Status::success) return;
        if (done.id >= slots_) return offer_slot(done.id - slots_);
        count_received(done);
        const iwarp::Sge piece{slot(done.id), done.length, message_region_->stag()};
        iwarp::SendRequest request;
        request.id = slots_ + done.id;
        request.pieces = {&piece, 1};
        if (queue_pair_->post_send(request) != iwarp::Posted::ok) return;
        ++host_.counters.messages_sent;
        host_.counters.message_octets_sent += done.length;
    }

private:
    EchoSession(Host& host, const Hello& hello, std::uint32_t depth)
        : MessageSession(host, hello, 2 * std::max(1U, slots_for(host, hello, 2 * depth) / 2),
                         2 * std::max(1U, slots_for(host, hello, 2 * depth) / 2),
                         2 * std::max(1U, slots_for(host, hello, 2 * depth) / 2)) {
        offer_.credits = slots_ / 2;
    }
};

}  // namespace

std::unique_ptr<Session> make_sink_session(Host& host, const Hello& hello) {
    return std::make_unique<SinkSession>(host, hello);
}
std::unique_ptr<Session> make_echo_session(Host& host, const Hello& hello) {
    return std::make_unique<EchoSession>(host, hello);
}

}  // namespace cli::endpoint
