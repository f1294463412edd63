#pragma once
#include <cstdint>
#include <vector>

#include "upper/upper_command.h"

namespace upper {

/// The number of commands that all connections together may remember. A slot is counted when it is made, and stays with
/// its connection until the connection ends.
struct CommandBudget {
    std::uint64_t slots_left = 1'000'000;
};

/// A grant of an open command, as the table keeps it.
struct KeptGrant {
    std::uint64_t address = 0;
    std::uint64_t offset = 0;  ///< place of its first byte in the command's data
    std::uint32_t length = 0;
    std::uint32_t key = 0;
    std::uint16_t slot = no_slot;
    std::uint16_t next = no_slot;  ///< the next one of the bucket, or of the free ones
    std::uint16_t next_of_command = no_slot;
    bool out = false;
    bool holds_message = false;
};

/// The commands of a connection: by slot, by identifier, by key, and in the order of their requests. Memory grows to
/// the greatest number of commands that were open at the same time.
class CommandTable {
public:
    static constexpr std::uint32_t max_commands = 2048;

    static_assert(max_commands * Said::max_grants < no_slot, "a slot has 16 bits");

    explicit CommandTable(CommandBudget& budget) : budget_(budget) {}
    ~CommandTable() { budget_.slots_left += commands_.size(); }
    CommandTable(const CommandTable&) = delete;
    CommandTable& operator=(const CommandTable&) = delete;

    /// Whether add() has a free slot.
    bool has_room() const {
        return free_command_ != no_slot || (commands_.size() < max_commands && budget_.slots_left != 0);
    }
    /// Takes a free slot for an empty command. The caller has checked that there is room.
    Command& add();
    /// Puts the command at the end of the order, and into the list of its identifier.
    void open(Command& command);
    /// Removes the command from the list of its identifier: the request is no longer open.
    void close_id(Command& command);
    void grant(Command& command, const Grant& grant);
    void remove(Command& command);

    Command& at(std::uint16_t slot) { return commands_[slot]; }
    /// What has passed of the command since its request; made if absent.
    Progress& progress_for(Command& command);
    /// Empty if nothing has passed.
    const Progress& progress_of(const Command& command) const {
        static constexpr Progress none;
        return command.progress == no_slot ? none : progress_[command.progress];
    }
    /// What was sent again of the command; made if absent.
    RepairMarks& marks_for(Command& command);
    /// nullptr if absent.
    const RepairMarks* marks_of(const Command& command) const {
        return command.repair_marks == no_slot ? nullptr : &marks_[command.repair_marks];
    }
    /// The open command with this identifier; nullptr if absent.
    Command* find(std::uint64_t id);
    /// The oldest command; nullptr if absent.
    Command* oldest() { return oldest_ == no_slot ? nullptr : &commands_[oldest_]; }
    Command* newer(const Command& command) { return command.newer == no_slot ? nullptr : &commands_[command.newer]; }
    std::uint32_t size() const { return size_; }

    /// Calls `visit` with each command that granted a range with this key that holds [address, address + length), and
    /// with the range.
    template <class Visit>
    void visit_grants(std::uint32_t key, std::uint64_t address, std::uint64_t length, Visit visit) {
        if (grant_buckets_.empty()) return;
        for (std::uint16_t at = grant_buckets_[bucket_of(key, grant_buckets_)]; at != no_slot; at = grants_[at].next) {
            const KeptGrant& grant = grants_[at];
            if (grant.key != key || address < grant.address || length > grant.length ||
                address - grant.address > grant.length - length)
                continue;
            visit(commands_[grant.slot], grant);
        }
    }

private:
    static std::size_t bucket_of(std::uint64_t value, const std::vector<std::uint16_t>& buckets);
    void grow_ids();
    void grow_grants();
    void remove_grants(Command& command);

    CommandBudget& budget_;
    Slots<Command> commands_ = {};
    Slots<Progress> progress_ = {};
    Slots<RepairMarks> marks_ = {};
    std::vector<std::uint16_t> id_buckets_ = {};
    Slots<KeptGrant> grants_ = {};
    std::vector<std::uint16_t> grant_buckets_ = {};
    std::uint16_t free_command_ = no_slot;  ///< the first free command; `newer` links the others
    std::uint16_t free_grant_ = no_slot;
    std::uint16_t free_progress_ = no_slot;
    std::uint16_t free_marks_ = no_slot;
    std::uint16_t oldest_ = no_slot;
    std::uint16_t newest_ = no_slot;
    std::uint32_t size_ = 0;
    std::uint32_t grant_count_ = 0;
    std::uint32_t serial_ = 0;
};

}  // namespace upper
