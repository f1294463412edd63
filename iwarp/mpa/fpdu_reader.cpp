#include "iwarp/mpa/fpdu_reader.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "wire/ddp.h"
#include "wire/mpa.h"

namespace iwarp::mpa {
namespace {

/// The bytes of an FPDU without its markers, run by run.
class Unmarked {
public:
    /// `fpdu` begins at the stream's position `phase` modulo 512, with the marker that may stand there.
    Unmarked(base::Bytes fpdu, std::uint32_t phase)
        : rest_(fpdu), left_((wire::mpa_marker_interval - phase) % wire::mpa_marker_interval) {}

    /// The next bytes that lie together, at most `most`; more than none while there are any.
    base::Bytes run(std::size_t most) {
        if (left_ == 0) {
            rest_ = rest_.subspan(wire::mpa_marker_size);
            left_ = wire::mpa_marker_interval - wire::mpa_marker_size;
        }
        const base::Bytes run = rest_.first(std::min({most, left_, rest_.size()}));
        rest_ = rest_.subspan(run.size());
        left_ -= run.size();
        return run;
    }

private:
    base::Bytes rest_;
    std::size_t left_;  ///< bytes before the next marker
};

/// Every marker points to the ULPDU length, the one before it has 0. RFC 5044 section 4.3: the receiver takes the two
/// low bits for zero.
bool markers_agree(base::Bytes fpdu, std::uint32_t phase) {
    const std::size_t length_at = phase == 0 ? wire::mpa_marker_size : 0;
    std::size_t at = (wire::mpa_marker_interval - phase) % wire::mpa_marker_interval;
    for (; at + wire::mpa_crc_size < fpdu.size(); at += wire::mpa_marker_interval) {
        const auto expected = static_cast<std::uint16_t>(at < length_at ? 0 : at - length_at);
        if ((base::load_be16(fpdu.data() + at + 2) & 0xfffc) != expected) return false;
    }
    return true;
}

/// Whether a ULPDU has no room for its DDP header, whose first byte is the kind.
bool too_short(std::uint32_t length, std::byte control) {
    return length < wire::ddp_tagged_size || length < wire::ddp_header_size(control);
}

}  // namespace

FpduReader::FpduReader(Settings settings, SegmentSink& sink, std::shared_ptr<StagePool> pool)
    : settings_(settings),
      direct_(!settings.markers && !(settings.strict && settings.crc)),
      sink_(&sink),
      pool_(std::move(pool)),
      stage_part_(pool_ ? &pool_->account : nullptr) {}

FpduReader::~FpduReader() { release_stage(); }

std::optional<Fault> FpduReader::receive(base::Bytes octets) {
    if (paused_) {
        held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(std::exchange(held_at_, 0)));
        held_.insert(held_.end(), octets.begin(), octets.end());
        return std::nullopt;
    }
    return take_or_hold(octets);
}

std::optional<Fault> FpduReader::take_or_hold(base::Bytes octets) {
    const auto fault = take(octets);
    if (fault != fault::not_yet) return conclude(fault);
    paused_ = true;
    held_.assign(octets.begin(), octets.end());
    held_at_ = 0;
    return conclude(std::nullopt);
}

// Many short messages may be held, and each resume() takes one: the others stay where they are.
std::optional<Fault> FpduReader::resume() {
    if (!std::exchange(paused_, false)) return std::nullopt;
    std::vector<std::byte> held = std::exchange(held_, {});
    base::Bytes octets = base::Bytes{held}.subspan(std::exchange(held_at_, 0));
    std::optional<Fault> fault;
    // An FPDU that is whole in the reader's own memory waits for no more bytes.
    if (state_ == State::staged || head_size_ != 0) fault = step(octets);
    if (!fault) fault = take(octets);
    if (fault != fault::not_yet) return conclude(fault);
    paused_ = true;
    held_at_ = held.size() - octets.size();
    held_ = std::move(held);
    return conclude(std::nullopt);
}

std::optional<Fault> FpduReader::take(base::Bytes& octets) {
    while (!octets.empty() && state_ != State::ended)
        if (const auto fault = step(octets)) return fault;
    return std::nullopt;
}

std::optional<Fault> FpduReader::step(base::Bytes& octets) {
    switch (state_) {
        case State::head: return take_head(octets);
        case State::staged: return take_staged(octets);
        case State::payload: return take_payload(octets);
        case State::trailer: return take_trailer(octets);
        case State::ended: break;
    }
    return std::nullopt;
}

std::optional<Fault> FpduReader::conclude(std::optional<Fault> fault) {
    if (fault) {
        state_ = State::ended;
        target_ = {};
    }
    if (state_ != State::staged) release_stage();
    return fault;
}

/// The size of the FPDU whose first bytes, up to its length, are at `fpdu`.
std::size_t FpduReader::whole_size(const std::byte* fpdu) const {
    const std::uint32_t plain = wire::mpa_fpdu_size(base::load_be16(fpdu + lead()));
    return settings_.markers ? plain + wire::mpa_marker_size * wire::mpa_markers(plain, phase_) : plain;
}

/// Bytes that head_ must hold before the FPDU's fate is known.
std::size_t FpduReader::wanted_head() const {
    const std::size_t with_length = lead() + 2;
    if (head_size_ < with_length) return with_length;
    const std::size_t total = whole_size(head_.data());
    if (total <= head_.size()) return total;
    if (!direct_) return with_length;
    // The ULPDU has at least 19 bytes: no header is too long for it.
    return head_size_ < 3 ? 3 : 2 + wire::ddp_header_size(head_[2]);
}

std::optional<Fault> FpduReader::take_head(base::Bytes& octets) {
    if (head_size_ == 0 && octets.size() >= lead() + 2) {
        const std::size_t total = whole_size(octets.data());
        if (octets.size() >= total) {
            const auto fault = whole(octets.first(total));
            if (fault != fault::not_yet) octets = octets.subspan(total);
            return fault;
        }
        if (direct_ && total > head_.size() && octets.size() >= longest_head) {
            const base::Bytes head = octets.first(2 + wire::ddp_header_size(octets[2]));
            const auto fault = begin_direct(head);
            if (fault != fault::not_yet) octets = octets.subspan(head.size());
            return fault;
        }
    }
    std::size_t wanted = wanted_head();
    while (head_size_ < wanted) {
        const std::size_t part = std::min(octets.size(), wanted - head_size_);
        if (part == 0) return std::nullopt;
        std::memcpy(head_.data() + head_size_, octets.data(), part);
        head_size_ = static_cast<std::uint8_t>(head_size_ + part);
        octets = octets.subspan(part);
        wanted = wanted_head();
    }
    const std::size_t total = whole_size(head_.data());
    const base::Bytes head = base::Bytes{head_}.first(head_size_);
    if (total == head.size() || direct_) {
        const auto fault = total == head.size() ? whole(head) : begin_direct(head);
        if (fault != fault::not_yet) head_size_ = 0;
        return fault;
    }
    head_size_ = 0;
    stage_total_ = static_cast<std::uint32_t>(total);
    stage_have_ = 0;
    state_ = State::staged;
    base::Bytes moved = head;
    return take_staged(moved);
}

/// Keeps bytes until the FPDU is whole. A peer that announces a long FPDU must send more than the small size before it
/// is given room for all of it.
std::optional<Fault> FpduReader::take_staged(base::Bytes& octets) {
    const std::size_t part = std::min<std::size_t>(octets.size(), stage_total_ - stage_have_);
    if (!reserve_stage(stage_have_ + part)) return fault::mpa_local;
    std::memcpy(stage_.get() + stage_have_, octets.data(), part);
    stage_have_ += static_cast<std::uint32_t>(part);
    octets = octets.subspan(part);
    if (stage_have_ < stage_total_) return std::nullopt;
    const auto fault = whole({stage_.get(), stage_total_});
    if (fault != fault::not_yet) state_ = State::head;
    return fault;
}

bool FpduReader::reserve_stage(std::size_t octets) {
    using Size = StagePool::Size;
    if (stage_ && octets <= StagePool::octets(stage_class_)) return true;
    const bool small = stage_total_ <= StagePool::octets(Size::small) || octets <= StagePool::octets(Size::small);
    const Size size = small ? Size::small : Size::large;
    if (pool_ && pool_->account.left() < StagePool::octets(size)) return false;
    StagePool::Memory larger =
        pool_ ? pool_->take(size) : std::make_unique_for_overwrite<std::byte[]>(StagePool::octets(size));
    if (stage_have_ != 0) std::memcpy(larger.get(), stage_.get(), stage_have_);
    release_stage();
    stage_ = std::move(larger);
    stage_class_ = size;
    stage_part_.set(StagePool::octets(size));
    return true;
}

void FpduReader::release_stage() {
    if (!stage_) return;
    if (pool_) pool_->give(stage_class_, std::move(stage_));
    stage_.reset();
    stage_part_.set(0);
}

/// An FPDU with all its bytes in one place: nothing of it is used before its CRC was checked. RFC 5044 sections 4.4, 6.
std::optional<Fault> FpduReader::whole(base::Bytes fpdu) {
    const base::Bytes covered = fpdu.first(fpdu.size() - wire::mpa_crc_size);
    if (settings_.crc && wire::crc32c(covered) != wire::load_crc32c(fpdu.data() + covered.size())) return fault::crc;
    const std::uint32_t length = base::load_be16(fpdu.data() + lead());
    if (settings_.markers) return deliver_marked(fpdu, length);
    if (too_short(length, fpdu[2])) return fault::marker_or_length;
    const std::size_t header = wire::ddp_header_size(fpdu[2]);
    return deliver(fpdu.subspan(2, header), fpdu.subspan(2 + header, length - header));
}

std::optional<Fault> FpduReader::deliver(base::Bytes header, base::Bytes payload) {
    const auto target = sink_->begin_segment(header, static_cast<std::uint32_t>(payload.size()));
    if (!target) return target.error();
    target_ = target->pieces;
    target_at_ = 0;
    if (!place(payload)) return fault::mpa_local;
    return finish();
}

std::optional<Fault> FpduReader::deliver_marked(base::Bytes fpdu, std::uint32_t length) {
    const std::uint32_t phase = phase_;
    phase_ = static_cast<std::uint16_t>((phase_ + fpdu.size()) % wire::mpa_marker_interval);
    if (!markers_agree(fpdu, phase)) return fault::marker_or_length;
    Unmarked content{fpdu, phase};
    // Markers stand on multiples of four: the length and the control bytes follow one another.
    const std::byte control = content.run(4)[2];
    if (too_short(length, control)) return fault::marker_or_length;
    const std::size_t header_size = wire::ddp_header_size(control);
    std::array<std::byte, longest_head> head;
    content = Unmarked{fpdu, phase};
    for (std::size_t have = 0; have < 2 + header_size;) {
        const base::Bytes run = content.run(2 + header_size - have);
        std::memcpy(head.data() + have, run.data(), run.size());
        have += run.size();
    }
    std::size_t left = length - header_size;
    const auto target =
        sink_->begin_segment(base::Bytes{head}.subspan(2, header_size), static_cast<std::uint32_t>(left));
    if (!target) {
        if (target.error() == fault::not_yet) phase_ = static_cast<std::uint16_t>(phase);
        return target.error();
    }
    target_ = target->pieces;
    target_at_ = 0;
    while (left != 0) {
        const base::Bytes run = content.run(left);
        if (!place(run)) return fault::mpa_local;
        left -= run.size();
    }
    return finish();
}

/// `head`: length and DDP header of an FPDU whose payload is still to come.
std::optional<Fault> FpduReader::begin_direct(base::Bytes head) {
    const std::uint32_t length = base::load_be16(head.data());
    header_size_ = static_cast<std::uint8_t>(head.size() - 2);
    payload_left_ = length - header_size_;
    trailer_size_ = static_cast<std::uint8_t>(wire::mpa_pad(length) + wire::mpa_crc_size);
    trailer_have_ = 0;
    if (settings_.crc) {
        crc_ = {};
        crc_.update(head);
    }
    target_at_ = 0;
    refusal_.reset();
    if (const auto target = sink_->begin_segment(head.subspan(2), payload_left_)) {
        target_ = target->pieces;
    } else {
        if (!settings_.crc || target.error() == fault::not_yet) return target.error();
        refusal_ = target.error();
    }
    state_ = payload_left_ != 0 ? State::payload : State::trailer;
    return std::nullopt;
}

std::optional<Fault> FpduReader::take_payload(base::Bytes& octets) {
    const base::Bytes part = octets.first(std::min<std::size_t>(octets.size(), payload_left_));
    octets = octets.subspan(part.size());
    if (settings_.crc) crc_.update(part);
    if (!refusal_ && !place(part)) return fault::mpa_local;
    payload_left_ -= static_cast<std::uint32_t>(part.size());
    if (payload_left_ == 0) state_ = State::trailer;
    return std::nullopt;
}

std::optional<Fault> FpduReader::take_trailer(base::Bytes& octets) {
    const std::size_t part = std::min<std::size_t>(octets.size(), trailer_size_ - trailer_have_);
    std::memcpy(trailer_.data() + trailer_have_, octets.data(), part);
    trailer_have_ = static_cast<std::uint8_t>(trailer_have_ + part);
    octets = octets.subspan(part);
    if (trailer_have_ < trailer_size_) return std::nullopt;
    state_ = State::head;
    if (settings_.crc) {
        const std::size_t pad = trailer_size_ - wire::mpa_crc_size;
        crc_.update(base::Bytes{trailer_}.first(pad));
        if (crc_.value() != wire::load_crc32c(trailer_.data() + pad)) return fault::crc;
    }
    if (refusal_) return refusal_;
    return finish();
}

std::optional<Fault> FpduReader::finish() {
    target_ = {};
    if (auto fault = sink_->end_segment()) return fault;
    ++fpdus_;
    return std::nullopt;
}

/// Copies into what is left of the target; `false` where the sink gave less than it promised.
bool FpduReader::place(base::Bytes octets) {
    while (!octets.empty()) {
        if (target_.empty()) {
            assert(false && "a target is as long as the payload");
            return false;
        }
        const base::MutableBytes piece = target_.front().subspan(target_at_);
        const std::size_t part = std::min(piece.size(), octets.size());
        if (part != 0) std::memcpy(piece.data(), octets.data(), part);
        octets = octets.subspan(part);
        target_at_ += part;
        if (part == piece.size()) {
            target_ = target_.subspan(1);
            target_at_ = 0;
        }
    }
    return true;
}

std::span<const base::MutableBytes> FpduReader::room(std::size_t minimum) {
    if (state_ != State::payload || refusal_ || payload_left_ < minimum) return {};
    std::size_t count = 0;
    std::size_t left = payload_left_;
    std::size_t skip = target_at_;
    for (const base::MutableBytes whole_piece : target_) {
        const base::MutableBytes piece = whole_piece.subspan(std::exchange(skip, 0));
        if (left == 0 || count == room_.size()) break;
        if (piece.empty()) continue;
        room_[count] = piece.first(std::min(piece.size(), left));
        left -= room_[count++].size();
    }
    // The next header is likely to be of the same kind; more would be copied twice.
    if (left == 0 && count < room_.size())
        room_[count++] = base::MutableBytes{ahead_}.first(std::size_t{trailer_size_} + 2 + header_size_);
    else if (payload_left_ - left < minimum)
        return {};
    return std::span{room_}.first(count);
}

std::optional<Fault> FpduReader::received(std::size_t octets) {
    if (state_ != State::payload) return std::nullopt;
    std::size_t placed = std::min<std::size_t>(octets, payload_left_);
    octets -= placed;
    payload_left_ -= static_cast<std::uint32_t>(placed);
    while (placed != 0 && !target_.empty()) {
        const base::MutableBytes piece = target_.front().subspan(target_at_);
        const std::size_t part = std::min(piece.size(), placed);
        if (settings_.crc) crc_.update(piece.first(part));
        placed -= part;
        target_at_ += part;
        if (part == piece.size()) {
            target_ = target_.subspan(1);
            target_at_ = 0;
        }
    }
    if (payload_left_ == 0) state_ = State::trailer;
    return take_or_hold(base::Bytes{ahead_}.first(std::min(octets, ahead_.size())));
}

}  // namespace iwarp::mpa
