// Which upper layer a connection has, and what its messages are.
#include "upper/upper_connection.h"

#include <algorithm>
#include <array>
#include <span>

#include "upper/message_flow.h"
#include "wire/little_endian.h"

namespace upper {

std::string_view name_of(Evidence evidence) {
    switch (evidence) {
        case Evidence::user: return "user";
        case Evidence::private_data: return "private_data";
        case Evidence::service: return "service";
        case Evidence::shape: return "shape";
    }
    return {};
}

double confidence_of(Evidence evidence) {
    switch (evidence) {
        case Evidence::user:
        case Evidence::private_data: return 1;
        case Evidence::service: return 0.6;
        case Evidence::shape: return 0.95;
    }
    return 0;
}

// ---- which upper layer ----

void Connection::set_flow(unsigned side, Flow& flow) {
    flows_[side] = &flow;
    flow.attach(*this, side);
}

std::optional<Connection::Hosts> Connection::hosts() const {
    const Flow* const flow = flows_[0] != nullptr ? flows_[0] : flows_[1];
    if (flow == nullptr) return std::nullopt;
    return std::minmax(flow->source().address, flow->destination().address);
}

void Connection::join(Connection& other) {
    Flow* theirs = other.flows_[0] != nullptr ? other.flows_[0] : other.flows_[1];
    const unsigned side = flows_[0] == nullptr ? 0 : 1;
    set_flow(side, *theirs);
    for (Kept& kept : other.kept_) {
        kept.side = side;
        kept_.push_back(std::move(kept));
    }
    const auto frame_of = [](const Kept& kept) {
        return kept.message.operation == Operation::send ? kept.message.last_frame : kept.message.first_frame;
    };
    std::stable_sort(kept_.begin(), kept_.end(),
                     [&](const Kept& one, const Kept& two) { return frame_of(one) < frame_of(two); });
    kept_sends_ += other.kept_sends_;
    messages_ += other.messages_;
    ignored_ = ignored_ || other.ignored_;
    other.kept_.clear();
    other.ignored_ = true;
    if (protocol_ == nullptr && !ignored_) try_shapes();
}

void Connection::recognize(const Protocol& protocol, Evidence evidence, std::optional<unsigned> initiator,
                           const ConnectionFacts& facts) {
    protocol_ = &protocol;
    evidence_ = evidence;
    initiator_ = initiator;
    facts_ = facts;
    confirmed_ = evidence != Evidence::service;
    ignored_ = false;
    listener_.recognized(*this);
    replay();
}

void Connection::suppose(const Protocol& protocol, std::optional<unsigned> initiator) {
    recognize(protocol, Evidence::service, initiator, {});
}

void Connection::take_reply(base::Bytes data) {
    if (protocol_ != nullptr && protocol_->read_reply != nullptr) protocol_->read_reply(data, facts_);
}

void Connection::forget_kept() {
    kept_.clear();
    kept_.shrink_to_fit();
    kept_sends_ = 0;
}

void Connection::ignore() {
    ignored_ = true;
    forget_kept();
}

void Connection::keep(unsigned side, const Message& message, base::Bytes head) {
    if (kept_.size() == max_kept_messages) kept_.erase(kept_.begin(), kept_.begin() + max_kept_messages / 2);
    kept_.push_back({side, message, {head.begin(), head.end()}});
    if (message.operation == Operation::send) ++kept_sends_;
}

/// Completes a message that was kept at its beginning.
void Connection::keep_end(unsigned side, const Message& message) {
    const auto found = std::find_if(kept_.rbegin(), kept_.rend(), [&](const Kept& kept) {
        return kept.side == side && kept.message.begin == message.begin && kept.message.operation == message.operation;
    });
    if (found != kept_.rend()) found->message = message;
    if (message.immediate) try_streams();
}

/// Reads the kept SENDs as messages of this protocol, and counts responses that answer requests of `initiator`.
unsigned Connection::count_answers(const Protocol& protocol, unsigned initiator) const {
    std::array<const Kept*, max_kept_messages> fitting{};
    std::size_t count = 0;
    std::size_t requests = 0;
    for (const Kept& kept : kept_) {
        if (kept.message.operation != Operation::send || count == fitting.size()) continue;
        const bool asks = kept.side == initiator;
        if (protocol.shape(kept.head, kept.message.length) != (asks ? Shape::request : Shape::response)) continue;
        fitting[count++] = &kept;
        if (asks) ++requests;
    }
    if (requests < answered_of_shape || count - requests < answered_of_shape) return 0;
    ConnectionFacts facts;
    std::vector<std::uint64_t> open;
    unsigned answers = 0;
    for (const Kept* kept : std::span(fitting).first(count)) {
        Said said;
        const bool asks = kept->side == initiator;
        protocol.parse(kept->head, kept->message.length, asks, facts, said);
        if (asks) {
            open.push_back(said.id);
            continue;
        }
        const auto found = std::find(open.begin(), open.end(), said.id);
        if (found == open.end()) continue;
        ++answers;
        open.erase(found);
    }
    return answers;
}

/// The number of kept SENDs that fit this protocol and show no direction.
std::size_t Connection::count_either(const Protocol& protocol) const {
    return static_cast<std::size_t>(std::count_if(kept_.begin(), kept_.end(), [&](const Kept& kept) {
        return kept.message.operation == Operation::send &&
               protocol.shape(kept.head, kept.message.length) == Shape::either;
    }));
}

/// The number of kept messages that announce bytes of a stream: WRITEs with immediate data, or SENDs after a WRITE.
std::size_t Connection::count_announced(const Protocol& protocol) const {
    constexpr std::uint64_t word_bytes = 4;
    std::array<std::uint64_t, 2> written = {};
    std::size_t count = 0;
    for (const Kept& kept : kept_) {
        if (kept.message.operation == Operation::write) {
            written[kept.side] = kept.message.length;
            if (kept.message.immediate && protocol.announces(kept.message.length, *kept.message.immediate)) ++count;
        } else if (kept.message.operation == Operation::send && kept.message.length == word_bytes &&
                   kept.head.size() >= word_bytes) {
            const bool fits = protocol.announces(written[kept.side], base::load_be32(kept.head.data())) ||
                              protocol.announces(written[kept.side], wire::load_le32(kept.head.data()));
            if (fits) ++count;
            written[kept.side] = 0;
        }
    }
    return count;
}

bool Connection::try_streams() {
    for (const Protocol* protocol : all_protocols()) {
        if (protocol->announces == nullptr || count_announced(*protocol) < announced_of_stream) continue;
        recognize(*protocol, Evidence::shape, std::nullopt, {});
        return true;
    }
    return false;
}

void Connection::try_shapes() {
    if (try_streams()) return;
    const bool has_both = flows_[0] != nullptr && flows_[1] != nullptr;
    const bool may_fit = has_both && kept_sends_ >= answered_of_shape;
    const bool may_answer = has_both && kept_sends_ >= std::size_t{2} * answered_of_shape;
    if (may_fit) {
        const Kept& last = kept_.back();
        for (const Protocol* protocol : all_protocols()) {
            // One protocol's SENDs that show no direction do not stand among those of another.
            const bool is_either = last.message.operation == Operation::send &&
                                   protocol->shape(last.head, last.message.length) == Shape::either;
            if (is_either && count_either(*protocol) >= answered_of_shape)
                return recognize(*protocol, Evidence::shape, std::nullopt, {});
            for (unsigned initiator = 0; may_answer && initiator < 2; ++initiator) {
                if (count_answers(*protocol, initiator) < answered_of_shape) continue;
                return recognize(*protocol, Evidence::shape, initiator, {});
            }
        }
    }
    if (kept_sends_ >= max_kept_sends) return ignore();
    if (kept_sends_ < max_misfits) return;
    const bool fits = std::ranges::any_of(all_protocols(), [this](const Protocol* protocol) {
        return std::ranges::any_of(kept_, [protocol](const Kept& kept) {
            return kept.message.operation == Operation::send &&
                   protocol->shape(kept.head, kept.message.length) != Shape::none;
        });
    });
    if (!fits) ignore();
}

/// Reads the messages that were kept before the protocol was known. Facts about the queue are read first, because a
/// response may hold them.
void Connection::replay() {
    std::vector<Kept> kept;
    kept.swap(kept_);
    forget_kept();
    if (!initiator_ && protocol_->is_symmetric && !kept.empty()) initiator_ = kept.front().side;
    if (!initiator_) {
        for (const Kept& one : kept)
            if (one.message.operation == Operation::send &&
                protocol_->shape(one.head, one.message.length) == Shape::request)
                initiator_ = one.side;
    }
    for (const Kept& one : kept) {
        if (one.message.operation != Operation::send || !initiator_) continue;
        Said said;
        protocol_->parse(one.head, one.message.length, one.side == *initiator_, facts_, said);
    }
    replaying_ = true;
    for (Kept& one : kept) {
        if (ignored_) break;
        Message* live = flows_[one.side] == nullptr ? nullptr : flows_[one.side]->find_begin(one.message.begin);
        Message& message = live != nullptr ? *live : one.message;
        if (message.operation == Operation::send) {
            take_send(one.side, message, one.head);
            continue;
        }
        data_begins(one.side, message);
        if (message.ended) data_ends(one.side, message, {});
    }
    replaying_ = false;
}

void Connection::send(unsigned side, Message& message, base::Bytes head) {
    if (ignored_) return;
    if (protocol_ != nullptr) return take_send(side, message, head);
    keep(side, message, head);
    ++messages_;
    try_shapes();
}

/// Counts a SEND that does not fit. After `max_misfits`, a protocol that was guessed by its port counts as wrong.
void Connection::misfit() {
    ++misfits_;
    if (confirmed_ || misfits_ < max_misfits) return;
    end();
    protocol_ = nullptr;
    ignore();
}

void Connection::take_send(unsigned side, Message& message, base::Bytes head) {
    if (!initiator_ && protocol_->is_symmetric) initiator_ = side;
    if (protocol_->acknowledges != nullptr) take_acknowledgement(side, message, head);
    if (protocol_->fragment != nullptr && take_fragment(side, message, head)) return;
    take_whole(side, message, head, head);
}

/// A SEND has answered all messages of the other side up to this identifier.
void Connection::take_acknowledgement(unsigned side, Message& message, base::Bytes head) {
    const std::optional<std::uint64_t> up_to = protocol_->acknowledges(head, message.length);
    if (!up_to || *up_to <= acknowledged_ids_[side] || !initiator_) return;
    const bool answers_reverse = side == *initiator_;
    std::array<std::uint64_t, max_acknowledged> ids;
    std::size_t count = 0;
    for (const Command* command = commands_.oldest(); command != nullptr && count < ids.size();
         command = commands_.newer(*command)) {
        if (command->answered || command->is_reverse != answers_reverse) continue;
        if ((command->id & ~reverse_ids) <= *up_to) ids[count++] = command->id;
    }
    if (count < ids.size()) acknowledged_ids_[side] = *up_to;
    // A command may end and leave the table as soon as it is answered.
    for (std::size_t i = 0; i < count; ++i) {
        Said said;
        said.type = Said::Type::response;
        said.id = ids[i];
        take_response(message, {head, message.length, {}}, said);
    }
}

void Connection::add_fragment(Partial& partial, const Message& message, const Fragment& fragment,
                              base::Bytes head) const {
    partial.remaining = fragment.remaining;
    partial.message.length += fragment.bytes;
    if (partial.begins.size() < max_fragments) partial.begins.push_back(message.begin);
    const std::size_t captured = head.size() > fragment.data_at ? head.size() - fragment.data_at : 0;
    const std::size_t known = std::min<std::size_t>(captured, fragment.bytes);
    if (partial.is_gapless) {
        const std::size_t room = partial_bytes - partial.head.size();
        const base::Bytes data = head.subspan(head.size() - captured, std::min(known, room));
        partial.head.insert(partial.head.end(), data.begin(), data.end());
    }
    partial.is_gapless = partial.is_gapless && known == fragment.bytes;
}

/// Whether the SEND carries only a part of a message.
bool Connection::take_fragment(unsigned side, Message& message, base::Bytes head) {
    const std::optional<Fragment> fragment = protocol_->fragment(head, message.length);
    if (!fragment) return false;
    if (partials_ == nullptr) partials_ = std::make_unique<std::array<Partial, 2>>();
    Partial& partial = (*partials_)[side];
    Fragment part = *fragment;
    bool continues = partial.remaining != 0 && partial.remaining == part.bytes + part.remaining;
    if (part.number) {
        continues = partial.remaining != 0 && partial.number == part.number && part.bytes <= partial.remaining;
        if (continues) part.remaining = partial.remaining - part.bytes;
    }
    if (!continues) {
        partial = {};
        if (part.remaining == 0 && (part.begins || !confirmed_)) return false;
        if (!part.begins) {
            // The capture lacks the beginning of the message.
            if (confirmed_) note({*this, dissect::CommandRole::none, nullptr, &message, false, head});
            return confirmed_;
        }
        confirmed_ = true;
        misfits_ = 0;
        partial.message = message;
        partial.message.length = 0;
        partial.number = part.number;
        if (part.number) {
            // The header is a part of the message.
            part.bytes += part.data_at;
            part.data_at = 0;
        }
    }
    add_fragment(partial, message, part, head);
    partial.message.end = message.end;
    partial.message.end_ns = std::max(partial.message.end_ns, message.end_ns);
    partial.message.last_frame = message.last_frame;
    partial.message.invalidated = message.invalidated;
    note({*this, dissect::CommandRole::none, nullptr, &message, false, head});
    if (partial.remaining != 0) return true;
    Partial whole;
    std::swap(whole, partial);
    take_whole(side, whole.message, whole.head, whole.number ? base::Bytes{} : base::Bytes(whole.head));
    message.command = whole.message.command;
    for (const std::uint64_t begin : whole.begins)
        if (Message* earlier = flows_[side]->find_begin(begin)) earlier->command = whole.message.command;
    return true;
}

void Connection::take_whole(unsigned side, Message& message, base::Bytes head, base::Bytes shown) {
    Part part{head, message.length, shown};
    for (unsigned count = 0; count < max_parts; ++count) {
        take_part(side, message, part);
        if (protocol_ == nullptr || protocol_->next_part == nullptr) return;
        const std::uint64_t step = protocol_->next_part(part.head, part.length);
        if (step == 0 || step >= part.head.size() || step >= part.length) return;
        part = {part.head.subspan(step), part.length - step, {}};
    }
}

void Connection::take_credits(const Said& said) {
    if (!said.credit_change) return;
    if (said.begins_credits) facts_.credits = 1;
    if (!facts_.credits) return;
    constexpr std::int64_t most = 1 << 30;
    facts_.credits = std::clamp<std::int64_t>(*facts_.credits + *said.credit_change, 1, most);
    const auto credits = static_cast<std::uint32_t>(*facts_.credits);
    facts_.limit = std::min(credits, facts_.slots.value_or(credits));
}

void Connection::take_part(unsigned side, Message& message, const Part& part) {
    const Shape shape = protocol_->shape(part.head, part.length);
    if (!initiator_ && shape == Shape::request) initiator_ = side;
    if (!initiator_ && shape != Shape::either) return misfit();
    Said said;
    // Too little was captured for a judgement by shape, so the port decides.
    const bool cut = part.head.size() < std::min<std::uint64_t>(part.length, octets_of_shape);
    if (confirmed_ || cut || shape != Shape::none)
        protocol_->parse(part.head, part.length, initiator_ && side == *initiator_, facts_, said);
    if (said.type == Said::Type::nothing) return misfit();
    confirmed_ = confirmed_ || !cut;
    misfits_ = 0;
    take_credits(said);
    if (said.type == Said::Type::other) {
        MessageNote other{*this, dissect::CommandRole::none, nullptr, &message, false, part.shown};
        other.event = said.event;
        other.event_heading = said.event_heading;
        other.word = said.word;
        other.line_head = part.head;
        other.from_initiator = initiator_ && side == *initiator_;
        return note(other);
    }
    if (said.is_reverse) said.id |= reverse_ids;
    switch (said.type) {
        case Said::Type::request: return take_request(message, part.shown, said);
        case Said::Type::interim: return take_interim(message, part.shown, said);
        default: return take_response(message, part, said);
    }
}

}  // namespace upper
