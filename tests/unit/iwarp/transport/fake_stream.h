#pragma once
/// Streams without a protocol: they send what they are given, keep what comes, and write down what happened.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "iwarp/verbs/transport_interface.h"

namespace transport_test {

using Closing = iwarp::verbs::Stream::Closing;

class FakeStream : public iwarp::verbs::Stream {
public:
    void connected(const std::string& peer, std::uint32_t emss, std::int64_t now_ns) override {
        peer_name = peer;
        segment = emss;
        note("connected", now_ns);
    }
    void connect_failed(iwarp::Failure kind, const std::string& text, std::int64_t now_ns) override {
        failure = kind;
        why = text;
        note("failed", now_ns);
    }
    void receive(base::Bytes octets, std::int64_t now_ns) override {
        got.insert(got.end(), octets.begin(), octets.end());
        pieces.push_back(octets.size());
        note("octets", now_ns);
        after_receive();
    }
    std::span<const base::MutableBytes> room(std::size_t minimum) override {
        ++asked_for_room;
        if (room_left < minimum) return {};
        const std::size_t first = room_left / 2;  // two pieces, as a target and what follows it are
        landing.resize(room_left);
        room_pieces = {base::MutableBytes(landing).first(first), base::MutableBytes(landing).subspan(first)};
        return room_pieces;
    }
    void received(std::size_t octets, std::int64_t now_ns) override {
        got.insert(got.end(), landing.begin(), landing.begin() + static_cast<std::ptrdiff_t>(octets));
        direct += octets;
        room_left -= octets;
        note("direct", now_ns);
        after_receive();
    }
    void peer_closed(std::int64_t now_ns) override { note("fin", now_ns); }
    void lost(const std::string& text, std::int64_t now_ns) override {
        why = text;
        note("lost", now_ns);
    }
    void tick(std::int64_t now_ns) override {
        deadline.reset();
        note("tick", now_ns);
    }

    Output output(std::int64_t) override {
        ++asked_for_output;
        out_pieces.clear();
        const base::Bytes left = base::Bytes(to_send).subspan(sent_octets);
        const std::size_t size = largest_output == 0 ? left.size() : std::min(left.size(), largest_output);
        for (std::size_t at = 0; at < size; at += piece_octets)
            out_pieces.push_back(left.subspan(at, std::min(piece_octets, size - at)));
        return {out_pieces, aligned};
    }
    void sent(std::size_t octets, std::int64_t) override {
        sent_octets += octets;
        sent_pieces.push_back(octets);
        if (sent_octets < to_send.size()) return;
        to_send.clear();
        sent_octets = 0;
    }
    bool receive_paused() const override { return paused; }
    Closing closing() const override { return wanted; }
    std::optional<std::int64_t> deadline_ns() const override { return deadline; }

    void put(base::Bytes octets) { to_send.insert(to_send.end(), octets.begin(), octets.end()); }
    bool has(const std::string& what) const {
        return std::ranges::any_of(events, [&](const auto& event) { return event.first == what; });
    }
    /// The events' names, repeated ones once.
    std::string story() const {
        std::string text;
        const std::string* last = nullptr;
        for (const auto& event : events) {
            if (last == nullptr || *last != event.first) text += (text.empty() ? "" : " ") + event.first;
            last = &event.first;
        }
        return text;
    }
    std::vector<std::int64_t> times_of(const std::string& what) const {
        std::vector<std::int64_t> times;
        for (const auto& event : events)
            if (event.first == what) times.push_back(event.second);
        return times;
    }

    // What a test makes it do.
    std::vector<std::byte> to_send;
    std::size_t piece_octets = 1000;
    std::size_t largest_output = 0;  ///< 0: all at once
    bool aligned = false;
    bool paused = false;
    std::size_t pause_after = 0;  ///< pauses when so many octets are there; 0: never
    bool echo = false;
    Closing wanted = Closing::no;
    std::optional<std::int64_t> deadline;
    std::size_t room_left = 0;

    // What the code under test did with it.
    std::string peer_name;
    std::uint32_t segment = 0;
    iwarp::Failure failure = iwarp::Failure::none;
    std::string why;
    std::vector<std::byte> got;
    std::vector<std::size_t> pieces;
    std::vector<std::size_t> sent_pieces;
    std::size_t sent_octets = 0;
    std::size_t direct = 0;
    std::vector<std::pair<std::string, std::int64_t>> events;
    int asked_for_output = 0;
    int asked_for_room = 0;

private:
    void note(const char* what, std::int64_t now_ns) { events.emplace_back(what, now_ns); }
    void after_receive() {
        if (pause_after > 0 && got.size() >= pause_after) paused = true;
        if (!echo) return;
        put(got);
        got.clear();
    }
    std::vector<std::byte> landing;
    std::vector<base::MutableBytes> room_pieces;
    std::vector<base::Bytes> out_pieces;
};

/// Takes connections, up to `limit`; `prepare` sees each stream before its transport does.
class FakeAcceptor : public iwarp::verbs::Acceptor {
public:
    std::shared_ptr<iwarp::verbs::Stream> accepted(const std::string& peer) override {
        peers.push_back(peer);
        if (streams.size() >= limit) return nullptr;
        streams.push_back(std::make_shared<FakeStream>());
        if (prepare) prepare(*streams.back());
        return streams.back();
    }
    std::size_t limit = 100000;
    std::function<void(FakeStream&)> prepare;
    std::vector<std::string> peers;
    std::vector<std::shared_ptr<FakeStream>> streams;
};

/// Octets that tell their place: a lost, doubled or moved piece changes them.
inline std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed = 1) {
    std::vector<std::byte> octets(size);
    std::uint32_t value = seed * 2654435761U + 1;
    for (std::byte& octet : octets) {
        value = value * 1664525U + 1013904223U;
        octet = static_cast<std::byte>(value >> 24);
    }
    return octets;
}

}  // namespace transport_test
