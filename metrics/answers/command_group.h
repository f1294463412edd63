#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/answers/answer.h"
#include "metrics/answers/subject.h"
#include "metrics/figures/snapshot.h"

namespace metrics::inline answers {

/// The connections of one initiator to one target with one protocol, added up.
struct CommandGroup {
    Flows flows;
    CommandConnectionFigures sum;
    CommandTotals totals;

    const FlowSnapshot& first() const { return *flows.front(); }
    bool is_iwarp() const { return sum.transport == wire::Transport::iwarp; }
};

/// The groups with commands, those first that took most time together.
std::vector<CommandGroup> command_groups(const Subject& subject);

/// `part` divided by `whole`; 0 if `whole` is 0.
double part_of(std::uint64_t part, std::uint64_t whole);
/// The time that commands of this kind spent at the target.
std::uint64_t target_ns(const CommandKindFigures& kind);
/// The kind whose commands took most time together; nullptr if nothing was answered.
const CommandKindFigures* main_kind(const CommandGroup& commands);
/// "192.0.2.2 at 192.0.2.1 (NVMe, subsystem)".
std::string ends_text(const Subject& subject, const CommandGroup& commands);

/// An answer about all flows of the group.
Answer make_command_answer(Verdict verdict, const CommandGroup& commands, double severity);
/// Adds the figures that every answer about commands has.
void add_command_figures(Answer& answer, const CommandGroup& commands);
/// The frames of a command, ascending.
std::vector<std::uint64_t> frames_of_command(const CommandRecord& record);

/// Adds errors, missing answers, repeats and repairs that cost much.
void find_command_alarms(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out);
/// Parts of these: the initiator refused to let the target move data; the protocol went to another port.
void find_remote_access(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out);
void find_fallback(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out);
/// Adds what RDS says of its receivers.
void describe_congestion_maps(const Subject& subject, std::vector<Answer>& out);
/// Adds what takes the time of commands.
void describe_commands(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out);

}  // namespace metrics::answers
