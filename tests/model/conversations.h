#pragma once
#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "tests/model/analyzers.h"
#include "tests/model/model_segment.h"
#include "tests/model/plan.h"
#include "tests/model/talk.h"
#include "wire/rdmap_atomic.h"

namespace model {

using wire::RdmapOpcode;

/// Random conversations of iWARP as a `Talk` describes them, fed to all analyzers.
class Conversations {
public:
    Conversations(const Talk& wanted, std::uint64_t seed)
        : wanted_(wanted), random_(seed), known_directions_(seed % 3 == 0), analyzers_(wanted, seed) {
        for (std::uint32_t i = 0; i < wanted.connections; ++i) {
            connections_.push_back(between(i));
            begin(connections_.back());
        }
        for (std::uint32_t i = 0; i < wanted.far; ++i) go_far();
    }

    void step() {
        constexpr std::array<std::int64_t, 11> gaps_ns{0,     50,    100,    400,     700,      900,
                                                       1'100, 5'000, 80'000, 700'000, 2'500'000};
        now_ns_ += random_.below(150) == 0 ? 400'000'000 : gaps_ns[random_.below(gaps_ns.size())];
        if (random_.below(4) == 0) current_ = random_.below(connections_.size());
        Connection& connection = connections_[current_];
        const std::size_t end = wanted_.both ? random_.below(2) : 0;
        if (one_of(wanted_.drops)) analyzers_.dropped(now_ns_);
        if (one_of(wanted_.ends)) return finish(connection);
        switch (random_.below(10)) {
            case 0:
            case 1:
            case 2: acknowledge(connection, end); break;
            case 3: beside(connection); break;
            default: send(connection, end);
        }
    }
    void compare() { analyzers_.compare(); }

private:
    struct Sent {
        Segment segment;
        std::uint32_t end = 0;
    };
    struct Wanted {
        std::uint32_t octets = 0;  ///< 0: an atomic
        std::uint32_t offset = 0;
    };
    /// What one end has sent, and how it receives.
    struct End {
        std::uint32_t host = 0;
        std::uint16_t port = 0;
        std::uint32_t initial = 0;
        std::uint32_t next = 0;
        std::uint32_t acknowledged = 0;
        std::optional<std::uint32_t> missing;  ///< at the receiver
        std::uint32_t msn = 0;
        std::uint32_t asked = 0;
        std::uint32_t answered = 0;
        RdmapOpcode opcode = RdmapOpcode::write;
        std::uint32_t left = 0;  ///< FPDUs of the message under way
        std::uint32_t offset = 0;
        std::vector<std::byte> rest;  ///< of an FPDU that has begun
        std::deque<Wanted> owed;      ///< what it was asked for
        std::deque<Sent> sent;
        std::optional<support::KeptFrame> held;  ///< by the network
        std::uint16_t window = 0xffff;
        std::uint16_t identification = 0;
        std::optional<std::uint8_t> scale;
        bool offloads = false;
    };
    struct Connection {
        std::array<End, 2> ends;
        bool timestamps = false;
        std::uint64_t counts = 0;  ///< how identifications go on: 0 by one, 1 they do not, 2 at random
    };

    bool one_of(std::uint32_t many) { return many != 0 && random_.below(many) == 0; }
    std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(random_.below(bound)); }

    /// Ends that have much in common with those of others.
    static Connection between(std::uint32_t number) {
        Connection out;
        const auto set = [&](std::uint32_t from, std::uint32_t source, std::uint32_t to, std::uint32_t destination) {
            out.ends[0].host = from;
            out.ends[0].port = static_cast<std::uint16_t>(source);
            out.ends[1].host = to;
            out.ends[1].port = static_cast<std::uint16_t>(destination);
        };
        switch (number) {
            case 0: set(0, 4000, 1, 5000); break;
            case 1: set(0, 5000, 1, 4000); break;
            case 2: set(0, 4000, 2, 5000); break;
            case 3: set(2, 4000, 1, 5000); break;
            case 4: set(0, 4000, 1, 5001); break;
            case 5: set(1, 4001, 0, 5000); break;
            default: set(number % 3, 4000 + number, (number + 1) % 3, 5000);
        }
        return out;
    }
    Segment from(Connection& connection, std::size_t end) {
        End& own = connection.ends[end];
        const End& other = connection.ends[1 - end];
        Segment out;
        out.source_host = own.host;
        out.destination_host = other.host;
        out.source_port = own.port;
        out.destination_port = other.port;
        out.sequence = own.next;
        out.acknowledgment = other.acknowledged;
        out.identification = next_identification(connection, own);
        out.ecn = 2;
        if (one_of(wanted_.windows)) change_window(own, other);
        out.window = own.window;
        out.damaged = own.offloads && below(2) == 0;
        if (connection.timestamps) out.timestamp = static_cast<std::uint32_t>(now_ns_ / 10'000);
        return out;
    }
    std::uint16_t next_identification(const Connection& connection, End& own) {
        if (connection.counts == 0) return ++own.identification;
        return connection.counts == 1 ? std::uint16_t{0} : static_cast<std::uint16_t>(below(65536));
    }
    void change_window(End& own, const End& other) {
        constexpr std::array<std::uint32_t, 6> some{0, 1, 1460, 10'000, 40'000, 65'535};
        const unsigned scale = own.scale.value_or(0);
        std::uint32_t octets = some[random_.below(some.size())] << scale;
        if (one_of(wanted_.narrow)) {
            constexpr std::array<std::int32_t, 8> beside{-1, 0, 1, -8, 8, 100, 1000, 2000};
            const std::uint32_t open = other.next - other.acknowledged;
            const std::array<std::uint32_t, 4> lengths{0, last_length_, largest_length_,
                                                       last_length_ + largest_length_};
            octets = open + lengths[random_.below(lengths.size())] +
                     static_cast<std::uint32_t>(beside[random_.below(beside.size())]);
        }
        own.window = static_cast<std::uint16_t>(std::min<std::uint32_t>(octets >> scale, 0xffff));
    }
    void pass(const support::KeptFrame& kept, std::uint32_t host) {
        auto direction = wire::Direction::unknown;
        if (known_directions_) direction = host == 0 ? wire::Direction::outbound : wire::Direction::inbound;
        analyzers_.feed(kept, direction);
    }
    void pass(const Segment& segment) {
        const std::int64_t early_ns = one_of(wanted_.unsorted) ? 1 + below(3000) : 0;
        pass(emit(segment, now_ns_ - early_ns), segment.source_host);
    }

    // ---- what a connection begins and ends with ----

    void begin(Connection& connection) {
        const std::size_t client = below(4) == 0 ? 1 : 0;
        connection.timestamps = below(3) == 0;
        connection.counts = random_.below(4) == 0 ? 1 + random_.below(2) : 0;
        const bool scaled = below(2) == 0;
        for (End& each : connection.ends) {
            End fresh;
            fresh.host = each.host;
            fresh.port = each.port;
            fresh.identification = static_cast<std::uint16_t>(65'000 + below(500));
            fresh.initial = wanted_.far != 0 ? 0xffffffff - 300'000
                            : below(3) == 0  ? 0 - below(1 << 20)
                                             : below(1u << 31);
            if (below(16) == 0) fresh.initial = 0xffffffff;
            fresh.next = fresh.acknowledged = fresh.initial + 1;
            fresh.offloads = one_of(wanted_.offload);
            if (scaled || below(8) == 0) fresh.scale = static_cast<std::uint8_t>(below(9));
            each = fresh;
        }
        if (one_of(wanted_.begun)) return;
        set_up(connection, client);
        if (!scaled)
            for (End& each : connection.ends) each.scale.reset();
    }
    void set_up(Connection& connection, std::size_t client) {
        Segment syn = from(connection, client);
        syn.syn = true;
        syn.ack = false;
        syn.sequence = connection.ends[client].initial;
        syn.acknowledgment = 0;
        syn.window_scale = connection.ends[client].scale;
        feed_or_lose(syn);
        Segment answer = from(connection, 1 - client);
        answer.syn = true;
        answer.sequence = connection.ends[1 - client].initial;
        answer.window_scale = connection.ends[1 - client].scale;
        now_ns_ += 3'000;
        feed_or_lose(answer);
        if (one_of(wanted_.doubled)) feed_or_lose(answer);
        now_ns_ += 2'000;
        feed_or_lose(from(connection, client));
        for (const std::size_t end : {client, 1 - client}) {
            Segment start = from(connection, end);
            start.octets = mpa_start(end != client);
            connection.ends[end].next += static_cast<std::uint32_t>(start.octets.size());
            now_ns_ += 4'000;
            feed_or_lose(start);
            connection.ends[end].acknowledged = connection.ends[end].next;
        }
    }
    void feed_or_lose(const Segment& segment) {
        if (wanted_.losses == 0 || below(8) != 0) pass(segment);
    }
    void finish(Connection& connection) {
        for (End& each : connection.ends)
            if (each.held) pass(*std::exchange(each.held, std::nullopt), each.host);
        if (below(8) == 0) return syn_again(connection);
        const std::size_t first = below(2);
        switch (below(4)) {
            case 0: {
                Segment reset = from(connection, first);
                reset.rst = true;
                if (below(2) == 0) reset.octets = compose(connection, first);
                pass(reset);
                break;
            }
            case 1: break;
            default:
                for (const std::size_t end : {first, 1 - first}) {
                    Segment fin = from(connection, end);
                    fin.fin = true;
                    if (below(3) == 0) fin.octets = compose(connection, end);
                    connection.ends[end].next += static_cast<std::uint32_t>(fin.octets.size()) + 1;
                    pass(fin);
                    if (below(3) == 0) acknowledge(connection, end);
                    if (below(3) == 0) return send(connection, 1 - end);
                }
        }
        // What was on its way.
        if (below(2) == 0) send(connection, first);
        begin(connection);
    }
    /// A SYN that the network had kept.
    void syn_again(Connection& connection) {
        Segment syn = from(connection, below(2));
        syn.syn = true;
        syn.ack = below(2) == 0;
        syn.sequence = connection.ends[syn.source_host == connection.ends[0].host ? 0 : 1].initial;
        pass(syn);
    }
    /// An acknowledgement of 2^30 octets that the tap has not seen.
    void go_far() {
        Connection& connection = connections_[0];
        if (connection.ends[0].next == connection.ends[0].initial + 1) send(connection, 0);
        End& own = connection.ends[0];
        own.rest.clear();
        own.left = 0;
        own.next += 1u << 30;
        own.acknowledged = own.next;
        pass(from(connection, 1));
    }

    // ---- data ----

    void send(Connection& connection, std::size_t end) {
        End& own = connection.ends[end];
        if (one_of(wanted_.again) || (own.missing && below(5) == 0)) return send_again(connection, end);
        if (one_of(wanted_.probes)) return probe(connection, end);
        if (one_of(wanted_.news)) connection.ends[1 - end].acknowledged = news_of(connection.ends[1 - end]);
        if (one_of(wanted_.leaps)) leap(own);
        Segment segment = from(connection, end);
        segment.octets = compose(connection, end);
        segment.ecn = one_of(wanted_.marks) ? 3 : 2;
        segment.ece = one_of(wanted_.marks);
        segment.cwr = one_of(wanted_.marks);
        if (one_of(wanted_.stray)) segment.acknowledgment = strange(connection.ends[1 - end]);
        if (one_of(wanted_.stray)) segment.sacked = {segment.acknowledgment + 100, segment.acknowledgment + 200};
        last_length_ = static_cast<std::uint32_t>(segment.octets.size());
        largest_length_ = std::max(largest_length_, last_length_);
        own.next += last_length_;
        own.sent.push_back({segment, own.next});
        if (own.sent.size() > 6) own.sent.pop_front();
        if (one_of(wanted_.losses)) {
            if (!own.missing) own.missing = segment.sequence;
            return;
        }
        if (one_of(wanted_.unseen)) return;
        if (one_of(wanted_.damage)) segment.damaged = true;
        if (one_of(wanted_.damage)) segment.octets.back() ^= std::byte{1};
        if (own.held) {
            pass(segment);
            now_ns_ += 100;
            pass_late(own);
        } else if (one_of(wanted_.late)) {
            own.held = emit(segment, now_ns_);
        } else {
            pass(segment);
            if (!one_of(wanted_.doubled)) return;
            now_ns_ += below(2) * 100;
            pass(emit(segment, now_ns_), own.host);
        }
    }
    /// Further than any window, where nothing is known of what was before, or not quite so far.
    void leap(End& own) {
        own.next += (below(2) == 0 ? 1u << 29 : 1u << 30) + below(10'000) - 5000;
        if (below(2) == 0) own.acknowledged = own.next;
    }
    void pass_late(End& own) {
        own.held->time_ns = now_ns_;
        pass(*std::exchange(own.held, std::nullopt), own.host);
    }
    void send_again(Connection& connection, std::size_t end) {
        End& own = connection.ends[end];
        if (own.sent.empty()) return;
        Segment segment = own.sent[random_.below(own.sent.size())].segment;
        for (const Sent& each : own.sent)
            if (own.missing && each.segment.sequence == *own.missing) segment = each.segment;
        // A sender that repeats may cut the stream in other places.
        if (const std::size_t count = own.sent.size(); !own.missing && count > 1 && below(2) == 0) {
            const Segment& last = own.sent.back().segment;
            const Sent& before = own.sent[count - 2];
            segment = before.segment;
            if (before.end == last.sequence)
                segment.octets.insert(segment.octets.end(), last.octets.begin(), last.octets.end());
        }
        own.missing.reset();
        const Segment now = from(connection, end);
        segment.acknowledgment = now.acknowledgment;
        segment.window = now.window;
        segment.identification = now.identification;
        segment.timestamp = now.timestamp;
        pass(segment);
    }
    void probe(Connection& connection, std::size_t end) {
        Segment segment = from(connection, end);
        if (below(2) == 0) --segment.sequence;
        segment.octets.resize(1);
        pass(segment);
    }
    /// What the next segment carries.
    std::vector<std::byte> compose(Connection& connection, std::size_t end) {
        End& own = connection.ends[end];
        std::vector<std::byte> out = std::exchange(own.rest, {});
        if (out.empty())
            for (std::uint32_t i = one_of(wanted_.several) ? 2 + below(2) : 1; i != 0; --i) {
                const std::vector<std::byte> next = next_fpdu(own, connection.ends[1 - end]);
                out.insert(out.end(), next.begin(), next.end());
            }
        if (one_of(wanted_.cut) && out.size() > 8) {
            const auto at = static_cast<std::ptrdiff_t>(1 + random_.below(out.size() - 1));
            own.rest.assign(out.begin() + at, out.end());
            out.resize(static_cast<std::size_t>(at));
        }
        return out;
    }
    std::vector<std::byte> next_fpdu(End& own, End& other) {
        if (own.left == 0 && !own.owed.empty()) return answer(own);
        if (own.left == 0) {
            own.opcode = next_opcode();
            own.offset = 0;
            own.left = below(3) == 0 ? 2 + below(3) : 1;
            if (own.opcode == RdmapOpcode::read_request || own.opcode == RdmapOpcode::atomic_request)
                return ask(own, other);
            if (!wire::rdmap_tagged(static_cast<std::uint8_t>(own.opcode))) ++own.msn;
            if (own.opcode == RdmapOpcode::immediate) own.left = 1;
        }
        constexpr std::uint32_t full = 1400;
        const bool sized = below(2) == 0;
        Fpdu next;
        next.opcode = own.opcode;
        next.msn = own.msn;
        next.offset = 0x1000 * random_.below(16);
        next.message_offset = own.offset;
        next.last = own.left == 1;
        next.content.resize(!next.last || sized ? full : below(full));
        if (own.opcode == RdmapOpcode::immediate) next.content.resize(8);
        own.offset += static_cast<std::uint32_t>(next.content.size());
        --own.left;
        return fpdu(next);
    }
    RdmapOpcode next_opcode() {
        constexpr std::array<RdmapOpcode, 4> others{RdmapOpcode::read_request, RdmapOpcode::atomic_request,
                                                    RdmapOpcode::immediate, RdmapOpcode::send_invalidate};
        switch (below(wanted_.kinds)) {
            case 0: return RdmapOpcode::write;
            case 1: return RdmapOpcode::send;
            default: return others[random_.below(others.size())];
        }
    }
    /// A READ or an atomic.
    std::vector<std::byte> ask(End& own, End& other) {
        own.left = 0;
        Fpdu next;
        next.opcode = own.opcode;
        next.msn = ++own.asked;
        if (own.opcode == RdmapOpcode::atomic_request) {
            next.content.resize(wire::size_of<wire::RdmapFetchAdd>);
            other.owed.push_back({});
        } else {
            wire::RdmapReadRequest read;
            read.size = 1 + below(4000);
            next.content.resize(wire::size_of<wire::RdmapReadRequest>);
            wire::emit<wire::RdmapReadRequest>(
                std::span<std::byte, wire::size_of<wire::RdmapReadRequest>>{next.content.data(), next.content.size()},
                read);
            other.owed.push_back({read.size, 0});
        }
        return fpdu(next);
    }
    static std::vector<std::byte> answer(End& own) {
        constexpr std::uint32_t full = 1400;
        Wanted& wanted = own.owed.front();
        Fpdu next;
        if (wanted.octets == 0) {
            next.opcode = RdmapOpcode::atomic_response;
            next.msn = ++own.answered;
            next.content.resize(wire::size_of<wire::RdmapAtomicResponse>);
        } else {
            next.opcode = RdmapOpcode::read_response;
            next.message_offset = wanted.offset;
            next.content.resize(std::min(wanted.octets - wanted.offset, full));
            wanted.offset += static_cast<std::uint32_t>(next.content.size());
            next.last = wanted.offset == wanted.octets;
        }
        if (next.last) own.owed.pop_front();
        return fpdu(next);
    }

    // ---- acknowledgements ----

    /// How far what `own` has sent is acknowledged next.
    std::uint32_t news_of(const End& own) {
        const std::uint32_t open = own.missing ? *own.missing - own.acknowledged : own.next - own.acknowledged;
        if (open == 0 || open > 1u << 30 || below(3) != 0) return own.acknowledged + (open > 1u << 30 ? 0 : open);
        return own.acknowledged + below(open);
    }
    std::uint32_t strange(const End& own) {
        switch (below(6)) {
            case 0: return own.next + 1 + below(5000);
            case 1: return own.next + (1u << 30) + below(1u << 31);
            case 2: return own.acknowledged - 1 - below(1u << 24);
            default: return own.acknowledged - 1 - below(3000);
        }
    }
    /// What `end` has sent is acknowledged by the other one.
    void acknowledge(Connection& connection, std::size_t end) {
        End& own = connection.ends[end];
        if (wanted_.leaps == 0 || below(16) == 0) own.acknowledged = news_of(own);
        Segment segment = from(connection, 1 - end);
        segment.ece = one_of(wanted_.marks);
        if (one_of(wanted_.stray)) segment.acknowledgment = strange(own);
        const bool reports_missing = own.missing && below(2) == 0;
        if (reports_missing || one_of(wanted_.stray)) segment.sacked = {segment.acknowledgment + 100, own.next};
        pass(segment);
        while (own.missing && below(3) != 0) {
            now_ns_ += 300;
            pass(segment);
        }
    }
    /// A PAUSE frame, or one end's traffic with somebody else.
    void beside(Connection& connection) {
        if (one_of(wanted_.pauses)) {
            Packet pause;
            pause.source_host = connection.ends[0].host;
            pause.destination_host = connection.ends[1].host;
            pause.pause = true;
            pause.pause_quanta = static_cast<std::uint16_t>(random_.below(2) * 100);
            return pass(emit(pause, Framing::roce2_ipv4, now_ns_, false), pause.source_host);
        }
        Segment segment = from(connection, 0);
        segment.destination_host = bystander + 2;
        segment.destination_port = 80;
        segment.octets.resize(1000);
        for (std::uint64_t i = random_.below(12); i != 0; --i) {
            now_ns_ += 100;
            pass(segment);
        }
    }

    Talk wanted_;
    Random random_;
    bool known_directions_;
    Analyzers analyzers_;
    std::vector<Connection> connections_;
    std::size_t current_ = 0;
    std::uint32_t last_length_ = 0;
    std::uint32_t largest_length_ = 0;
    std::int64_t now_ns_ = talk_begins_ns;
};

}  // namespace model
