// Commands of a connection: requests, data, responses, repairs, and what each command cost.
#include <algorithm>
#include <array>

#include "upper/message_flow.h"
#include "upper/upper_connection.h"

namespace upper {

// ---- commands ----

namespace {
bool is_awaited(const Command& command) {
    return !command.answered && !command.housekeeping && !command.waits_for_event;
}
}  // namespace

std::optional<std::int64_t> Connection::oldest_open_ns() {
    for (const Command* command = commands_.oldest(); command != nullptr; command = commands_.newer(*command))
        if (is_awaited(*command)) return command->request_begin_ns;
    return std::nullopt;
}

void Connection::visit_open(const std::function<void(std::int64_t)>& visit) {
    for (const Command* command = commands_.oldest(); command != nullptr; command = commands_.newer(*command))
        if (is_awaited(*command)) visit(command->request_begin_ns);
}

Command* Connection::find_command(const CommandRef& ref) {
    if (!ref) return nullptr;
    Command& command = commands_.at(ref.slot);
    return command.serial == ref.serial ? &command : nullptr;
}

bool Connection::make_room() {
    if (commands_.has_room()) return true;
    Command* oldest = commands_.oldest();
    if (oldest == nullptr) return false;
    finish(*oldest, oldest->answered ? CommandEnd::answered : CommandEnd::given_up);
    return commands_.has_room();
}

/// As many commands are open as the connection permits.
bool Connection::has_no_room() const { return facts_.limit && *facts_.limit != 0 && counts_.open_now >= *facts_.limit; }

void Connection::count_open(const Command& command, std::int64_t time_ns) {
    if (command.housekeeping) return;
    time_.ask(time_ns, repairs_);
    ++counts_.open_now;
    counts_.open_max = std::max(counts_.open_max, counts_.open_now);
    if (!time_.is_at_limit() && has_no_room()) time_.reach_limit(time_ns);
}

void Connection::count_closed(const Command& command, std::int64_t time_ns) {
    if (command.housekeeping || counts_.open_now == 0) return;
    --counts_.open_now;
    if (!time_.is_at_limit() || has_no_room()) return;
    const std::int64_t latency_ns = std::max<std::int64_t>(time_ns - command.request_begin_ns, 0);
    time_.leave_limit(time_ns, static_cast<std::uint64_t>(latency_ns), repairs_);
}

/// A command that was open when its connection broke off is asked for again on this one, before new ones.
void Connection::take_asked_again(std::uint64_t id) {
    constexpr std::uint64_t most_asked_again = 1024;
    if (former_.empty()) return;
    for (Connection* const one : former_) {
        Command* const same = one->commands_.find(id);
        if (same == nullptr) continue;
        one->finish(*same, CommandEnd::replaced);
        break;
    }
    std::erase_if(former_, [](const Connection* one) { return one->counts_.open_now == 0; });
    if (command_count_ >= most_asked_again) former_ = {};
}

void Connection::take_request(Message& message, base::Bytes head, const Said& said) {
    has_reverse_ = has_reverse_ || said.is_reverse;
    if (Command* same = commands_.find(said.id)) finish(*same, CommandEnd::replaced);
    take_asked_again(said.id);
    if (!make_room()) return;
    Command& command = commands_.add();
    command.number = ++command_count_;
    command.id = said.id;
    command.describe(said);
    command.housekeeping = said.housekeeping;
    command.waits_for_event = said.waits_for_event;
    command.wants_data = said.wants_data;
    command.is_reverse = said.is_reverse;
    command.grants_cut = said.grants_cut;
    command.inline_bytes = said.inline_bytes;
    command.request_begin_ns = message.has_begin ? message.begin_ns : message.end_ns;
    command.request_end_ns = message.end_ns;
    command.request_first_frame = message.first_frame;
    command.request_last_frame = message.last_frame;
    command.request_end_position = message.end;
    commands_.open(command);
    std::array<std::uint64_t, 2> granted = {};  // bytes granted in each direction
    for (std::size_t i = 0; i < said.grant_count; ++i) {
        Grant grant = said.grants[i];
        grant.offset = granted[grant.out ? 1 : 0];
        granted[grant.out ? 1 : 0] += grant.length;
        command.advertised_bytes += grant.length;
        commands_.grant(command, grant);
    }
    if (said.wants_data && said.inline_bytes != 0 && head.size() > message.length - said.inline_bytes)
        protocol_->read_data(said.detail, head.subspan(message.length - said.inline_bytes), facts_);
    count_open(command, command.request_begin_ns);
    command.open_with_it = static_cast<std::uint16_t>(counts_.open_now);
    message.command = {command.own, command.serial};
    if (said.aborts) remember_abort(command, *said.aborts);
    MessageNote asked{*this, dissect::CommandRole::request, &command, &message, false, head};
    if (said.grant_count != 0) asked.key = said.grants[0].key;
    note(asked);
}

void Connection::remember_abort(const Command& command, std::uint64_t aborted) {
    if (aborts_.size() == max_aborts) aborts_.erase(aborts_.begin());
    aborts_.push_back({command.serial, aborted});
}

/// The target has answered: if this was an abort, and it is done, the command that was meant gets no response.
void Connection::take_aborted(const Command& answered) {
    const auto asked = std::ranges::find(aborts_, answered.serial, &Abort::serial);
    if (asked == aborts_.end()) return;
    const std::uint64_t id = asked->id;
    aborts_.erase(asked);
    if (protocol_->status(answered.detail, commands_.progress_of(answered).status).error != ErrorClass::none) return;
    Command* const aborted = commands_.find(id);
    if (aborted == nullptr || aborted == &answered) return;
    // Of other commands without a response, the capture may lack the response, so their time does not count.
    if (aborted == commands_.oldest() && is_awaited(*aborted))
        time_.add(aborted->request_begin_ns, parts_until_now(*aborted), repairs_);
    finish(*aborted, CommandEnd::replaced);
}

void Connection::fill_response(Command& command, const Message& message, const Said& said) {
    command.answered = true;
    command.inline_bytes += said.inline_bytes;
    Progress& progress = commands_.progress_for(command);
    if (!said.status_in_data || !progress.status_known) progress.status = said.status;
    progress.response_begin_ns = message.has_begin ? message.begin_ns : message.end_ns;
    progress.response_end_ns = message.end_ns;
    progress.response_frame = message.last_frame;
    progress.response_end_position = message.end;
}

/// An interim response: the command stays open, whether or not its request was captured.
void Connection::take_interim(const Message& message, base::Bytes head, const Said& said) {
    const Command* command = commands_.find(said.id);
    MessageNote interim{*this,   command == nullptr ? dissect::CommandRole::none : dissect::CommandRole::interim,
                        command, &message,
                        false,   head};
    interim.event = said.event;
    note(interim);
}

void Connection::take_response(Message& message, const Part& part, const Said& said) {
    Command* command = commands_.find(said.id);
    if (command == nullptr) return take_orphan(message, part.shown, said);
    if (protocol_->complete_response != nullptr) {
        Said complete = said;
        protocol_->complete_response(part.head, command->detail, facts_, complete);
        fill_response(*command, message, complete);
    } else {
        fill_response(*command, message, said);
    }
    commands_.close_id(*command);
    message.command = {command->own, command->serial};
    if (!aborts_.empty()) take_aborted(*command);
    count_closed(*command, message.end_ns);
    if (!command->housekeeping) {
        for (const Command* older = commands_.oldest(); older != nullptr && older != command;
             older = commands_.newer(*older)) {
            if (older->answered || older->housekeeping) continue;
            ++counts_.overtaken;
            break;
        }
    }
    ++unsettled_;
    note({*this, dissect::CommandRole::response, command, &message, false, part.shown});
    settle(false);
}

void Connection::take_orphan(Message& message, base::Bytes head, const Said& said) {
    if (!make_room()) return;
    Command& command = commands_.add();
    command.number = ++command_count_;
    command.id = said.id;
    command.is_reverse = said.is_reverse;
    command.is_orphan = true;
    fill_response(command, message, said);
    note({*this, dissect::CommandRole::response, &command, &message, false, head});
    finish(command, CommandEnd::orphan);
}

// ---- data ----

/// The target sent the message before its response to the command, although the message passed later: its packets were
/// sent again, or others overtook them.
bool Connection::precedes_response(const Message& message, const Command& command) const {
    return command.answered && message.begin < commands_.progress_of(command).response_end_position;
}

/// The command that granted the memory of the message. Commands whose response follows the message come first, then
/// open commands, then commands that had been answered before the message; of each the oldest.
Connection::Owner Connection::owner_of(const Message& message, bool is_read) {
    Owner preceding;
    Owner open;
    Owner answered;
    commands_.visit_grants(message.key, message.address, message.asked, [&](Command& command, const KeptGrant& grant) {
        if (grant.out != is_read || command.is_reverse) return;
        Owner& kept = precedes_response(message, command) ? preceding : command.answered ? answered : open;
        if (kept.command == nullptr || command.number < kept.command->number) kept = {&command, &grant, false};
    });
    answered.is_late = true;
    if (preceding.command != nullptr) return preceding;
    return open.command != nullptr || answered.command == nullptr ? open : answered;
}

/// The command that the message may belong to, if it is the only one and the capture lacks the memory that it granted:
/// its data cannot be those of another.
Command* Connection::only_cut_command(const Message& message) {
    Command* only = nullptr;
    for (Command* command = commands_.oldest(); command != nullptr; command = commands_.newer(*command)) {
        if (command->is_reverse || !(is_awaited(*command) || precedes_response(message, *command))) continue;
        if (only != nullptr) return nullptr;
        only = command;
    }
    return only != nullptr && only->grants_cut ? only : nullptr;
}

/// Reads a WRITE of a protocol whose WRITEs are messages.
void Connection::take_write(unsigned side, Message& message, base::Bytes head) {
    if (!initiator_) initiator_ = side;
    WrittenMessage written{message.key, message.address, message.length, message.immediate, head};
    Said said;
    protocol_->parse_write(written, side == *initiator_, facts_, said);
    if (said.type == Said::Type::nothing) return;
    MessageNote of_write{*this, dissect::CommandRole::none, nullptr, &message, false, head};
    of_write.event = said.event;
    of_write.word = said.word;
    of_write.line_head = head;
    of_write.from_initiator = side == *initiator_;
    note(of_write);
}

void Connection::data_begins(unsigned side, Message& message) {
    if (ignored_) return;
    if (protocol_ == nullptr) {
        if (++messages_ > max_messages_without) return ignore();
        return keep(side, message, {});
    }
    if (protocol_->parse_write != nullptr) {
        message.wants_head = message.asked <= small_write_bytes;
        return;
    }
    if (!protocol_->grants_memory) {
        ++counts_.operations;
        return;
    }
    if (!initiator_ || side == *initiator_) return;  // data of commands that the target sends are not examined
    ++counts_.operations;
    const bool is_read = message.operation == Operation::read;
    if (message.has_target && message.key == 0 && message.asked == 0) {
        ++counts_.probes;
        return;
    }
    Owner owner = message.has_target ? owner_of(message, is_read) : Owner{};
    if (owner.is_late) {
        ++counts_.late_operations;
        return;
    }
    if (owner.command == nullptr) owner.command = only_cut_command(message);
    if (owner.command == nullptr) {
        ++counts_.unbound_operations;
        return;
    }
    Command* const command = owner.command;
    const KeptGrant* const grant = owner.grant;
    message.command = {command->own, command->serial};
    message.holds_message = grant != nullptr && grant->holds_message && grant->address == message.address;
    message.wants_head = message.holds_message || (is_read && command->wants_data);
    Progress& progress = commands_.progress_for(*command);
    if (progress.operations == 0 || message.begin_ns < progress.data_begin_ns)
        progress.data_begin_ns = message.begin_ns;
    if (progress.operations == 0) progress.data_first_frame = message.first_frame;
    progress.data_end_ns =
        std::max(progress.operations == 0 ? message.begin_ns : progress.data_end_ns, message.begin_ns);
    progress.data_last_frame = std::max(progress.data_last_frame, message.last_frame);
    ++progress.operations;
    MessageNote begun{*this, is_read ? dissect::CommandRole::data_out : dissect::CommandRole::data_in, command,
                      &message, true};
    begun.data_bytes = message.asked;
    if (grant != nullptr) begun.data_offset = grant->offset + (message.address - grant->address);
    note(begun);
}

/// Reads a request or a response that was moved by RDMA. The SEND that belongs to it does not describe it.
void Connection::take_moved_message(Command& command, bool out, base::Bytes head) {
    Said said;
    protocol_->read_message(head, out, command.detail, facts_, said);
    if (said.type == Said::Type::response) {
        Progress& progress = commands_.progress_for(command);
        progress.status = said.status;
        progress.status_known = true;
    }
    if (said.type == Said::Type::request) command.describe(said);
}

void Connection::data_ends(unsigned side, Message& message, base::Bytes head) {
    if (ignored_) return;
    if (protocol_ == nullptr) return keep_end(side, message);
    if (protocol_->parse_write != nullptr) {
        if (message.operation == Operation::write && message.has_begin) take_write(side, message, head);
        return;
    }
    Command* command = find_command(message.command);
    if (command == nullptr) return;
    const bool is_read = message.operation == Operation::read;
    Progress& progress = commands_.progress_for(*command);
    progress.data_end_ns = std::max(progress.data_end_ns, message.end_ns);
    progress.data_last_frame = std::max(progress.data_last_frame, message.last_frame);
    (is_read ? progress.moved_out_bytes : progress.moved_in_bytes) += message.length;
    // A command may be older than what is known of the protocol.
    if (command->wants_data && protocol_->read_data != nullptr) protocol_->read_data(command->detail, head, facts_);
    if (message.holds_message && !head.empty()) take_moved_message(*command, is_read, head);
    const base::Bytes data = message.wants_head ? head : base::Bytes{};
    if (message.first_frame == message.last_frame && data.empty()) return;  // reported when it began
    note({*this, is_read ? dissect::CommandRole::data_out : dissect::CommandRole::data_in, command, &message, false,
          data});
}

// ---- what passes again ----

void Connection::touched_by_repair(const Message& message, std::uint32_t repair, bool own) {
    Command* command = find_command(message.command);
    if (command == nullptr) return;
    RepairMarks& marks = commands_.marks_for(*command);
    for (std::uint8_t i = 0; i < marks.repair_count; ++i) {
        if (marks.repairs[i] != repair) continue;
        marks.own[i] = marks.own[i] || own;
        return;
    }
    if (marks.repair_count == marks.repairs.size()) return;
    marks.repairs[marks.repair_count] = repair;
    marks.own[marks.repair_count] = own;
    ++marks.repair_count;
}

void Connection::moved(unsigned side, const Message& message, std::int64_t time_ns, bool began_again) {
    Command* command = find_command(message.command);
    if (command == nullptr) return;
    if (message.operation != Operation::send) {
        Progress& progress = commands_.progress_for(*command);
        progress.data_end_ns = std::max(progress.data_end_ns, time_ns);
        return;
    }
    if (initiator_ && (side == *initiator_) != command->is_reverse) {
        // Later messages of the command show that the request had arrived.
        if (commands_.progress_of(*command).operations == 0 && !command->answered)
            command->request_end_ns = std::max(command->request_end_ns, time_ns);
        return;
    }
    Progress& progress = commands_.progress_for(*command);
    progress.response_end_ns = std::max(progress.response_end_ns, time_ns);
    if (!began_again) return;
    RepairMarks& marks = commands_.marks_for(*command);
    if (marks.response_again_count == marks.response_again_ns.size())
        std::move(marks.response_again_ns.begin() + 1, marks.response_again_ns.end(), marks.response_again_ns.begin());
    else
        ++marks.response_again_count;
    marks.response_again_ns[marks.response_again_count - 1u] = time_ns;
}

void Connection::acknowledged(unsigned side, std::int64_t time_ns) {
    if (protocol_ == nullptr || !initiator_) return;
    const bool by_target = side != *initiator_;
    if (!by_target || has_reverse_) {
        const std::uint64_t acked = flows_[side]->acked();
        for (Command* command = commands_.oldest(); command != nullptr; command = commands_.newer(*command)) {
            if (command->is_reverse != by_target) continue;
            if (command->request_end_position > acked) break;
            if (command->request_acked) continue;
            command->request_acked = true;
            command->request_ack_ns = time_ns;
        }
    }
    if (by_target || has_reverse_) settle(false);
}

// ---- the end of a command ----

/// Reports commands in the order of their requests, as soon as their response has certainly arrived.
void Connection::settle(bool all) {
    while (Command* oldest = commands_.oldest()) {
        if (oldest->waits_for_event && !oldest->answered) {
            // A command that waits for an event may stay open for ever, so later commands do not wait for it.
            Command* next = commands_.newer(*oldest);
            while (next != nullptr && next->waits_for_event && !next->answered) next = commands_.newer(*next);
            if (next == nullptr) return;
            oldest = next;
        }
        if (!oldest->answered) return;
        const unsigned answers = initiator_ ? (oldest->is_reverse ? *initiator_ : 1 - *initiator_) : 0;
        const Flow* answering = initiator_ ? flows_[answers] : nullptr;
        const bool arrived =
            answering != nullptr && answering->acked() >= commands_.progress_of(*oldest).response_end_position;
        if (!arrived && !all && unsettled_ <= max_unsettled) return;
        finish(*oldest, CommandEnd::answered);
    }
}

void Connection::measure_repairs(const Command& command, const CommandParts& parts, FinishedCommand& finished) const {
    const std::int64_t begin = command.request_begin_ns;
    const std::int64_t end = begin + static_cast<std::int64_t>(parts.latency_ns());
    const RepairMarks* const marks = commands_.marks_of(command);
    if (marks == nullptr) return;
    for (std::uint8_t i = 0; i < marks->repair_count; ++i) {
        const Repair* const repair = repairs_.find(marks->repairs[i]);
        if (repair == nullptr || !repair->is_sure) continue;
        const std::int64_t from = std::max(begin, repair->begin_ns);
        const std::int64_t to = std::min(end, repair->end_ns);
        if (from >= to) continue;
        (marks->own[i] ? finished.repair_own_ns : finished.repair_behind_ns) += static_cast<std::uint64_t>(to - from);
    }
}

/// The parts of a command that was open until now and gets no response.
CommandParts Connection::parts_until_now(const Command& command) const {
    Progress progress = commands_.progress_of(command);
    progress.response_begin_ns = last_seen_ns_;
    progress.response_end_ns = last_seen_ns_;
    return parts_of(command, progress, nullptr);
}

void Connection::finish(Command& command, CommandEnd end) {
    const Progress& progress = commands_.progress_of(command);
    if (command.counts_moved && end == CommandEnd::answered)
        command.set_bytes(progress.moved_in_bytes + progress.moved_out_bytes);
    FinishedCommand finished{command, progress, end, {}, {}, {}, 0, 0};
    if (command.answered) {
        finished.meaning = protocol_->status(command.detail, progress.status);
        if (!command.is_orphan) {
            finished.parts = parts_of(command, progress, commands_.marks_of(command));
            --unsettled_;
        }
    } else {
        commands_.close_id(command);
        count_closed(command, last_seen_ns_);
        if (command.request_acked && command.request_ack_ns >= command.request_end_ns)
            finished.request_ack_ns = static_cast<std::uint64_t>(command.request_ack_ns - command.request_end_ns);
    }
    if (end == CommandEnd::answered) {
        measure_repairs(command, finished.parts, finished);
        const std::uint64_t before = finished.parts.ns[CommandParts::target_before];
        if (command.request_acked && command.request_ack_ns >= command.request_end_ns)
            finished.request_ack_ns =
                std::min(before, static_cast<std::uint64_t>(command.request_ack_ns - command.request_end_ns));
        if (command.waits_for_event)
            ++counts_.events;
        else if (!command.housekeeping)
            time_.add(command.request_begin_ns, finished.parts, repairs_);
    }
    report_host_times();
    listener_.command(*this, finished);
    commands_.remove(command);
}

void Connection::report_host_times() {
    while (const auto host_ns = time_.take_host_next_ns()) listener_.asked_next(*this, *host_ns);
}

void Connection::end() {
    if (ended_) return;
    settle(true);
    while (Command* oldest = commands_.oldest())
        finish(*oldest, oldest->answered ? CommandEnd::answered : CommandEnd::unanswered);
    time_.end(last_seen_ns_, repairs_);
    if (protocol_ == nullptr) return;
    ended_ = true;
    report_host_times();
    listener_.ended(*this);
}

}  // namespace upper
