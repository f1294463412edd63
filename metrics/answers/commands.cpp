// How long do commands of upper layers take, and what takes the time? The question is asked if there are commands.
#include "metrics/answers/command_group.h"
#include "metrics/answers/questions.h"

namespace metrics::inline answers {

void ask_commands(const Subject& subject, std::vector<Answer>& out) {
    const std::vector<CommandGroup> all = command_groups(subject);
    const std::size_t before = out.size();
    for (const CommandGroup& commands : all) find_command_alarms(subject, commands, out);
    if (!all.empty() && out.size() == before) describe_commands(subject, all.front(), out);
    // Datagrams of RDS are in none of the groups.
    describe_congestion_maps(subject, out);
}

}  // namespace metrics::answers
