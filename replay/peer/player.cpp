#include "replay/peer/player.h"

#include <algorithm>
#include <fmt/core.h>

namespace replay::inline peer {
namespace {

/// Bytes of a start frame with its private data, about.
constexpr std::size_t small_talk = std::size_t{64} << 10;

std::size_t index_of(Channel channel) { return static_cast<std::size_t>(channel); }

const char* words_of(StreamEnd end) {
    switch (end) {
        case StreamEnd::open: return "left the connection open";
        case StreamEnd::closed: return "closed the connection";
        case StreamEnd::reset: return "reset the connection";
    }
    return "";
}

}  // namespace

Player::Player(const Conversation& conversation, bool initiator, const PlayerSettings& settings)
    : conversation_(conversation),
      played_(initiator ? 0 : 1),
      settings_(settings),
      steering_(played(), peer()),
      crc_(conversation.crc) {
    for (std::size_t i = 0; i < peer().messages.size(); ++i)
        captured_by_channel_[index_of(peer().messages[i].channel)].push_back(i);
    std::vector<const Message*> by_frame;
    for (const Message& message : peer().messages) by_frame.push_back(&message);
    std::stable_sort(by_frame.begin(), by_frame.end(),
                     [](const Message* a, const Message* b) { return a->last_frame < b->last_frame; });
    before_.emplace_back();
    for (const Message* message : by_frame) {
        frames_.push_back(message->last_frame);
        before_.push_back(before_.back());
        ++before_.back()[index_of(message->channel)];
    }
    cutter_.markers(peer().markers);
}

void Player::begin(std::int64_t now_ns) {
    begun_ = true;
    progress_ns_ = now_ns;
    advance(now_ns);
}

const Player::Counts& Player::wanted_before(std::uint64_t frame) const {
    const auto end = std::lower_bound(frames_.begin(), frames_.end(), frame);
    return before_[static_cast<std::size_t>(end - frames_.begin())];
}

bool Player::peer_end_wanted_before(std::uint64_t frame) const {
    return peer().ended != StreamEnd::open && peer().end_frame < frame;
}

bool Player::ready_for(std::uint64_t frame) const {
    const Counts wanted = wanted_before(frame);
    for (std::size_t channel = 0; channel < channels; ++channel)
        if (live_[channel].size() + waived_[channel] < wanted[channel]) return false;
    return !peer_end_wanted_before(frame) || peer_end_ != StreamEnd::open || end_waived_;
}

bool Player::all_said() const {
    if (next_ < played().items.size() || !output().empty()) return false;
    return ready_for(UINT64_MAX);
}

void Player::receive(base::Bytes octets, std::int64_t now_ns) {
    if (over_) return;
    received_ += octets.size();
    input_.insert(input_.end(), octets.begin(), octets.end());
    const std::size_t came_before = captured_came_;
    take_pieces();
    // Bytes beyond those of the capture, and what shorter FPDUs and markers add to them, bring nothing nearer.
    if (captured_came_ != came_before || received_ <= 2 * captured_octets() + small_talk) progress_ns_ = now_ns;
    error_ = excess();
    if (!error_.empty()) {
        over_ = true;
        our_end_ = StreamEnd::reset;
    }
    advance(now_ns);
}

/// In which way the peer says more than can be held; else empty.
std::string Player::excess() const {
    constexpr const char* what = "the peer says far more than it did in the capture, and was left";
    if (not_captured_came_ > more_messages)
        return fmt::format("{}: {} messages have come, the capture has {}", what, captured_came_ + not_captured_came_,
                           peer().messages.size());
    if (received_ <= captured_octets() + more_octets) return {};
    std::string text = fmt::format("{}: {} bytes have come, the capture has {}", what, received_, captured_octets());
    if (const Message* const open = builder_.longest_open())
        text += fmt::format("; one message does not end: {} so far", text_of(*open));
    return text;
}

void Player::take_pieces() {
    std::size_t at = 0;
    while (const auto piece = cutter_.next(base::Bytes{input_}.subspan(at))) {
        const base::Bytes octets = base::Bytes{input_}.subspan(at, piece->size);
        at += piece->size;
        if (piece->kind == PieceKind::start) {
            Message start = MessageBuilder::start_frame(octets, 0, 0);
            const bool reply = start.start && start.start->key == wire::mpa_reply_key;
            if (reply && start.start->rejected) cutter_.stop_cutting();
            crc_ = (start.start && start.start->crc) ||
                   (!played().messages.empty() && played().messages[0].start && played().messages[0].start->crc);
            take_message(std::move(start));
            continue;
        }
        const bool right = !crc_ || crc_is_right(octets);
        if (auto message = builder_.take(ulpdu_of(octets, peer().markers, piece->phase), right, 0, 0))
            take_message(std::move(*message));
    }
    input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(at));
}

void Player::take_message(Message message) {
    const std::size_t channel = index_of(message.channel);
    const std::size_t number = live_[channel].size();
    const bool captured = number < captured_by_channel_[channel].size();
    ++(captured ? captured_came_ : not_captured_came_);
    if (captured) steering_.learn(captured_by_channel_[channel][number], message);
    live_[channel].push_back(std::move(message));
    done_ns_ = 0;
}

void Player::peer_ended(StreamEnd how, std::int64_t now_ns) {
    peer_end_ = how;
    progress_ns_ = now_ns;
    over_ = over_ || how == StreamEnd::reset;
    // Nothing more will come that could be waited for; it may still listen.
    waive(UINT64_MAX);
    advance(now_ns);
}

void Player::advance(std::int64_t now_ns) {
    if (!begun_ || over_) return;
    while (next_ < played().items.size() && output().empty() && ready_for(played().items[next_].first_frame)) {
        send_item(played().items[next_++]);
        progress_ns_ = now_ns;
    }
    end_if_done(now_ns);
}

void Player::send_item(const ConversationSide::Item& item) {
    const auto begin = played().octets.begin();
    output_.assign(begin + static_cast<std::ptrdiff_t>(item.begin), begin + static_cast<std::ptrdiff_t>(item.end));
    output_sent_ = 0;
    if (item.kind == PieceKind::fpdu) steering_.apply(output_, item, played().markers, crc_);
}

void Player::sent(std::size_t octets, std::int64_t now_ns) {
    output_sent_ += std::min(octets, output_.size() - output_sent_);
    octets_sent_ += octets;
    progress_ns_ = now_ns;
    advance(now_ns);
}

void Player::end_if_done(std::int64_t now_ns) {
    if (next_ < played().items.size() || !output().empty()) return;
    const bool end_now = played().ended != StreamEnd::open && (ready_for(played().end_frame) || all_said());
    if (end_now && our_end_ == StreamEnd::open) our_end_ = played().ended;
    if (!all_said()) return;
    if (done_ns_ == 0) done_ns_ = now_ns;
    if (said_ns_ == 0) said_ns_ = now_ns;
    const bool quiet = now_ns - done_ns_ >= settings_.quiet_ns || now_ns - said_ns_ >= settings_.timeout_ns;
    if (peer_end_ != StreamEnd::open || quiet) over_ = true;
}

std::optional<std::int64_t> Player::deadline_ns() const {
    if (over_ || !begun_) return std::nullopt;
    if (done_ns_ != 0) return std::min(done_ns_ + settings_.quiet_ns, said_ns_ + settings_.timeout_ns);
    return progress_ns_ + settings_.timeout_ns;
}

void Player::tick(std::int64_t now_ns) {
    if (over_ || !begun_) return;
    advance(now_ns);
    if (!over_ && done_ns_ == 0 && now_ns - progress_ns_ >= settings_.timeout_ns) give_up(now_ns);
}

/// What did not come is not waited for: the rest of the played side may still be answered.
void Player::give_up(std::int64_t now_ns) {
    timed_out_ = true;
    progress_ns_ = now_ns;
    if (!output().empty()) {
        over_ = true;  // the peer does not even take what it is sent
        return;
    }
    waive(next_ < played().items.size() ? played().items[next_].first_frame : UINT64_MAX);
    advance(now_ns);
}

void Player::waive(std::uint64_t frame) {
    const Counts& wanted = wanted_before(frame);
    for (std::size_t channel = 0; channel < channels; ++channel)
        waived_[channel] =
            std::max(waived_[channel], wanted[channel] - std::min(wanted[channel], live_[channel].size()));
    end_waived_ = end_waived_ || peer_end_wanted_before(frame);
}

void Player::note_regions(PlayReport& report) const {
    for (const auto& [stag, region] : steering_.regions())
        if (!region.reported)
            report.notes.push_back(fmt::format(
                "STag 0x{:08x}: nowhere told by the captured peer before it was used; sent as it was", stag));
        else if (!region.stag)
            report.notes.push_back(fmt::format("STag 0x{:08x}: not told by the live peer; sent as it was", stag));
}

PlayReport Player::report() const {
    PlayReport report;
    report.error = error_;
    report.pieces = played().items.size();
    report.pieces_sent = next_ - (output().empty() ? 0 : 1);
    report.octets_sent = octets_sent_;
    report.captured_messages = peer().messages.size();
    for (std::size_t channel = 0; channel < channels; ++channel) {
        const auto& captured = captured_by_channel_[channel];
        const auto& live = live_[channel];
        report.live_messages += live.size();
        for (std::size_t i = 0; i < std::max(captured.size(), live.size()); ++i) {
            const Message* was = i < captured.size() ? &peer().messages[captured[i]] : nullptr;
            if (was == nullptr) {
                report.differences.push_back(
                    {0, text_of(live[i]), "the capture has no such message", "", text_of(live[i])});
            } else if (i >= live.size()) {
                report.differences.push_back({was->last_frame, text_of(*was), "did not come", text_of(*was), ""});
            } else {
                compare_messages(*was, live[i], steering_.places(captured[i]), report.differences);
                report.recut += was->segments != live[i].segments ? 1 : 0;
            }
        }
    }
    std::stable_sort(report.differences.begin(), report.differences.end(),
                     [](const Difference& a, const Difference& b) { return a.frame - 1 < b.frame - 1; });
    note_regions(report);
    if (!input_.empty())
        report.notes.push_back(
            fmt::format("{} bytes at the end of what the peer sent are no whole FPDU", input_.size()));
    if (peer_end_ != peer().ended)
        report.notes.push_back(
            fmt::format("the captured peer {}, the live one {}", words_of(peer().ended), words_of(peer_end_)));
    if (peer().missing != 0)
        report.notes.push_back(
            fmt::format("{} bytes of the captured peer come after a gap: not compared", peer().missing));
    if (played().missing != 0)
        report.notes.push_back(fmt::format("{} bytes of the played side come after a gap: not sent", played().missing));
    if (peer().messages.empty())
        report.notes.emplace_back("the capture has nothing of the peer: nothing was waited for or compared");
    if (timed_out_) report.notes.emplace_back("the peer did not come in time; --timeout sets how long to wait");
    return report;
}

}  // namespace replay::peer
