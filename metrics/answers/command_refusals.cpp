// What is refused to an upper layer: the data of commands, and its own port.
#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>
#include <string_view>

#include "metrics/answers/command_group.h"
#include "metrics/answers/ends.h"
#include "metrics/answers/figure_text.h"
#include "metrics/answers/finding.h"

namespace metrics::inline answers {

namespace {

/// Whether a Terminate, as EventKind::terminate has it, refuses access to memory: a remote protection error of RDMAP or
/// a tagged buffer error of DDP. RFC 5040, 4.8; RFC 5041, 7.2.
bool refuses_access(std::uint64_t terminate) {
    const std::uint64_t layer = terminate >> 12 & 0xf;
    const std::uint64_t type = terminate >> 8 & 0xf;
    return layer <= 1 && type == 1;
}

struct Refused {
    Flows flows;  ///< of the commands
    std::uint64_t refusals = 0;
    std::vector<std::uint64_t> frames;
    std::optional<RequestFigures> request;  ///< of the target
};

/// What initiators refused of the READs and WRITEs of the target: RoCE and InfiniBand by a NAK, iWARP by a Terminate.
Refused refused_of(const Subject& subject, const CommandGroup& commands) {
    Refused refused;
    for (const FlowSnapshot* flow : commands.flows) {
        const FlowSnapshot* const back = subject.reverse(*flow);
        const EventSummary* const terminate = flow->find_event_summary(EventKind::terminate);
        const bool terminated = terminate != nullptr && refuses_access(terminate->value_max);
        std::uint64_t naks = 0;
        if (back != nullptr && (!back->refused || back->refused->operation == Operation::write ||
                                back->refused->operation == Operation::read))
            naks = back->naks[static_cast<std::size_t>(NakCode::remote_access_error)];
        if (naks == 0 && !terminated) continue;
        refused.flows.push_back(flow);
        refused.refusals += naks != 0 ? naks : terminate->count;
        const Flows one{naks != 0 ? back : flow};
        for (const std::uint64_t frame : frames_of(one, {naks != 0 ? EventKind::nak : EventKind::terminate}))
            refused.frames.push_back(frame);
        if (naks != 0 && back->refused && !refused.request) refused.request = *back->refused;
    }
    return refused;
}

/// The command whose data the request moved: the last one without an answer that began before it; nullptr if unknown.
const CommandRecord* command_of(const CommandGroup& commands, const RequestFigures& request) {
    const CommandRecord* found = nullptr;
    for (const CommandKindFigures& kind : commands.sum.kinds)
        for (const CommandRecord& record : kind.waiting) {
            const bool moves = record.data_first_frame != 0 && record.data_first_frame <= request.frame &&
                               request.frame <= record.data_last_frame;
            if (moves) return &record;
            if (record.request_last_frame < request.frame &&
                (found == nullptr || record.request_last_frame > found->request_last_frame))
                found = &record;
        }
    return found;
}

}  // namespace

void find_remote_access(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out) {
    const Refused refused = refused_of(subject, commands);
    if (refused.flows.empty()) return;
    const double share = part_of(refused.flows.size(), commands.flows.size());
    Answer answer = make_command_answer(Verdict::remote_access, commands, share);
    answer.cost = {share, CostBasis::connections};
    const std::string initiator = subject.short_name(commands.first().source.address);
    const std::string target = subject.short_name(commands.first().destination.address);
    answer.summary = fmt::format("{} refused access to its memory {}, when {} moved data for commands of {}.",
                                 initiator, counted(refused.refusals, "time"), target, ends_text(subject, commands));
    if (refused.request) {
        answer.summary += fmt::format(" Refused was {}", request_text(*refused.request));
        const CommandRecord* const command = command_of(commands, *refused.request);
        if (command != nullptr)
            answer.summary += fmt::format(", for the {} {} of frame {}", command->kind, command->id,
                                          number(command->request_last_frame));
        answer.summary += '.';
    }
    add_evidence(answer, "refusals", static_cast<double>(refused.refusals), EvidenceUnit::answers, refused.frames);
    if (refused.request && refused.request->frame != 0)
        add_evidence(answer, "the request that was refused", 1, EvidenceUnit::requests, {refused.request->frame});
    add_command_figures(answer, commands);
    answer.advice = fmt::format(
        "Compare the key and the range of the data with those that the command gave (`dump -V` shows both). {} may "
        "have invalidated the key too early, after a time-out for example, or {} moves more than was asked for.",
        initiator, target);
    out.push_back(std::move(answer));
}

namespace {

/// A protocol with a port for RDMA, and the port that clients try if no process listens there. [MS-SMBD] 2.1; cifs.ko
/// of Linux asks at 5445, then at 445.
struct SecondPort {
    std::string_view protocol;
    std::uint16_t own;
    std::uint16_t second;
};
constexpr std::array<SecondPort, 1> second_ports{{{"smb", 5445, 445}}};

/// The port that the flow's connection was made to: of TCP, or of the service of the RDMA CM. IBA annex A11.
std::optional<std::uint16_t> port_of(const FlowSnapshot& flow) {
    if (flow.transport == wire::Transport::iwarp) return flow.destination.port;
    if (!flow.connection->service_id) return {};
    return static_cast<std::uint16_t>(*flow.connection->service_id & 0xffff);
}

}  // namespace

void find_fallback(const Subject& subject, const CommandGroup& commands, std::vector<Answer>& out) {
    const auto* const ports = std::ranges::find(second_ports, commands.sum.protocol, &SecondPort::protocol);
    if (ports == second_ports.end()) return;
    std::vector<Affected> affected;
    for (const FlowSnapshot* flow : commands.flows)
        if (port_of(*flow) == ports->second) affected.push_back({flow, 1.0});
    if (affected.empty()) return;
    const Endpoint& initiator = commands.first().source;
    const Endpoint& target = commands.first().destination;
    std::vector<std::uint64_t> frames;
    std::string reason;
    std::uint64_t refusals = 0;
    for (const ConnectionAttempt& attempt : subject.snapshot().attempts) {
        const bool is_own = attempt.client.address == initiator.address && attempt.server.address == target.address &&
                            attempt.server.port == ports->own;
        const bool refused = attempt.outcome == AttemptOutcome::rejected || attempt.outcome == AttemptOutcome::reset;
        if (!is_own || !refused || attempt.by_client) continue;
        ++refusals;
        if (frames.size() < 4) frames.insert(frames.end(), {attempt.request_frame, attempt.end_frame});
        if (reason.empty() && !attempt.reason.empty()) reason = ": " + attempt.reason;
    }
    if (refusals == 0) return;
    const double share = part_of(affected.size(), commands.flows.size());
    Answer answer = make_command_answer(Verdict::fallback, commands, share);
    answer.cost = {share, CostBasis::connections};
    answer.summary =
        fmt::format("{} was refused at port {} of {}{}, and uses port {} instead.", subject.host(initiator.address),
                    ports->own, subject.host(target.address), reason, ports->second);
    add_evidence(answer, "requests that were refused", static_cast<double>(refusals), EvidenceUnit::requests, frames);
    add_command_figures(answer, commands);
    answer.advice = fmt::format(
        "Let {} listen at port {}, or name port {} to {}: each set-up asks there first, without success.",
        subject.short_name(target.address), ports->own, ports->second, subject.short_name(initiator.address));
    out.push_back(std::move(answer));
}

}  // namespace metrics::answers
