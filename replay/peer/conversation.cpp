#include "replay/peer/conversation.h"

#include <algorithm>
#include <arpa/inet.h>
#include <fmt/format.h>

#include "base/quantities.h"
#include "dissect/dissector.h"
#include "dissect/tcp_flags.h"

namespace replay::inline peer {
namespace {

using enum dissect::TcpFlag;

constexpr std::int32_t farthest_ahead = 64 << 20;

ConversationEnd end_of(const wire::Frame& frame, const dissect::Dissection& dissection, bool source) {
    ConversationEnd end;
    end.address_octets = static_cast<std::uint8_t>(dissection.network.address_length());
    const std::size_t offset = source ? dissection.network.source_offset : dissection.network.destination_offset;
    if (offset + end.address_octets <= frame.bytes.size())
        std::copy_n(frame.bytes.begin() + static_cast<std::ptrdiff_t>(offset), end.address_octets, end.address.begin());
    end.port = source ? dissection.source_port : dissection.destination_port;
    return end;
}

}  // namespace

std::string text_of(const ConversationEnd& end) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const bool four = end.address_octets == 4;
    ::inet_ntop(four ? AF_INET : AF_INET6, end.address.data(), text.data(), text.size());
    return fmt::format(fmt::runtime(four ? "{}:{}" : "[{}]:{}"), text.data(), end.port);
}

ConversationReader::ConversationReader(const WantedEnds& ends) : ends_{ends.one, ends.other} {}

void ConversationReader::take(const wire::Frame& frame) {
    if (over_ || too_long_) return;
    dissect::dissect_frame(frame, {.verify_crc = false}, dissection_);
    if (!dissection_.has(dissect::LayerId::tcp)) return;
    const ConversationEnd source = end_of(frame, dissection_, true);
    const ConversationEnd destination = end_of(frame, dissection_, false);
    for (unsigned side = 0; side < 2; ++side) {
        if (source != ends_[side] || destination != ends_[1 - side]) continue;
        const dissect::TcpSummary& tcp = dissection_.tcp;
        take_segment(streams_[side], tcp, frame.bytes.subspan(tcp.payload_offset, tcp.payload_captured), frame.number);
        return;
    }
}

void ConversationReader::take_segment(Stream& stream, const dissect::TcpSummary& tcp, base::Bytes payload,
                                      std::uint64_t frame) {
    const bool opens = (tcp.flags & tcp_syn) != 0;
    if (opens && stream.begun && tcp.sequence + 1 != stream.base) {
        over_ = !stream.octets.empty();
        if (!over_) stream = {};
    }
    if (over_) return;
    if (opens && !stream.begun) {
        stream.begun = true;
        stream.base = tcp.sequence + 1;
    }
    if (!stream.begun && !payload.empty()) {
        stream.begun = true;
        stream.base = tcp.sequence;
    }
    const auto at = static_cast<std::int32_t>(tcp.sequence + (opens ? 1 : 0) - stream.base);
    // What the capture cut short has no bytes after.
    if (!payload.empty() && payload.size() == tcp.payload_length) {
        if (at < 0 && static_cast<std::size_t>(-std::int64_t{at}) < payload.size())
            append(stream, 0, payload.subspan(static_cast<std::size_t>(-std::int64_t{at})), frame);
        else if (at >= 0 && at < farthest_ahead + static_cast<std::int64_t>(stream.octets.size()))
            append(stream, static_cast<std::size_t>(at), payload, frame);
    }
    if (stream.ended == StreamEnd::open && (tcp.flags & (tcp_fin | tcp_rst)) != 0) {
        stream.ended = (tcp.flags & tcp_rst) != 0 ? StreamEnd::reset : StreamEnd::closed;
        stream.end_frame = frame;
    }
}

void ConversationReader::append(Stream& stream, std::size_t at, base::Bytes payload, std::uint64_t frame) {
    if (streams_[0].octets.size() + streams_[1].octets.size() + payload.size() > most_octets) {
        too_long_ = true;
        return;
    }
    if (at > stream.octets.size()) {
        stream.ahead.try_emplace(at, payload.begin(), payload.end());
        stream.ahead_frames.try_emplace(at, frame);
        return;
    }
    const std::size_t known = stream.octets.size() - at;
    if (known >= payload.size()) return;
    stream.marks.push_back({stream.octets.size(), frame});
    stream.octets.insert(stream.octets.end(), payload.begin() + static_cast<std::ptrdiff_t>(known), payload.end());
    while (!stream.ahead.empty() && stream.ahead.begin()->first <= stream.octets.size()) {
        auto next = stream.ahead.extract(stream.ahead.begin());
        stream.ahead_frames.erase(next.key());
        const std::size_t have = stream.octets.size() - next.key();
        if (have >= next.mapped().size()) continue;
        // Its receiver had it no sooner than what was missing in front of it.
        stream.octets.insert(stream.octets.end(), next.mapped().begin() + static_cast<std::ptrdiff_t>(have),
                             next.mapped().end());
    }
}

std::uint64_t ConversationReader::frame_at(const Stream& stream, std::size_t position) {
    const auto after = std::upper_bound(stream.marks.begin(), stream.marks.end(), position,
                                        [](std::size_t at, const Mark& mark) { return at < mark.begin; });
    return after == stream.marks.begin() ? 0 : std::prev(after)->frame;
}

void ConversationReader::cut(const Stream& stream, ConversationSide& side) {
    PieceCutter cutter;
    cutter.markers(side.markers);
    std::size_t at = 0;
    const auto add = [&](PieceKind kind, std::size_t end, std::uint32_t phase) {
        const base::Bytes octets = base::Bytes{side.octets}.subspan(at, end - at);
        side.items.push_back({kind, at, end, phase, kind == PieceKind::fpdu && crc_is_right(octets),
                              frame_at(stream, at), frame_at(stream, end - 1)});
        at = end;
    };
    while (const auto piece = cutter.next(base::Bytes{side.octets}.subspan(at))) {
        add(piece->kind, at + piece->size, piece->phase);
        if (piece->kind != PieceKind::start) continue;
        const auto start = wire::parse<wire::MpaRequest>(side.octets);
        if (start->key == wire::mpa_reply_key && start->rejected) cutter.stop_cutting();
    }
    if (at < side.octets.size()) add(PieceKind::rest, side.octets.size(), 0);
}

void ConversationReader::list_messages(ConversationSide& side, bool crc) {
    MessageBuilder builder;
    for (const ConversationSide::Item& item : side.items) {
        const base::Bytes octets = base::Bytes{side.octets}.subspan(item.begin, item.end - item.begin);
        if (item.kind == PieceKind::start)
            side.messages.push_back(MessageBuilder::start_frame(octets, item.first_frame, item.last_frame));
        if (item.kind != PieceKind::fpdu) continue;
        if (auto message = builder.take(ulpdu_of(octets, side.markers, item.phase), item.crc_right || !crc,
                                        item.first_frame, item.last_frame))
            side.messages.push_back(std::move(*message));
    }
}

base::Result<Conversation, std::string> ConversationReader::finish() {
    if (too_long_)
        return base::Failure{
            fmt::format("the connection has more than {}: too much to be held; cut its beginning out "
                        "with `rdmascope dump -w`",
                        base::format_exact_size(most_octets))};
    std::array<wire::MpaStartKind, 2> kinds{};
    for (unsigned side = 0; side < 2; ++side) kinds[side] = wire::mpa_start_kind(streams_[side].octets);
    const bool turned = kinds[0] == wire::MpaStartKind::reply || kinds[1] == wire::MpaStartKind::request;
    const unsigned initiator = turned ? 1 : 0;
    if (kinds[initiator] != wire::MpaStartKind::request)
        return base::Failure{
            fmt::format("the capture does not have the beginning of the connection between {} and {}: no "
                        "MPA Request",
                        text_of(ends_[0]), text_of(ends_[1]))};
    Conversation conversation;
    std::array<std::optional<wire::MpaRequest>, 2> starts;
    for (unsigned side = 0; side < 2; ++side) {
        starts[side] = wire::parse<wire::MpaRequest>(streams_[side ^ initiator].octets);
        conversation.crc = conversation.crc || (starts[side] && starts[side]->crc);
    }
    for (unsigned side = 0; side < 2; ++side) {
        ConversationSide& out = conversation.sides[side];
        Stream& stream = streams_[side ^ initiator];
        out.end = ends_[side ^ initiator];
        for (const auto& [at, octets] : stream.ahead) out.missing += octets.size();
        out.markers = starts[1 - side] && starts[1 - side]->marker;
        out.octets = std::move(stream.octets);
        out.ended = stream.ended;
        out.end_frame = stream.end_frame;
        cut(stream, out);
        list_messages(out, conversation.crc);
    }
    conversation.rejected = starts[1] && starts[1]->rejected;
    return conversation;
}

}  // namespace replay::peer
