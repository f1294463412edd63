#include "metrics/answers/sample.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>

#include "metrics/answers/figure_text.h"
#include "metrics/answers/flow_measures.h"

namespace metrics::inline answers {

namespace {

/// From here on a mirror of one packet in n is no capture that dropped some.
constexpr std::uint64_t holes_per_packet = 3;
constexpr std::uint64_t packets_enough = 16;
constexpr double nearly_all = 0.9;

std::uint64_t holes_of(const FlowSnapshot& flow) {
    return flow.missing_packets.value_or(0) + flow.unseen_acknowledged_packets;
}

std::uint64_t asked_again(const FlowSnapshot& flow) {
    return repeated_packets(flow) + flow.naks[static_cast<std::size_t>(NakCode::psn_sequence_error)];
}

/// Holes of evenly chosen packets are spread like waiting times: most packets have one before them, and the longest is
/// the mean times the logarithm of their number, or little more.
bool is_even(const FlowSnapshot& flow) {
    constexpr double most_beyond = 8;
    const EventSummary* const gaps = flow.find_event_summary(EventKind::gap);
    if (gaps == nullptr || gaps->count * 2 < flow.packets) return false;
    const double mean = static_cast<double>(gaps->value_sum) / static_cast<double>(gaps->count);
    return static_cast<double>(gaps->value_max) <= mean * (std::log(static_cast<double>(gaps->count)) + most_beyond);
}

bool is_sampled(const FlowSnapshot& flow) {
    constexpr std::uint64_t rarely = 100;
    return holes_of(flow) >= holes_per_packet * flow.packets && asked_again(flow) * rarely <= flow.packets &&
           is_even(flow);
}

/// What a single packet, or the share of marked ones, shows is shown by a sample as well.
bool is_shown_by_sample(Verdict verdict) {
    switch (verdict) {
        case Verdict::remote_access_error:
        case Verdict::invalid_request:
        case Verdict::remote_operational_error:
        case Verdict::terminate:
        case Verdict::connection_rejected:
        case Verdict::corruption:
        case Verdict::rnr:
        case Verdict::pause:
        case Verdict::marked:
        case Verdict::low_entropy:
        case Verdict::throttled: return true;
        default: return false;
    }
}

}  // namespace

std::optional<Sample> sample_of(const Snapshot& snapshot) {
    Sample sample;
    std::uint64_t judged = 0;
    for (const FlowSnapshot& flow : snapshot.flows) {
        if (flow.packets < packets_enough || !carries_data(flow)) continue;
        judged += flow.packets;
        if (!is_sampled(flow)) continue;
        sample.seen += flow.packets;
        sample.passed += flow.packets + holes_of(flow);
    }
    if (sample.seen == 0 || static_cast<double>(sample.seen) < nearly_all * static_cast<double>(judged))
        return std::nullopt;
    return sample;
}

void withhold_for_sample(const Sample& sample, std::vector<Answer>& answers) {
    const auto has = [&answers](Question question) {
        return std::ranges::any_of(answers, [=](const Answer& answer) { return answer.question == question; });
    };
    const bool has_commands = has(Question::commands);
    const bool has_path = has(Question::path);
    std::erase_if(answers, [](const Answer& answer) { return !is_shown_by_sample(answer.verdict); });
    for (std::size_t i = 0; i < question_count; ++i) {
        const auto question = static_cast<Question>(i);
        const bool is_asked = i < usual_question_count || (question == Question::path && has_path) ||
                              (question == Question::commands && has_commands);
        if (!is_asked) continue;
        const bool answered =
            std::ranges::any_of(answers, [&](const Answer& answer) { return answer.question == question; });
        if (answered || meaning_of(question, Verdict::undecidable) == nullptr) continue;
        Answer answer;
        answer.question = question;
        answer.verdict = Verdict::undecidable;
        answer.summary = fmt::format("The capture is a sample of about 1 in {} packets, which cannot tell.",
                                     rough(std::round(sample.one_in())));
        answer.advice =
            "Capture every packet: on a host (`rdmascope dump -i IFACE -s 128 -w FILE`), or by a mirror "
            "that does not sample.";
        answers.push_back(std::move(answer));
    }
}

}  // namespace metrics::answers
