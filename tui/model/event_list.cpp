#include "tui/model/event_list.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <utility>

#include "base/quantities.h"
#include "exporters/flow_fields.h"
#include "wire/aeth.h"
#include "wire/error_text.h"

namespace tui::inline model {

namespace {

using metrics::EndKind;
using metrics::EventKind;

/// Excludes what the figures already show: the place of the longest silence, and set-ups that succeeded.
bool is_worth_a_line(EventKind kind) {
    switch (kind) {
        case EventKind::long_gap:
        case EventKind::connect_request:
        case EventKind::connect_reply:
        case EventKind::established: return false;
        default: return true;
    }
}

bool is_bad(EventKind kind) {
    switch (kind) {
        case EventKind::duplicate:
        case EventKind::reordered:
        case EventKind::ce_mark:
        case EventKind::cnp:
        case EventKind::pause:
        case EventKind::credit_exhausted:
        case EventKind::ack_unseen:
        case EventKind::disconnected: return false;
        default: return is_worth_a_line(kind);
    }
}

std::string who(const metrics::Endpoint& from, const metrics::Endpoint& to, const metrics::HostNames* names) {
    return fmt::format("{} > {}", exporters::endpoint_text(from, names), exporters::endpoint_text(to, names));
}

/// The NAK code of an interval's NAKs, nak_code_count where they have several: the event summary's greatest value is
/// that of all the flow's life.
std::uint64_t code_of(const metrics::FlowSnapshot& flow) {
    std::optional<std::uint64_t> code;
    for (std::size_t i = 0; i < flow.naks.size(); ++i) {
        if (flow.naks[i] == 0) continue;
        if (code) return metrics::nak_code_count;
        code = i;
    }
    return code.value_or(metrics::nak_code_count);
}

/// A timer as it was sent: histograms are within 1 %, the 32 timers further apart. IBTA vol. 1, 9.7.5.2.8.
std::uint64_t nearest_rnr_timer_ns(std::uint64_t ns) {
    const auto distance = [ns](std::uint32_t us) {
        const std::uint64_t timer = std::uint64_t{us} * 1000;
        return timer > ns ? timer - ns : ns - timer;
    };
    return std::uint64_t{1000} *
           *std::min_element(wire::rnr_timer_us.begin(), wire::rnr_timer_us.end(),
                             [&](std::uint32_t a, std::uint32_t b) { return distance(a) < distance(b); });
}

std::uint64_t value_of(const metrics::FlowSnapshot& flow, const metrics::EventSummary& summary) {
    if (summary.kind == EventKind::nak) return code_of(flow);
    if (summary.kind == EventKind::rnr_nak)
        if (const auto timer = flow.rnr_timer_ns.max()) return nearest_rnr_timer_ns(*timer);
    if (summary.kind == EventKind::terminate) return summary.value_max;
    // The greatest value of an interval is not known, but it cannot exceed the sum of the interval.
    return std::min(summary.value_max, summary.value_sum);
}

std::string attempt_words(const metrics::ConnectionAttempt& attempt) {
    std::string text = fmt::format("connection {}", name_of(attempt.outcome));
    if (!attempt.reason.empty()) text += ": " + attempt.reason;
    if (attempt.requests > 1) text += fmt::format(" ({} requests)", attempt.requests);
    return text;
}

bool is_before(const EventLine& a, const EventLine& b) {
    const auto place = [](const EventLine& line) {
        const bool end = is_end(line);
        const std::int64_t last_ns = line.end_ns > line.start_ns ? line.end_ns - 1 : line.start_ns;
        return std::pair(line.time_ns.value_or(end ? last_ns : line.start_ns), end);
    };
    return place(a) < place(b);
}

EventLine line_in(const Reading& reading) {
    EventLine line;
    line.start_ns = reading.start_ns;
    line.end_ns = reading.end_ns();
    return line;
}

}  // namespace

bool is_end(const EventLine& event) {
    return event.source == EventLine::Source::flow &&
           (event.kind == EventKind::disconnected || event.kind == EventKind::reset);
}

void EventList::place(EventLine line) {
    line.serial = next_serial_++;
    const auto behind = std::upper_bound(lines_.begin(), lines_.end(), line, is_before);
    lines_.insert(behind, std::move(line));
    if (lines_.size() <= max_lines_) return;
    lines_.pop_front();
    ++forgotten_;
}

void EventList::add_flow(const metrics::FlowSnapshot& flow, const Reading& reading, const metrics::HostNames* names) {
    EventLine line = line_in(reading);
    line.flow = flow.id;
    line.transport = flow.transport;
    bool end_reported = false;
    for (const metrics::EventSummary& summary : flow.event_summaries) {
        if (!is_worth_a_line(summary.kind)) continue;
        end_reported = end_reported || summary.kind == EventKind::disconnected || summary.kind == EventKind::reset;
        line.kind = summary.kind;
        line.count = summary.count;
        line.value_max = value_of(flow, summary);
        line.value_sum = summary.value_sum;
        line.frames = summary.frames;
        line.bad = is_bad(summary.kind);
        if (line.text.empty()) line.text = who(flow.source, flow.destination, names);
        fresh_.push_back(line);
    }
    // A RoCE connection ends by a message of the CM, which is no flow's data and no event; both directions by the
    // same. FIN and RST have event summaries.
    const std::uint64_t end_frame = flow.connection->end_frame;
    const std::optional<EndKind> end = flow.connection->end_kind;
    if (!end || end_frame == 0 || !ended_.insert(end_frame).second || end_reported || end == EndKind::tcp_reset ||
        end == EndKind::tcp_fin)
        return;
    if (ended_.size() > max_lines_) ended_ = {end_frame};
    line.kind = EventKind::disconnected;
    line.count = 1;
    line.value_max = line.value_sum = 0;
    line.frames = {end_frame};
    line.text = who(flow.source, flow.destination, names);
    line.what = "connection ended: " + flow.connection->end;
    line.bad = end == EndKind::rejected;
    fresh_.push_back(std::move(line));
}

void EventList::add_attempt(const metrics::ConnectionAttempt& attempt, const Reading& reading,
                            const metrics::HostNames* names) {
    using metrics::AttemptOutcome;
    if (attempt.outcome == AttemptOutcome::established || attempt.outcome == AttemptOutcome::unknown) return;
    EventLine line = line_in(reading);
    line.source = EventLine::Source::attempt;
    if (attempt.request_ns != 0) line.time_ns = attempt.request_ns;
    line.kind = EventKind::rejected;
    line.count = attempt.requests;
    line.transport = attempt.transport;
    line.frames = {attempt.request_frame};
    if (attempt.end_frame != 0 && attempt.end_frame != attempt.request_frame) line.frames.push_back(attempt.end_frame);
    line.text = who(attempt.client, attempt.server, names);
    line.what = attempt_words(attempt);
    line.bad = true;
    fresh_.push_back(std::move(line));
}

void EventList::add(const Reading& reading, const metrics::HostNames* names, const FrameTimes& times) {
    if (reading.restarted) clear();
    fresh_.clear();
    if (const std::uint64_t dropped = reading.interval.capture.kernel_dropped.value_or(0); dropped != 0) {
        EventLine line = line_in(reading);
        line.source = EventLine::Source::capture;
        line.count = dropped;
        line.text = "the capture";
        line.what =
            base::format_counted(dropped, "packet") + " dropped by the kernel: what is missing may look like a loss";
        line.bad = true;
        fresh_.push_back(std::move(line));
    }
    for (const metrics::ConnectionAttempt& attempt : reading.interval.attempts) add_attempt(attempt, reading, names);
    for (const metrics::FlowSnapshot& flow : reading.interval.flows)
        if (!flow.event_summaries.empty() || flow.connection->end_frame != 0) add_flow(flow, reading, names);
    if (times)
        for (EventLine& line : fresh_)
            if (!line.time_ns && !line.frames.empty()) line.time_ns = times(line.frames.front());
    // In order, so that nearly all go to the end.
    std::stable_sort(fresh_.begin(), fresh_.end(), is_before);
    for (EventLine& line : fresh_) place(std::move(line));
}

void EventList::clear() {
    lines_.clear();
    ended_.clear();
    forgotten_ = 0;
}

std::vector<const EventLine*> EventList::of_flow(std::uint64_t id, std::uint64_t reverse, std::size_t most) const {
    std::vector<const EventLine*> found;
    for (auto line = lines_.rbegin(); line != lines_.rend() && found.size() < most; ++line)
        if (line->flow != 0 && (line->flow == id || line->flow == reverse)) found.push_back(&*line);
    return found;
}

namespace {

std::string nak_text(const EventLine& event) {
    if (event.value_max >= metrics::nak_code_count) return "NAK, of several codes";
    if (event.value_max == static_cast<std::uint64_t>(metrics::NakCode::other)) return "NAK, reserved code";
    std::string text = "NAK ";
    wire::append_nak_code(text, static_cast<unsigned>(event.value_max));
    return text;
}

std::string terminate_text(const EventLine& event) {
    std::string text = "Terminate, ";
    const std::uint64_t value = event.value_max;
    wire::append_terminate_reason(text, static_cast<std::uint8_t>(value >> 12 & 15),
                                  static_cast<std::uint8_t>(value >> 8 & 15), static_cast<std::uint8_t>(value & 0xff));
    return text;
}

std::string gap_text(const EventLine& event) {
    const std::string_view unit = event.transport == wire::Transport::iwarp ? "byte" : "packet";
    const std::string missing = base::format_counted(event.value_sum, unit);
    return event.count == 1 ? "gap of " + missing : "gaps, together " + missing;
}

std::string up_to(const EventLine& event, std::string_view what, std::string value) {
    return fmt::format("{}, {}{}", what, event.count == 1 ? "" : "up to ", value);
}

}  // namespace

std::string describe(const EventLine& event) {
    if (!event.what.empty()) return event.what;
    const auto value = static_cast<double>(event.value_max);
    const std::string_view piece = event.transport == wire::Transport::iwarp ? "segment" : "packet";
    switch (event.kind) {
        case EventKind::retransmission: return "retransmission";
        case EventKind::gap: return gap_text(event);
        case EventKind::duplicate: return fmt::format("{} doubled by the network", piece);
        case EventKind::reordered:
            return up_to(event, "out of order", base::format_counted(event.value_max, "packet") + " late");
        case EventKind::nak: return nak_text(event);
        case EventKind::rnr_nak: return fmt::format("RNR NAK, timer {}", base::format_duration(value));
        case EventKind::timeout:
            return fmt::format("time-out after {}{} of silence", event.count == 1 ? "" : "up to ",
                               base::format_duration(value));
        case EventKind::ce_mark: return "ECN: congestion experienced (CE)";
        case EventKind::cnp: return "congestion notification (CNP)";
        case EventKind::pause: return up_to(event, "pause", base::format_counted(event.value_max, "quantum", "quanta"));
        case EventKind::zero_window: return "TCP zero window";
        case EventKind::icrc_bad: return "bad ICRC";
        case EventKind::crc_bad: return "bad MPA CRC";
        case EventKind::terminate: return terminate_text(event);
        case EventKind::credit_exhausted: return "no credits left";
        case EventKind::long_gap: return up_to(event, "silence", base::format_duration(value));
        case EventKind::ack_unseen:
            return up_to(event, "ACK of what was not captured", base::format_counted(event.value_max, piece));
        case EventKind::connect_request: return "connection request";
        case EventKind::connect_reply: return "connection reply";
        case EventKind::established: return "connection established";
        case EventKind::rejected: return "connection rejected";
        case EventKind::disconnected: return "connection ended: TCP FIN";
        case EventKind::reset: return "connection ended: TCP RST";
        case EventKind::go_back_wrong_start: return "go-back-N restart at the wrong PSN";
        case EventKind::go_back_incomplete: return "go-back-N left packets out";
        case EventKind::nak_wrong_psn: return "NAK names the wrong PSN";
        case EventKind::nak_missing: return "hole without a NAK";
        case EventKind::read_restart_wrong: return "READ restarted at the wrong response";
        case EventKind::icmp_error: return "ICMP error about a packet of this flow";
    }
    return std::string(metrics::name_of(event.kind));
}

}  // namespace tui::model
