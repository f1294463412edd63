#include "upper/message_flow.h"

#include <algorithm>

#include "upper/upper_connection.h"

namespace upper {

std::uint64_t Flow::position_of(std::uint32_t number) {
    const std::uint64_t space = std::uint64_t{1} << bits_;
    if (!started_) {
        started_ = true;
        // Leaves numbers for packets that pass late and belong before this one.
        next_ = space + number;
        acked_ = next_;
        return next_;
    }
    const std::uint64_t ahead = (number - next_) & (space - 1);
    return ahead < space / 2 ? next_ + ahead : next_ + ahead - space;
}

// ---- what is kept of a message ----

base::Bytes Flow::head_of(const Message& message) const {
    if (message.head == 0) return {};
    const Head& head = heads_[message.head - 1u];
    return base::Bytes(head.octets).first(head.size);
}

void Flow::release_head(Message& message) {
    if (message.head == 0) return;
    heads_[message.head - 1u].taken = false;
    message.head = 0;
}

/// The first bytes of a message are kept, up to the first gap.
void Flow::put_head(Message& message, const Passing& packet) {
    if (!message.has_begin || packet.payload.empty()) return;
    const bool is_placed = packet.offset || packet.begin == message.begin || message.packet_bytes != 0;
    if (!is_placed) return;
    const std::uint64_t offset = packet.offset ? *packet.offset : (packet.begin - message.begin) * message.packet_bytes;
    if (offset >= head_bytes) return;
    if (message.head == 0) {
        if (offset != 0) return;
        auto free = std::find_if(heads_.begin(), heads_.end(), [](const Head& head) { return !head.taken; });
        if (free == heads_.end()) {
            if (heads_.size() == max_heads) return;
            free = heads_.emplace(heads_.end());
        }
        free->taken = true;
        free->size = 0;
        message.head = static_cast<std::uint8_t>(free - heads_.begin() + 1);
    }
    Head& head = heads_[message.head - 1u];
    if (offset > head.size) return;
    const std::size_t count = std::min<std::size_t>(packet.payload.size(), head_bytes - offset);
    std::copy_n(packet.payload.begin(), count, head.octets.begin() + static_cast<std::ptrdiff_t>(offset));
    head.size = std::max(head.size, static_cast<std::uint32_t>(offset + count));
}

void Flow::drop_front() {
    release_head(messages_.front());
    messages_.pop_front();
    ++dropped_;
}

void Flow::release() {
    if (messages_.empty() && heads_.empty()) return;
    messages_ = {};
    heads_ = {};
    dropped_ = 0;
    current_ = no_message;
}

Message Flow::fresh(const Passing& packet) {
    Message message;
    message.operation = packet.operation;
    message.has_begin = packet.starts;
    message.has_target = packet.has_target;
    message.begin = packet.begin;
    message.end = packet.end;
    message.begin_ns = packet.begin_ns;
    message.first_frame = packet.first_frame;
    message.last_frame = packet.frame;
    message.key = packet.key;
    message.address = packet.address;
    message.packet_bytes = packet.length;
    message.asked = packet.asked;
    message.sink_key = packet.sink_key;
    message.sink_address = packet.sink_address;
    if (packet.operation == Operation::read) {
        message.length = packet.asked;
        message.packet_bytes = packet_bytes_;
        message.end = packet.begin + read_packets(packet.asked);
    }
    return message;
}

Message& Flow::add(const Passing& packet) {
    while (!messages_.empty() && messages_.front().ended && messages_.front().end <= acked_) drop_front();
    if (messages_.size() == max_messages) drop_front();
    Message& message = messages_.push_back(fresh(packet));
    current_ = dropped_ + messages_.size() - 1;
    return message;
}

/// The index of the message that contains the position; size() if absent.
std::size_t Flow::find(std::uint64_t position) const {
    std::size_t low = 0;
    std::size_t high = messages_.size();
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        if (messages_[middle].begin <= position)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || position >= messages_[low - 1].end) return messages_.size();
    return low - 1;
}

Message* Flow::find_begin(std::uint64_t begin) {
    const std::size_t index = find(begin);
    return index == messages_.size() || messages_[index].begin != begin ? nullptr : &messages_[index];
}

/// The number of positions of a READ: one for each packet of its response. A READ on a TCP stream takes no positions.
std::uint64_t Flow::read_packets(std::uint64_t bytes) const {
    if (transport_ == wire::Transport::iwarp || packet_bytes_ == 0) return 1;
    constexpr std::uint64_t most = std::uint64_t{1} << 23;  // IBTA vol. 1, 9.4.4: half of the PSNs
    return std::clamp<std::uint64_t>((bytes + packet_bytes_ - 1) / packet_bytes_, 1, most);
}

void Flow::extend(Message& message, const Passing& packet, bool is_new) {
    message.end = std::max(message.end, packet.end);
    if (is_new && packet.operation != Operation::read) message.length += packet.length;
    if (packet.invalidated) message.invalidated = packet.invalidated;
    if (packet.immediate) message.immediate = packet.immediate;
    const bool is_whole = packet.starts && packet.ends;
    const bool is_kept = packet.operation == Operation::send
                             ? !is_whole && !message.parsed && connection_->keeps_heads()
                             : message.wants_head && packet.operation == Operation::write;
    if (is_kept) put_head(message, packet);
    if (!packet.ends || packet.operation == Operation::read || message.ended) return;
    message.ended = true;
    message.end_ns = std::max(message.end_ns, packet.end_ns);
    message.last_frame = packet.frame;
}

/// The first bytes of a SEND in one packet are those of the packet: they need no copy.
bool Flow::complete_whole(Message& message, const Passing& packet) {
    const bool is_whole = packet.operation == Operation::send && packet.starts && packet.ends && !message.parsed &&
                          message.begin == packet.begin && packet.offset.value_or(0) == 0;
    if (!is_whole) return false;
    message.parsed = true;
    connection_->send(side_, message, packet.payload.first(std::min(packet.payload.size(), head_bytes)));
    return true;
}

/// A SEND whose first bytes passed late is given to the parser with the bytes that are known. The parser decides
/// whether they suffice.
void Flow::complete(Message& message) {
    if (message.operation == Operation::send) {
        if (message.parsed || !message.has_begin) return;
        message.parsed = true;
        connection_->send(side_, message, head_of(message));
        release_head(message);
    } else if (message.operation == Operation::write) {
        connection_->data_ends(side_, message, head_of(message));
        release_head(message);
    }
}

// ---- packets ----

void Flow::pass(const Passing& packet) {
    connection_->seen(packet.end_ns);
    if (packet.begin >= next_)
        forward(packet);
    else
        late(packet);
}

void Flow::begin_data(Message& message, const Passing& packet) {
    connection_->data_begins(side_, message);
    if (message.wants_head && packet.operation == Operation::write) put_head(message, packet);
}

void Flow::forward(const Passing& packet) {
    if (packet.begin > next_ && transport_ != wire::Transport::iwarp) {
        if (holes_ == nullptr) holes_ = std::make_unique<std::array<Hole, 8>>();
        std::move_backward(holes_->begin(), holes_->end() - 1, holes_->end());
        holes_->front() = {next_, packet.begin};
    }
    if (packet.waited)
        repair(packet, true);
    else
        repair_ = 0;
    next_ = packet.end;
    last_new_ns_ = packet.end_ns;
    nak_since_ = false;
    if (packet.operation == Operation::other) {
        current_ = no_message;
        return;
    }
    if (packet.starts && !packet.ends && packet.operation != Operation::read) packet_bytes_ = packet.length;

    const bool has_current = current_ != no_message && current_ >= dropped_ &&
                             messages_[current_ - dropped_].operation == packet.operation &&
                             !messages_[current_ - dropped_].ended;
    const bool begins = packet.starts || !has_current;
    Message& message = begins ? add(packet) : messages_[current_ - dropped_];
    extend(message, packet, true);
    if (packet.operation == Operation::read) next_ = std::max(next_, message.end);
    if (repair_ != 0) connection_->touched_by_repair(message, repair_, packet.begin == first_late_);
    if (begins && packet.starts && packet.operation != Operation::send) begin_data(message, packet);
    if (packet.ends) {
        current_ = no_message;
        if (packet.operation != Operation::read && !complete_whole(message, packet)) complete(message);
    }
}

bool Flow::fill_hole(std::uint64_t position) {
    if (holes_ == nullptr) return false;
    for (Hole& hole : *holes_) {
        if (position < hole.begin || position >= hole.end) continue;
        // Positions before this one were skipped twice: a repeat begins here.
        if (position == hole.begin)
            ++hole.begin;
        else if (position + 1 == hole.end)
            --hole.end;
        else
            hole.begin = position + 1;
        return true;
    }
    return false;
}

void Flow::repair(const Passing& packet, bool is_sure) {
    Repair* under_way = repair_ == 0 ? nullptr : connection_->repairs().find(repair_);
    if (under_way == nullptr) {
        under_way = &connection_->repairs().begin(last_new_ns_);
        repair_ = under_way->serial;
        first_late_ = packet.begin;
    }
    under_way->end_ns = std::max(under_way->end_ns, packet.end_ns);
    under_way->is_sure = under_way->is_sure || is_sure;
}

/// The message of a packet that fills a hole: a message that continues or begins there, or a new message. size() if
/// there is no room.
std::size_t Flow::place_late(const Passing& packet) {
    std::size_t index = messages_.size();
    while (index > 0 && messages_[index - 1].begin > packet.begin) --index;
    if (!packet.starts && index > 0) {
        const Message& before = messages_[index - 1];
        if (before.operation == packet.operation && before.has_begin && !before.ended) return index - 1;
    }
    if (packet.starts && !packet.ends && index < messages_.size()) {
        Message& after = messages_[index];
        if (after.operation == packet.operation && !after.has_begin) {
            Message begun = fresh(packet);
            begun.end = after.end;
            begun.ended = after.ended;
            begun.end_ns = after.end_ns;
            begun.last_frame = after.last_frame;
            begun.length = after.length;
            begun.invalidated = after.invalidated;
            begun.immediate = after.immediate;
            after = begun;
            return index;
        }
    }
    if (messages_.size() == max_messages) return max_messages;
    if (current_ != no_message && current_ >= dropped_ + index) ++current_;
    messages_.insert(index, fresh(packet));
    return index;
}

/// Handles a packet that is not new: it was sent again, or overtaken by other packets.
void Flow::late(const Passing& packet) {
    const bool is_new = fill_hole(packet.begin);
    if (packet.begin < acked_ && !is_new) return;  // its receiver already has it
    if (packet.operation == Operation::other) return;
    repair(packet, !is_new || nak_since_);
    std::size_t index = find(packet.begin);
    if (index == messages_.size()) {
        if (!is_new) return;
        index = place_late(packet);
        if (index == messages_.size()) return;
    }
    Message& message = messages_[index];
    if (message.operation == packet.operation) {
        const bool was_ended = message.ended;
        extend(message, packet, is_new);
        if (is_new && packet.starts && packet.operation != Operation::send) begin_data(message, packet);
        const bool is_complete = packet.ends ? !was_ended && message.ended : packet.starts && message.ended;
        if (is_complete && !complete_whole(message, packet)) complete(message);
    }
    touch_pending(packet, packet.end_ns);
}

void Flow::pass_again(const Passing& packet) {
    if (!started_ || packet.begin < acked_ || packet.begin >= next_) return;
    repair(packet, true);
    touch_pending(packet, packet.end_ns);
}

/// Messages that wait for this packet end now at the earliest, because their receiver accepts messages in order.
void Flow::touch_pending(const Passing& packet, std::int64_t end_ns) {
    for (std::size_t at = messages_.size(); at-- > 0;) {
        Message& message = messages_[at];
        if (message.end <= packet.begin) break;
        if (message.end <= acked_) continue;
        const bool own = message.begin <= first_late_ && first_late_ < message.end;
        connection_->touched_by_repair(message, repair_, own);
        if (!message.ended) continue;
        message.end_ns = std::max(message.end_ns, end_ns);
        connection_->moved(side_, message, message.end_ns, packet.begin == message.begin);
    }
}

void Flow::acknowledge(std::uint64_t position, std::int64_t time_ns) {
    // A few packets may be missing from the capture.
    constexpr std::uint64_t most_missing = 1 << 16;
    if (!started_ || position <= acked_ || position > next_ + most_missing) return;
    acked_ = position;
    connection_->acknowledged(side_, time_ns);
}

// ---- responses to READs ----

void Flow::finish_read(Message& message, const Passing& packet) {
    if (packet.starts && message.packet_bytes == 0) message.packet_bytes = packet.length;
    if (packet.starts && !packet.ends) {
        packet_bytes_ = packet.length;
        // The number of positions of the READ is now known.
        const std::uint64_t end = message.begin + read_packets(message.length);
        if (&message == &messages_.back() && end > message.end) {
            message.end = end;
            next_ = std::max(next_, end);
        }
    }
    if (message.wants_head) put_head(message, packet);
    if (!packet.ends) return;
    const bool again = message.ended;
    message.ended = true;
    message.end_ns = std::max(message.end_ns, packet.end_ns);
    message.last_frame = packet.frame;
    if (again)
        connection_->moved(side_, message, message.end_ns, false);
    else
        connection_->data_ends(side_, message, head_of(message));
    release_head(message);
}

void Flow::read_response(std::uint64_t position, const Passing& packet) {
    std::size_t index = find(position);
    if (index == messages_.size()) {
        // The READ takes more positions than were known when it passed.
        index = messages_.size();
        while (index > 0 && messages_[index - 1].begin > position) --index;
        if (index == 0) return;
        Message& before = messages_[index - 1];
        const std::uint64_t most = (before.length + 255) / 256;
        if (before.operation != Operation::read || position - before.begin >= most) return;
        before.end = position + 1;
        next_ = std::max(next_, before.end);
        --index;
    }
    Message& message = messages_[index];
    if (message.operation != Operation::read) return;
    acknowledge(message.begin, packet.end_ns);
    Passing placed = packet;
    placed.begin = position;
    finish_read(message, placed);
}

void Flow::read_response_to(std::uint32_t sink_key, std::uint64_t sink_address, const Passing& packet) {
    for (std::size_t at = 0; at < messages_.size(); ++at) {
        Message& message = messages_[at];
        const bool is_it = message.operation == Operation::read && !message.ended && message.sink_key == sink_key &&
                           sink_address >= message.sink_address &&
                           sink_address - message.sink_address < std::max<std::uint64_t>(message.length, 1);
        if (!is_it) continue;
        Passing placed = packet;
        placed.offset = sink_address - message.sink_address;
        return finish_read(message, placed);
    }
}

}  // namespace upper
