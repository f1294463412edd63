#include "tests/model/tcp_model.h"

#include <algorithm>
#include <functional>
#include <map>
#include <queue>

#include "wire/mpa.h"

namespace model {
namespace {

using metrics::State;

constexpr std::uint32_t server_start = 7'000'000;
constexpr std::uint32_t start_octets = 20;  ///< of an MPA start frame

struct Piece {
    std::uint64_t begin = 0;  ///< octet of the stream, the first FPDU's being 0
    std::vector<std::byte> octets;
    std::uint64_t message = 0;
    bool last = false;
    bool transmitted = false;
    bool again = false;
    std::int64_t left_ns = 0;
    std::uint64_t end() const { return begin + octets.size(); }
};

class TcpModel {
public:
    explicit TcpModel(const TcpPlan& plan) { out_.plan = plan; }

    TcpHistory run() {
        out_.sender.stretches.push_back({0, State::application_idle});
        set_up();
        at(6 * plan().delay_ns, [this] { post(); });
        while (!events_.empty()) {
            const Event event = events_.top();
            events_.pop();
            now_ = event.time;
            event.happen();
        }
        std::stable_sort(out_.passages.begin(), out_.passages.end(),
                         [](const TcpPassage& a, const TcpPassage& b) { return a.time_ns < b.time_ns; });
        return std::move(out_);
    }

private:
    struct Event {
        std::int64_t time = 0;
        std::uint64_t order = 0;
        std::function<void()> happen;
        bool operator>(const Event& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    const TcpPlan& plan() const { return out_.plan; }
    void at(std::int64_t time, std::function<void()> happen) { events_.push({time, order_++, std::move(happen)}); }

    Segment forward() const {
        Segment segment;
        segment.source_host = 0;
        segment.destination_host = 1;
        segment.source_port = 40000;
        segment.destination_port = 4420;
        segment.acknowledgment = server_start + 1 + start_octets;
        return segment;
    }
    Segment backward() const {
        Segment segment;
        segment.source_host = 1;
        segment.destination_host = 0;
        segment.source_port = 4420;
        segment.destination_port = 40000;
        segment.sequence = server_start + 1 + start_octets;
        return segment;
    }
    std::uint32_t sequence_of(std::uint64_t octet) const {
        return static_cast<std::uint32_t>(plan().start_sequence + 1 + start_octets + octet);
    }
    void pass(std::int64_t leaves, const Segment& segment, bool again, bool lost) {
        out_.passages.push_back({leaves, false, again, segment});
        if (!lost) out_.passages.push_back({leaves + plan().delay_ns, true, again, segment});
    }

    void set_up() {
        const std::int64_t step = plan().delay_ns;
        Segment syn = forward();
        syn.syn = true;
        syn.ack = false;
        syn.acknowledgment = 0;
        syn.sequence = plan().start_sequence;
        pass(100, syn, false, false);
        Segment answer = backward();
        answer.syn = true;
        answer.sequence = server_start;
        answer.acknowledgment = plan().start_sequence + 1;
        pass(step + 200, answer, false, false);
        Segment third = forward();
        third.sequence = plan().start_sequence + 1;
        third.acknowledgment = server_start + 1;
        pass(2 * step + 300, third, false, false);
        Segment request = third;
        request.octets = mpa_start(false);
        pass(2 * step + 400, request, false, false);
        Segment reply = backward();
        reply.sequence = server_start + 1;
        reply.acknowledgment = sequence_of(0);
        reply.octets = mpa_start(true);
        reply.window = window();
        pass(3 * step + 500, reply, false, false);
        peer_window_ = window();
    }

    // the application
    bool may_post() const {
        return posted_ < plan().messages && posted_ - done_ < plan().depth && think_until_ <= now_;
    }
    std::int64_t below(std::int64_t bound) {
        return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(bound)));
    }
    std::int64_t next_beat() {
        due_ns_ = (due_ns_ == 0 ? now_ : due_ns_) + plan().period_ns;
        return due_ns_ + below(plan().jitter_ns);
    }
    void post() {
        refilling_ = false;
        // MULPDU with the MSS 1460, less the DDP header. RFC 5044, 4.5.
        const std::uint32_t most =
            wire::mpa_mulpdu(1460, false) - (plan().operation == metrics::Operation::write ? 14 : 18);
        while (may_post()) {
            std::uint32_t offset = 0;
            do {
                const std::uint32_t bytes = std::min(most, plan().bytes - offset);
                Piece piece;
                piece.begin = pieces_.empty() ? 0 : pieces_.back().end();
                piece.last = offset + bytes == plan().bytes;
                piece.octets =
                    fpdu(plan().operation, bytes, static_cast<std::uint32_t>(posted_ + 1), 0x10000, offset, piece.last);
                piece.message = posted_;
                offset += bytes;
                pieces_.push_back(std::move(piece));
            } while (offset < plan().bytes);
            ++posted_;
            if (plan().burst == 0 || posted_ % plan().burst != 0) continue;
            think_until_ = plan().period_ns != 0 ? next_beat() : now_ + plan().think_ns / 2 + below(plan().think_ns);
            at(think_until_, [this] { post(); });
        }
        transmit();
    }

    // the sender
    void enter(State state) {
        std::vector<Stretch>& stretches = out_.sender.stretches;
        if (stretches.back().since_ns == now_)
            stretches.back().state = state;
        else if (stretches.back().state != state)
            stretches.push_back({now_, state});
    }
    std::size_t missing_piece() const {
        std::size_t i = next_ == 0 ? 0 : next_ - 1;
        while (i > 0 && pieces_[i].begin > acknowledged_) --i;
        return i;
    }
    void transmit() {
        if (busy_) return;
        std::size_t index = next_;
        bool again = false;
        if (repeat_) {
            repeat_ = false;
            index = missing_piece();
            again = true;
        } else if (next_ == pieces_.size()) {
            return enter(refilling_ || (posted_ - done_ >= plan().depth && posted_ < plan().messages)
                             ? State::ack_window
                             : State::application_idle);
        } else if (pieces_[next_].end() > acknowledged_ + peer_window_) {
            return enter(State::credit);
        }
        send(index, again);
    }
    void send(std::size_t index, bool again) {
        Piece& piece = pieces_[index];
        std::vector<Stretch>& stretches = out_.sender.stretches;
        for (std::size_t i = stretches.size(); i-- > 0 && stretches[i].since_ns >= gap_since_;) {
            if (again)
                stretches[i].state = repair_;
            else if (stretches[i].state == State::application_idle && done_ < first_unposted())
                stretches[i].state = State::application_in_flight;
        }
        enter(again ? State::transmit_again : State::transmit_new);
        busy_ = true;
        piece.again = piece.again || again;
        const std::uint64_t octets = segment_link_octets(piece.octets.size());
        const auto takes =
            static_cast<std::int64_t>((octets * 8 * 1'000'000'000 + plan().bits_per_sec - 1) / plan().bits_per_sec);
        at(now_ + takes, [this, index, again] { sent(index, again); });
    }
    std::uint64_t first_unposted() const { return next_ == 0 ? 0 : pieces_[next_ - 1].message + 1; }
    void sent(std::size_t index, bool again) {
        Piece& piece = pieces_[index];
        busy_ = false;
        gap_since_ = now_;
        ++out_.segments;
        out_.retransmitted += again ? 1 : 0;
        if (out_.segments == 1) out_.first_ns = now_;
        out_.last_ns = now_;
        Segment segment = forward();
        segment.sequence = sequence_of(piece.begin);
        segment.octets = piece.octets;
        const bool lost = !again && std::find(plan().losses.begin(), plan().losses.end(), index) != plan().losses.end();
        pass(now_, segment, again, lost);
        if (!lost) at(now_ + plan().delay_ns, [this, index] { receive(index); });
        piece.left_ns = now_;
        if (index == next_) ++next_;
        if (again || deadline_ == INT64_MAX) arm();
        transmit();
    }
    void arm() {
        deadline_ = now_ + plan().timer_ns;
        at(deadline_, [this, due = deadline_] {
            if (due != deadline_) return;
            ++out_.sender.timeouts;
            repair_ = State::recover_timeout;
            repeat_ = true;
            arm();
            transmit();
        });
    }
    void on_ack(std::uint64_t octet, std::uint32_t peer_window) {
        const bool update = peer_window != peer_window_;
        peer_window_ = peer_window;
        if (octet > acknowledged_) {
            acknowledged_ = octet;
            duplicates_ = 0;
            complete();
            const bool all = next_ == 0 || acknowledged_ >= pieces_[next_ - 1].end();
            if (all)
                deadline_ = INT64_MAX;
            else
                arm();
            // RFC 6582: an ACK of a part says that the next one is missing too.
            if (acknowledged_ < recover_ && !all) repeat_ = true;
        } else if (!update && next_ != 0 && acknowledged_ < pieces_[next_ - 1].end() && ++duplicates_ == 3 &&
                   acknowledged_ >= recover_) {
            recover_ = pieces_[next_ - 1].end();
            repair_ = State::recover_nak;
            repeat_ = true;
        }
        transmit();
    }
    void complete() {
        while (oldest_ < next_ && pieces_[oldest_].end() <= acknowledged_) {
            const Piece& piece = pieces_[oldest_++];
            message_again_ = message_again_ || piece.again;
            if (!piece.last) continue;
            if (!message_again_) out_.latency_ns.push_back(static_cast<std::uint64_t>(now_ - piece.left_ns));
            message_again_ = false;
            const bool was_full = posted_ - done_ >= plan().depth;
            ++done_;
            if (!was_full || refilling_ || !may_post()) continue;
            refilling_ = true;
            at(now_ + plan().reaction_ns, [this] { post(); });
        }
    }

    // the receiver
    std::uint16_t window() const {
        return static_cast<std::uint16_t>(plan().receive_window > undrained_ ? plan().receive_window - undrained_ : 0);
    }
    void receive(std::size_t index) {
        const Piece& piece = pieces_[index];
        const bool in_order = piece.begin == expected_;
        if (piece.begin >= expected_) waiting_[piece.begin] = piece.octets.size();
        const bool hole = !in_order || waiting_.size() > 1;
        for (auto next = waiting_.begin(); next != waiting_.end() && next->first == expected_;
             next = waiting_.erase(next)) {
            expected_ += next->second;
            if (plan().drain_ns == 0) continue;
            undrained_ += next->second;
            at(now_ + plan().drain_ns, [this, octets = next->second] { drain(octets); });
        }
        if (hole || ++unacknowledged_ >= 2) return acknowledge();
        at(now_ + 40'000, [this, then = expected_] {
            if (unacknowledged_ != 0 && expected_ == then) acknowledge();
        });
    }
    void drain(std::uint64_t octets) {
        const bool closed = window() < 1460;
        undrained_ -= octets;
        if (closed && window() >= 1460) acknowledge();
    }
    void acknowledge() {
        unacknowledged_ = 0;
        Segment segment = backward();
        segment.acknowledgment = sequence_of(expected_);
        segment.window = window();
        pass(now_ + 300, segment, false, false);
        at(now_ + 300 + plan().delay_ns, [this, octet = expected_, room = segment.window] { on_ack(octet, room); });
    }

    TcpHistory out_;
    Random random_{5};
    std::int64_t now_ = 0;
    std::uint64_t order_ = 0;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::vector<Piece> pieces_;
    std::size_t next_ = 0;    ///< piece to transmit for the first time
    std::size_t oldest_ = 0;  ///< not acknowledged
    std::uint64_t posted_ = 0;
    std::uint64_t done_ = 0;
    std::int64_t think_until_ = 0;
    std::int64_t due_ns_ = 0;
    bool refilling_ = false;
    bool busy_ = false;
    bool repeat_ = false;
    bool message_again_ = false;
    State repair_ = State::recover_nak;
    std::int64_t gap_since_ = 0;
    std::int64_t deadline_ = INT64_MAX;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t recover_ = 0;
    std::uint32_t peer_window_ = 0;
    unsigned duplicates_ = 0;
    std::uint64_t expected_ = 0;
    std::map<std::uint64_t, std::uint64_t> waiting_;  ///< octets arrived from here on, beyond the expected
    std::uint64_t undrained_ = 0;
    unsigned unacknowledged_ = 0;
};

}  // namespace

TcpHistory run(const TcpPlan& plan) { return TcpModel(plan).run(); }

std::vector<support::KeptFrame> capture(const TcpHistory& history, bool at_receiver) {
    std::vector<support::KeptFrame> frames;
    for (const TcpPassage& passage : history.passages) {
        const bool towards_receiver = passage.segment.source_host == 0;
        if (passage.arriving == (towards_receiver == at_receiver))
            frames.push_back(emit(passage.segment, 1'700'000'000'000'000'000 + passage.time_ns));
    }
    return frames;
}

std::vector<TcpPlan> tcp_plans() {
    std::vector<TcpPlan> plans(8);
    plans[0].name = "window";
    plans[1].name = "sends";
    plans[1].operation = metrics::Operation::send;
    plans[1].bytes = 5000;
    plans[1].depth = 4;
    plans[2].name = "idle";
    plans[2].burst = 4;
    plans[2].think_ns = 400'000;
    plans[2].depth = 32;
    plans[3].name = "receive_window";
    plans[3].bytes = 20'000;
    plans[3].messages = 200;
    plans[3].receive_window = 16'384;
    plans[3].drain_ns = 50'000;
    plans[4].name = "fast_retransmit";
    plans[4].bytes = 8000;
    plans[4].depth = 4;
    for (std::uint64_t i = 20; i < 5500; i += 97) plans[4].losses.push_back(i);
    plans[5].name = "timeouts";
    plans[5].depth = 1;
    plans[5].messages = 300;
    for (std::uint64_t i = 10; i < 300; i += 10) plans[5].losses.push_back(i);
    plans[6].name = "line_rate";
    plans[6].bytes = 65'536;
    plans[6].messages = 60;
    plans[6].depth = 60;
    plans[6].delay_ns = 5'000;
    plans[7].name = "small";
    plans[7].bytes = 64;
    plans[7].depth = 16;
    return plans;
}

std::vector<TcpPlan> paced_tcp_plans() {
    std::vector<TcpPlan> plans(5);
    for (TcpPlan& plan : plans) {
        plan.messages = 400;
        plan.depth = 32;
        plan.burst = 1;
        plan.period_ns = 5'000'000;
    }
    plans[0].name = "paced";
    plans[1].name = "paced_with_jitter";
    plans[1].jitter_ns = 200'000;
    plans[2].name = "paced_bursts";
    plans[2].burst = 4;
    plans[3].name = "paced_sends";
    plans[3].operation = metrics::Operation::send;
    plans[3].bytes = 5000;
    plans[4].name = "paced_slowly";
    plans[4].period_ns = 60'000'000;
    return plans;
}

}  // namespace model
