// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/command_events.h"

#include "upper/upper_connection.h"

namespace plugins::wireshark {

namespace {

/// A command is slow if it takes more than ten times the median of its kind so far, of this number of commands at
/// least.
constexpr std::uint64_t least_commands = 16;
constexpr std::uint64_t slow_factor = 10;

struct ExpertText {
    const char* name;
    int group;
    int severity;
    const char* summary;
};
// In the order of CommandEventKind.
constexpr std::array<ExpertText, command_event_count> event_texts{{
    {"rdma.expert.io_error", PI_RESPONSE_CODE, PI_WARN, "The command ended with an error"},
    {"rdma.expert.io_slow", PI_SEQUENCE, PI_NOTE, "The command took more than ten times the median of its kind"},
    {"rdma.expert.io_retried", PI_SEQUENCE, PI_WARN, "The command was asked again before an answer came"},
    {"rdma.expert.io_unanswered", PI_SEQUENCE, PI_WARN, "The capture has no answer to the command"},
    {"rdma.expert.io_data_after_response", PI_PROTOCOL, PI_ERROR,
     "The target moved data of a command that it had answered"},
}};

}  // namespace

void CommandEvents::on_message(const dissect::UpperMessage& message) {
    const dissect::CommandFacts& facts = message.facts;
    if (facts.role != dissect::CommandRole::response) return;
    const std::uint64_t frame = message.frame.number;
    if (!facts.error.empty()) events_[frame].push_back({CommandEventKind::error, std::string(facts.status)});
    if (!facts.parts) return;
    metrics::Histogram& before = latencies_[{std::string(facts.protocol), std::string(facts.kind)}];
    const std::uint64_t latency_ns = facts.parts->latency_ns();
    if (before.count() >= least_commands && latency_ns / slow_factor > before.quantile(0.5).value_or(0))
        events_[frame].push_back({CommandEventKind::slow});
    before.record(latency_ns);
}

void CommandEvents::command(const upper::Connection& /*connection*/, const upper::FinishedCommand& finished) {
    const upper::Command& command = finished.command;
    if (command.waits_for_event) return;
    if (finished.end == upper::CommandEnd::replaced)
        events_[command.request_last_frame].push_back({CommandEventKind::retried});
    if (finished.end == upper::CommandEnd::unanswered)
        events_[command.request_last_frame].push_back({CommandEventKind::unanswered});
}

void CommandEvents::after_frame(std::uint64_t frame, const upper::Reader::Place& place) {
    if (place.connection == nullptr || place.connection->counts().late_operations == 0) return;
    std::uint64_t& known = late_[place.connection->number()];
    if (place.connection->counts().late_operations > known)
        events_[frame].push_back({CommandEventKind::data_after_response});
    known = place.connection->counts().late_operations;
}

const std::vector<CommandEvent>& CommandEvents::of_frame(std::uint64_t frame) const {
    static const std::vector<CommandEvent> none;
    const auto found = events_.find(frame);
    return found == events_.end() ? none : found->second;
}

void CommandExperts::register_items(int protocol) {
    for (std::size_t i = 0; i < command_event_count; ++i) {
        const ExpertText& row = event_texts[i];
        registrations_[i] = {&experts_[i], {row.name, row.group, row.severity, row.summary, EXPFILL}};
    }
    expert_register_field_array(expert_register_protocol(protocol), registrations_.data(),
                                static_cast<int>(registrations_.size()));
}

void CommandExperts::show(const CommandEvent& event, proto_item* item, packet_info* pinfo) const {
    const auto place = static_cast<std::size_t>(event.kind);
    expert_field expert = experts_[place];
    if (event.status.empty())
        expert_add_info(pinfo, item, &expert);
    else
        expert_add_info_format(pinfo, item, &expert, "%s: %s", event_texts[place].summary, event.status.c_str());
}

}  // namespace plugins::wireshark
