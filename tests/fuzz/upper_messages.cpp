/// Fuzz target `upper_messages`: messages of an upper layer, from both sides of a connection, through its commands and
/// through the description of each. The first octet chooses the protocol; a record is a kind, a length of two octets
/// and its octets.
#include <array>
#include <vector>

#include "dissect/upper_message.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"
#include "upper/message_flow.h"
#include "upper/message_writer.h"
#include "upper/upper_connection.h"

namespace {

/// Describes every message, and holds commands to what must be true of them.
class Checker final : public upper::Listener, public dissect::Sink {
public:
    void on_message(const dissect::UpperMessage& message) override {
        fuzz::check(message.dissection, message.bytes.size());
        examiner_.begin(message.bytes.size());
        dissect::describe(message.dissection, message.bytes, examiner_);
        examiner_.end();
    }
    void on_frame(const wire::Frame&, const dissect::Dissection&) override {}
    void on_unit(const dissect::Unit&) override {}

    void message(const upper::MessageNote& note) override { writer_.write(frame_, note); }
    void command(const upper::Connection&, const upper::FinishedCommand& finished) override {
        if (finished.end != upper::CommandEnd::answered) return;
        if (finished.request_ack_ns.value_or(0) > finished.parts.latency_ns())
            fuzz::violated("an acknowledgement is part of the latency");
    }
    void ended(const upper::Connection& connection) override {
        const upper::ConnectionTime& time = connection.time();
        std::uint64_t sum = 0;
        for (const std::uint64_t ns : time.state_ns()) sum += ns;
        const auto wall = time.first_ns() ? static_cast<std::uint64_t>(time.last_ns() - *time.first_ns()) : 0;
        if (sum != wall) fuzz::violated("the states of a connection sum to its time");
    }

private:
    fuzz::Examiner examiner_ = {};
    wire::Frame frame_ = {};
    upper::MessageWriter writer_{*this};
};

/// Two flows with one packet a message.
class Conversation {
public:
    explicit Conversation(const upper::Protocol& protocol) : protocol_(protocol) {
        connection_.set_flow(0, flows_[0]);
        connection_.set_flow(1, flows_[1]);
        connection_.recognize(protocol, upper::Evidence::user, 0, {});
        for (upper::Flow& flow : flows_) flow.position_of(0);
    }

    /// Bit 0: of the target; bits 1 and 2: SEND, WRITE, READ, acknowledgement; bit 3: cut by the snap length.
    void pass(unsigned kind, base::Bytes payload) {
        const unsigned side = kind & 1;
        time_ns_ += 1000;
        ++frame_;
        switch (kind >> 1 & 3) {
            case 0: remember_grant(side, payload); return pass(side, upper::Operation::send, kind, payload);
            case 1: return pass(side, upper::Operation::write, kind, payload);
            case 2: return read(side, payload);
            default: flows_[side].acknowledge(flows_[side].next(), time_ns_);
        }
    }
    void end() { connection_.end(); }

private:
    void remember_grant(unsigned side, base::Bytes payload) {
        upper::ConnectionFacts facts;
        upper::Said said;
        protocol_.parse(payload, payload.size(), side == 0, facts, said);
        if (said.grant_count > upper::Said::max_grants) fuzz::violated("a request has at most max_grants grants");
        if (said.grant_count != 0) grant_ = said.grants[said.grant_count - 1];
    }
    upper::Passing packet(unsigned side, upper::Operation operation, std::uint64_t length, base::Bytes payload) {
        upper::Passing passing;
        passing.begin = flows_[side].position_of(next_[side]++);
        passing.end = passing.begin + 1;
        passing.begin_ns = time_ns_;
        passing.end_ns = time_ns_;
        passing.first_frame = frame_;
        passing.frame = frame_;
        passing.operation = operation;
        passing.starts = true;
        passing.ends = true;
        passing.length = static_cast<std::uint32_t>(length);
        passing.payload = payload;
        passing.has_target = operation != upper::Operation::send;
        passing.key = grant_.key;
        passing.address = grant_.address;
        passing.asked = length;
        return passing;
    }
    void pass(unsigned side, upper::Operation operation, unsigned kind, base::Bytes payload) {
        const std::uint64_t cut = (kind & 8) != 0 ? 100 : 0;
        flows_[side].pass(packet(side, operation, payload.size() + cut, payload));
    }
    void read(unsigned side, base::Bytes payload) {
        upper::Passing request = packet(side, upper::Operation::read, payload.size(), {});
        flows_[side].pass(request);
        upper::Passing response;
        response.end_ns = time_ns_ + 500;
        response.frame = frame_;
        response.operation = upper::Operation::read;
        response.starts = true;
        response.ends = true;
        response.length = static_cast<std::uint32_t>(payload.size());
        response.payload = payload;
        flows_[side].read_response(request.begin, response);
    }

    const upper::Protocol& protocol_;
    Checker checker_ = {};
    upper::CommandBudget budget_{64};
    upper::Connection connection_{1, checker_, budget_};
    std::array<upper::Flow, 2> flows_{upper::Flow{wire::Transport::roce2, {}, {}, 24},
                                      upper::Flow{wire::Transport::roce2, {}, {}, 24}};
    std::array<std::uint32_t, 2> next_ = {};
    upper::Grant grant_ = {};
    std::int64_t time_ns_ = 0;
    std::uint64_t frame_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto protocols = upper::all_protocols();
    Conversation conversation(*protocols[data[0] % protocols.size()]);
    std::size_t at = 1;
    while (at + 3 <= size) {
        const unsigned kind = data[at];
        const std::size_t length = std::min(std::size_t{data[at + 1]} | std::size_t{data[at + 2]} << 8, size - at - 3);
        // Bytes of their own: a sanitizer sees every read past them.
        const auto* first = reinterpret_cast<const std::byte*>(data) + at + 3;
        const std::vector<std::byte> payload(first, first + length);
        conversation.pass(kind, payload);
        at += 3 + length;
    }
    conversation.end();
    return 0;
}
