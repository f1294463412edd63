// No sentence asserts what no figure shows: each clause that the answers print is looked up in a table, and the figure
// that it rests on must be above 0 on the flows that the answer names. The snapshots are random.
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

#include "metrics/answers/flow_measures.h"
#include "support.h"

namespace {

using metrics::Answer;
using metrics::EventKind;
using metrics::FlowSnapshot;
using metrics::NakCode;
using metrics::Snapshot;
using metrics::State;
using why_test::healthy;
using why_test::ipv4;

/// The flows of an answer, and the snapshot that they are of.
struct Facts {
    const Snapshot& snapshot;
    std::vector<const FlowSnapshot*> flows;

    const FlowSnapshot* reverse(const FlowSnapshot& flow) const {
        return flow.reverse ? snapshot.flow(*flow.reverse) : nullptr;
    }
    std::uint64_t sum(const std::function<std::uint64_t(const FlowSnapshot&)>& figure) const {
        std::uint64_t all = 0;
        for (const FlowSnapshot* flow : flows) all += figure(*flow);
        return all;
    }
};

using Figure = std::function<std::uint64_t(const Facts&)>;

Figure of_flows(std::function<std::uint64_t(const FlowSnapshot&)> figure) {
    return [figure](const Facts& facts) { return facts.sum(figure); };
}
Figure naks(NakCode code) {
    return of_flows([code](const FlowSnapshot& flow) { return flow.naks[static_cast<std::size_t>(code)]; });
}
Figure state(std::initializer_list<State> states) {
    return of_flows([all = std::vector<State>(states)](const FlowSnapshot& flow) {
        std::uint64_t ns = 0;
        for (const State each : all) ns += flow.state_ns[metrics::index_of(each)];
        return ns;
    });
}
template <class Figures>
Figure of_retries(Figures figures) {
    return of_flows([figures](const FlowSnapshot& flow) {
        return flow.retries ? std::uint64_t{figures(*flow.retries)} : std::uint64_t{0};
    });
}
Figure repeats() {
    return of_retries([](const metrics::RetryFigures& retries) { return retries.repeats; });
}
Figure last_answer() {
    return of_flows([](const FlowSnapshot& flow) { return flow.last_answer_frame; });
}

std::uint64_t asked_again(const Facts& facts) {
    std::uint64_t all = 0;
    for (const FlowSnapshot* flow : facts.flows) {
        all += flow->naks[static_cast<std::size_t>(NakCode::psn_sequence_error)];
        if (flow->tcp) all += flow->tcp->duplicate_acks;
        const FlowSnapshot* const reverse = facts.reverse(*flow);
        if (reverse != nullptr && flow->messages_total() == 0)
            all += metrics::event_count(*reverse, EventKind::retransmission);
    }
    return all;
}

struct Clause {
    std::string words;
    Figure figure;
};

const std::vector<Clause>& clauses() {
    static const std::vector<Clause> table{
        {"asked for some again", asked_again},
        {"was not ready", of_flows([](const FlowSnapshot& flow) { return flow.rnr_naks; })},
        {"and the sender waited", state({State::rnr_wait})},
        {"waited for receives to be posted", state({State::rnr_wait})},
        {"no answer came in time", of_flows([](const FlowSnapshot& flow) { return flow.timeouts; })},
        {"its timer ran out too early", of_flows([](const FlowSnapshot& flow) { return flow.timeouts; })},
        {"time-out", of_flows([](const FlowSnapshot& flow) { return flow.timeouts; })},
        {"were lost before they came", of_flows([](const FlowSnapshot& flow) { return *flow.missing_packets; })},
        {"came late", of_flows([](const FlowSnapshot& flow) { return *flow.reordered_packets; })},
        {"retransmitted because of it", of_flows([](const FlowSnapshot& flow) { return *flow.retransmitted_packets; })},
        {"arrived a second time", of_flows([](const FlowSnapshot& flow) { return *flow.duplicate_packets; })},
        {"carried a bad ICRC", of_flows([](const FlowSnapshot& flow) { return flow.icrc_bad; })},
        {"repairing it took",
         state({State::transmit_again, State::rnr_wait, State::recover_nak, State::recover_timeout})},
        {"for repairs", state({State::transmit_again, State::rnr_wait, State::recover_nak, State::recover_timeout})},
        {"were retransmitted in part", of_flows([](const FlowSnapshot& flow) { return *flow.retransmitted_packets; })},
        {"was sent again", repeats()},
        {"gave up after", repeats()},
        {"IBV_WC_RETRY_EXC_ERR", repeats()},
        {"refused it", of_retries([](const metrics::RetryFigures& retries) { return retries.rnr_naks; })},
        {"IBV_WC_RNR_RETRY_EXC_ERR", of_retries([](const metrics::RetryFigures& retries) { return retries.rnr_naks; })},
        {"answered until frame", last_answer()},
        {"went on answering", last_answer()},
        {"was ever acknowledged",
         of_retries([](const metrics::RetryFigures& retries) { return retries.acknowledged_bytes_max.value_or(0); })},
        {" was agreed on, and it",
         of_flows([](const FlowSnapshot& flow) { return flow.connection->rnr_retry_count ? 1 : 0; })},
        {"were agreed on (the responder resources",
         of_flows([](const FlowSnapshot& flow) { return flow.connection->responder_resources.value_or(0); })},
        {"are outstanding", of_flows([](const FlowSnapshot& flow) { return flow.responses_max; })},
        {"were answered, too", of_flows([](const FlowSnapshot& flow) {
             return flow.repeat_answers ? flow.repeat_answers->repeated_answers : 0;
         })},
        {"found requests that it cannot take", naks(NakCode::invalid_request)},
        {"refused access to its memory", naks(NakCode::remote_access_error)},
        {"could not carry out requests", naks(NakCode::remote_operational_error)},
        {"Refused was", of_flows([](const FlowSnapshot& flow) { return flow.refused ? 1 : 0; })},
        {"asks to stop",
         [](const Facts& facts) {
             std::uint64_t frames = 0;
             for (const auto& pause : facts.snapshot.pauses) frames += pause.pause_frames + pause.pfc_frames;
             return frames;
         }},
    };
    return table;
}

/// Most figures of a flow are 0, and some are not.
class RandomSnapshots {
public:
    explicit RandomSnapshots(unsigned seed) : random_(seed) {}

    Snapshot make() {
        std::vector<FlowSnapshot> flows;
        const std::uint64_t count = 1 + below(3);
        for (std::uint64_t i = 0; i < count; ++i) {
            const bool back = i % 2 == 1;
            flows.push_back(make_flow(i + 1, back ? 1 : 2, back ? 2 : 1));
        }
        if (count >= 2 && below(2) == 0) {
            flows[0].reverse = 2;
            flows[1].reverse = 1;
        }
        Snapshot snapshot = why_test::snapshot_of(std::move(flows));
        if (below(4) == 0) snapshot.pauses.push_back(make_pause());
        return snapshot;
    }

private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    std::uint64_t sparse(std::uint64_t most) { return below(3) == 0 ? 1 + below(most) : 0; }

    FlowSnapshot make_flow(std::uint64_t id, std::uint8_t from, std::uint8_t to) {
        FlowSnapshot flow = healthy(id, from, to);
        if (below(4) == 0) flow.operations = {};
        flow.retransmitted_packets = sparse(50);
        flow.duplicate_packets = sparse(50);
        flow.reordered_packets = sparse(50);
        flow.missing_packets = sparse(50);
        flow.timeouts = sparse(8);
        flow.rnr_naks = sparse(8);
        flow.icrc_bad = sparse(20);
        for (std::uint64_t& code : flow.naks) code = below(3) == 0 ? sparse(8) : 0;
        flow.state_ns[metrics::index_of(State::rnr_wait)] = sparse(200'000'000);
        flow.state_ns[metrics::index_of(State::recover_timeout)] = sparse(200'000'000);
        flow.state_ns[metrics::index_of(State::recover_nak)] = sparse(200'000'000);
        if (*flow.retransmitted_packets > 0 && below(2) == 0)
            why_test::add_event(flow, EventKind::retransmission, {20, 30}, 1 + below(8));
        flow.last_answer_frame = sparse(100);
        flow.responses_max = sparse(16);
        if (below(3) == 0) flow.connection->responder_resources = static_cast<std::uint32_t>(below(8));
        if (below(3) == 0) flow.connection->rnr_retry_count = static_cast<std::uint32_t>(below(8));
        if (below(3) == 0) flow.connection->retry_count = static_cast<std::uint32_t>(below(8));
        if (below(2) == 0) {
            flow.retries = make_retries();
            flow.rnr_naks += flow.retries->rnr_naks;
            *flow.retransmitted_packets += flow.retries->repeats;
        }
        if (below(4) == 0)
            flow.refused = metrics::RequestFigures{metrics::Operation::write, sparse(9000), sparse(4096), sparse(90)};
        if (below(3) == 0) {
            auto& answers = flow.repeat_answers.emplace();
            answers.repeats = sparse(8);
            answers.repeated_answers = std::min(answers.repeats, sparse(8));
            answers.first_repeat_min_ns = 2'000'000;
            if (below(2) == 0) answers.first_answer_ns.record(40'000'000, 1 + below(4));
        }
        flow.finished = below(3) == 0;
        return flow;
    }

    metrics::RetryFigures make_retries() {
        metrics::RetryFigures retries;
        retries.request = {static_cast<metrics::Operation>(below(8)), sparse(9000), sparse(4096), sparse(90)};
        retries.is_first = below(2) == 0;
        retries.repeats = sparse(9);
        retries.rnr_naks = sparse(9);
        retries.refused_last = retries.rnr_naks > 0 && below(2) == 0;
        retries.first_ns = 1'200'000'000;
        retries.last_ns = 1'200'000'000 + static_cast<std::int64_t>(below(700'000'000));
        retries.repeat_frame = retries.repeats > 0 ? 60 : 0;
        retries.last_frame = 90;
        retries.interval_min_ns = retries.repeats > 0 ? 1'000'000 : 0;
        retries.interval_max_ns = retries.repeats > 0 ? 1'000'000 + below(60'000'000) : 0;
        retries.rnr_timer_ns = 1'280'000;
        if (below(2) == 0) retries.acknowledged_bytes_max = sparse(4096);
        return retries;
    }

    metrics::PauseSnapshot make_pause() {
        metrics::PauseSnapshot pause;
        pause.pfc_frames = sparse(100);
        pause.resume_frames = sparse(4);
        if (pause.pfc_frames == 0) return pause;
        pause.priority_frames[3] = pause.pfc_frames;
        pause.priority_quanta[3] = pause.pfc_frames * (below(2) == 0 ? 65'535 : 10);
        if (below(2) == 0) return pause;
        metrics::PauseSender sender;
        sender.mac = {2, 0, 0, 0, 0, 2};
        if (below(2) == 0) sender.host = ipv4(2);
        sender.frames = pause.pfc_frames;
        sender.priority_frames[3] = sender.frames;
        sender.first_ns = 1'000'000'000;
        sender.last_ns = 1'000'000'000 + static_cast<std::int64_t>(below(900'000'000));
        pause.senders.push_back(sender);
        return pause;
    }

    std::mt19937_64 random_;
};

Facts facts_of(const Snapshot& snapshot, const Answer& answer) {
    Facts facts{snapshot, {}};
    for (const std::uint64_t id : answer.flows)
        if (const FlowSnapshot* const flow = snapshot.flow(id)) facts.flows.push_back(flow);
    return facts;
}

TEST(Clauses, StandOnlyWhereTheirFigureIsAboveZero) {
    RandomSnapshots snapshots(20'261'125);
    std::map<std::string, unsigned> met;
    std::set<std::string> wrong;
    for (int i = 0; i < 20'000; ++i) {
        const Snapshot snapshot = snapshots.make();
        for (const Answer& answer : why_test::ask(snapshot)) {
            const Facts facts = facts_of(snapshot, answer);
            for (const Clause& clause : clauses()) {
                if (answer.summary.find(clause.words) == std::string::npos) continue;
                ++met[clause.words];
                if (clause.figure(facts) == 0 && wrong.insert(clause.words).second)
                    ADD_FAILURE() << '"' << clause.words << "\" in: " << answer.summary;
            }
        }
    }
    for (const Clause& clause : clauses()) EXPECT_GT(met[clause.words], 0U) << "never printed: " << clause.words;
}

TEST(Clauses, NeverAnsweredMeansNoAnswer) {
    RandomSnapshots snapshots(7);
    for (int i = 0; i < 5'000; ++i) {
        const Snapshot snapshot = snapshots.make();
        for (const Answer& answer : why_test::ask(snapshot)) {
            if (answer.verdict != metrics::Verdict::never_answered) continue;
            for (const std::uint64_t id : answer.flows) EXPECT_EQ(snapshot.flow(id)->last_answer_frame, 0U);
        }
    }
}

}  // namespace
