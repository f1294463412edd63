// The server of rping (rdma-core, librdmacm/examples/rping.c), for any client of it. One round: the client sends where
// its source is, we read it and send a go-ahead; it sends where its sink is, we write the same there and send again.
#include <algorithm>
#include <array>

#include "cli/endpoint/pattern.h"
#include "cli/endpoint/server_session.h"

namespace cli::endpoint {

namespace {

constexpr std::uint32_t receives = 4;  ///< the client has one message outstanding
constexpr std::size_t slot_octets = 64;
constexpr std::uint64_t lent_octets = 4096;

enum Id : std::uint64_t { id_receive = 0, id_read = receives, id_write, id_send };

class RpingSession final : public Session {
public:
    explicit RpingSession(Host& host) : Session(host, {4, receives, lent_octets, receives * slot_octets}) {
        offer_.message_octets = slot_octets;
        offer_.credits = receives;
    }

    void begin() override {
        for (std::uint64_t slot = 0; slot < receives; ++slot) offer_slot(slot);
    }

    void completed(const iwarp::Completion& done) override {
        if (done.status != iwarp::Status::success) return;
        if (done.id < receives) {
            received(done);
            offer_slot(done.id);
        } else if (done.id == id_read && state_ == State::reading) {
            state_ = State::sink_wanted;
            answer();
        }
    }

private:
    enum class State : std::uint8_t { source_wanted, reading, sink_wanted };

    std::byte* slot(std::uint64_t number) const { return messages_.data() + number * slot_octets; }
    void offer_slot(std::uint64_t number) { post_receive(number, slot(number), slot_octets, message_region_->stag()); }

    void received(const iwarp::Completion& done) {
        ++host_.counters.messages_received;
        host_.counters.message_octets_received += done.length;
        if (done.length != RpingBuffer::octets) return refuse();
        const auto buffer =
            RpingBuffer::decode(std::span<const std::byte, RpingBuffer::octets>(slot(done.id), RpingBuffer::octets));
        if (state_ == State::source_wanted)
            read(buffer);
        else if (state_ == State::sink_wanted)
            write(buffer);
        else
            refuse();
    }

    void read(const RpingBuffer& source) {
        if (source.size > host_.region_octets || !make_room(source.size)) return refuse();
        length_ = source.size;
        state_ = State::reading;
        if (!transfer(id_read, iwarp::Operation::read, source, length_)) refuse();  // an ORD of 0, say
    }

    void write(const RpingBuffer& sink) {
        state_ = State::source_wanted;
        if (!transfer(id_write, iwarp::Operation::write, sink, std::min(length_, sink.size))) return refuse();
        ++host_.counters.pings;
        host_.counters.ping_octets += length_;
        answer();
    }

    bool transfer(std::uint64_t id, iwarp::Operation operation, const RpingBuffer& remote, std::uint32_t length) {
        const iwarp::Sge piece{data_.data(), length, data_region_ ? data_region_->stag() : 0};
        iwarp::SendRequest request;
        request.id = id;
        request.operation = operation;
        request.pieces = {&piece, 1};
        request.remote_stag = remote.stag;
        request.remote_offset = remote.address;
        return queue_pair_->post_send(request) == iwarp::Posted::ok;
    }

    /// What it holds is not looked at by the client.
    void answer() {
        std::array<std::byte, RpingBuffer::octets> message{};
        RpingBuffer{}.encode(message);
        if (post_inline(id_send, message) != iwarp::Posted::ok) return;
        ++host_.counters.messages_sent;
        host_.counters.message_octets_sent += message.size();
    }

    bool make_room(std::uint32_t octets) {
        if (data_.size() >= octets && data_.size() > 0) return true;
        const std::size_t wanted = std::max<std::size_t>(octets, slot_octets);
        data_region_ = nullptr;
        data_ = {};
        data_share_ = {};
        auto share = host_.budget.take(wanted);
        if (!share) return false;
        try {
            data_ = Memory(wanted);
            data_region_ = domain_->register_memory(data_.octets(), iwarp::Access::local_write);
        } catch (const iwarp::Error&) {
            data_ = {};
            return false;
        }
        data_share_ = std::move(*share);
        return true;
    }

    void refuse() {
        ++host_.counters.messages_wrong;
        queue_pair_->disconnect();
    }

    State state_ = State::source_wanted;
    std::uint32_t length_ = 0;
    Budget::Share data_share_ = {};
    Memory data_ = {};
    std::shared_ptr<iwarp::MemoryRegion> data_region_ = {};
};

}  // namespace

std::unique_ptr<Session> make_rping_session(Host& host) { return std::make_unique<RpingSession>(host); }

}  // namespace cli::endpoint
