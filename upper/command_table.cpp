#include "upper/command_table.h"

#include <algorithm>
#include <limits>

#include "base/hash.h"

namespace upper {

std::size_t CommandTable::bucket_of(std::uint64_t value, const std::vector<std::uint16_t>& buckets) {
    return (base::spread(value) >> 32) & (buckets.size() - 1);
}

Command& CommandTable::add() {
    std::uint16_t slot = free_command_;
    if (slot == no_slot) {
        slot = commands_.add();
        --budget_.slots_left;
    } else {
        free_command_ = commands_[slot].newer;
    }
    Command& command = commands_[slot];
    command = {};
    ++serial_;
    if (serial_ == 0) ++serial_;
    command.serial = serial_;
    command.own = slot;
    ++size_;
    return command;
}

void CommandTable::grow_ids() {
    std::vector<std::uint16_t> old(id_buckets_.empty() ? 16 : 2 * id_buckets_.size(), no_slot);
    old.swap(id_buckets_);
    for (std::uint16_t first : old) {
        for (std::uint16_t slot = first; slot != no_slot;) {
            const std::uint16_t next = commands_[slot].next_of_id;
            std::uint16_t& bucket = id_buckets_[bucket_of(commands_[slot].id, id_buckets_)];
            commands_[slot].next_of_id = bucket;
            bucket = slot;
            slot = next;
        }
    }
}

void CommandTable::open(Command& command) {
    if (size_ > id_buckets_.size()) grow_ids();
    const std::uint16_t slot = command.own;
    std::uint16_t& bucket = id_buckets_[bucket_of(command.id, id_buckets_)];
    command.next_of_id = bucket;
    bucket = slot;
    command.older = newest_;
    if (newest_ != no_slot)
        commands_[newest_].newer = slot;
    else
        oldest_ = slot;
    newest_ = slot;
}

Command* CommandTable::find(std::uint64_t id) {
    if (id_buckets_.empty()) return nullptr;
    for (std::uint16_t slot = id_buckets_[bucket_of(id, id_buckets_)]; slot != no_slot;
         slot = commands_[slot].next_of_id)
        if (commands_[slot].id == id) return &commands_[slot];
    return nullptr;
}

void CommandTable::close_id(Command& command) {
    const std::uint16_t slot = command.own;
    std::uint16_t* link = &id_buckets_[bucket_of(command.id, id_buckets_)];
    while (*link != no_slot && *link != slot) link = &commands_[*link].next_of_id;
    if (*link == slot) *link = command.next_of_id;
    command.next_of_id = no_slot;
}

void CommandTable::grow_grants() {
    std::vector<std::uint16_t> old(grant_buckets_.empty() ? 16 : 2 * grant_buckets_.size(), no_slot);
    old.swap(grant_buckets_);
    for (std::uint16_t first : old) {
        for (std::uint16_t at = first; at != no_slot;) {
            const std::uint16_t next = grants_[at].next;
            std::uint16_t& bucket = grant_buckets_[bucket_of(grants_[at].key, grant_buckets_)];
            grants_[at].next = bucket;
            bucket = at;
            at = next;
        }
    }
}

void CommandTable::grant(Command& command, const Grant& grant) {
    std::uint16_t at = free_grant_;
    if (at == no_slot) {
        at = grants_.add();
    } else {
        free_grant_ = grants_[at].next;
    }
    ++grant_count_;
    if (grant_count_ > grant_buckets_.size()) grow_grants();
    std::uint16_t& bucket = grant_buckets_[bucket_of(grant.key, grant_buckets_)];
    constexpr std::uint64_t longest = std::numeric_limits<std::uint32_t>::max();
    grants_[at] = {grant.address,       grant.offset, static_cast<std::uint32_t>(std::min(grant.length, longest)),
                   grant.key,           command.own,  bucket,
                   command.first_grant, grant.out,    grant.holds_message};
    bucket = at;
    command.first_grant = at;
}

void CommandTable::remove_grants(Command& command) {
    for (std::uint16_t at = command.first_grant; at != no_slot;) {
        std::uint16_t* link = &grant_buckets_[bucket_of(grants_[at].key, grant_buckets_)];
        while (*link != at) link = &grants_[*link].next;
        *link = grants_[at].next;
        const std::uint16_t next = grants_[at].next_of_command;
        grants_[at].next = free_grant_;
        free_grant_ = at;
        --grant_count_;
        at = next;
    }
    command.first_grant = no_slot;
}

Progress& CommandTable::progress_for(Command& command) {
    if (command.progress != no_slot) return progress_[command.progress];
    std::uint16_t at = free_progress_;
    if (at == no_slot)
        at = progress_.add();
    else
        free_progress_ = progress_[at].next_free;
    progress_[at] = {};
    command.progress = at;
    return progress_[at];
}

RepairMarks& CommandTable::marks_for(Command& command) {
    if (command.repair_marks != no_slot) return marks_[command.repair_marks];
    std::uint16_t at = free_marks_;
    if (at == no_slot)
        at = marks_.add();
    else
        free_marks_ = marks_[at].next_free;
    marks_[at] = {};
    command.repair_marks = at;
    return marks_[at];
}

void CommandTable::remove(Command& command) {
    const std::uint16_t slot = command.own;
    remove_grants(command);
    if (command.repair_marks != no_slot) {
        marks_[command.repair_marks].next_free = free_marks_;
        free_marks_ = command.repair_marks;
        command.repair_marks = no_slot;
    }
    if (command.progress != no_slot) {
        progress_[command.progress].next_free = free_progress_;
        free_progress_ = command.progress;
        command.progress = no_slot;
    }
    const bool is_in_order = command.older != no_slot || oldest_ == slot;
    if (is_in_order) {
        if (command.older != no_slot)
            commands_[command.older].newer = command.newer;
        else
            oldest_ = command.newer;
        if (command.newer != no_slot)
            commands_[command.newer].older = command.older;
        else
            newest_ = command.older;
    }
    command.serial = 0;
    command.newer = free_command_;
    free_command_ = slot;
    --size_;
}

}  // namespace upper
