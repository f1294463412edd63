#include "tests/model/trace_records.h"

#include <algorithm>
#include <array>

#include "metrics/measure/engine/analyzer.h"
#include "wire/aeth.h"

namespace model {

namespace {

using wire::trace::Flag;
using wire::trace::Record;
using wire::trace::RecordKind;

/// enum ibv_wr_opcode
std::uint8_t work_opcode(metrics::Operation operation) {
    switch (operation) {
        case metrics::Operation::write: return 0;
        case metrics::Operation::write_immediate: return 1;
        case metrics::Operation::send: return 2;
        case metrics::Operation::send_immediate: return 3;
        case metrics::Operation::read: return 4;
        case metrics::Operation::compare_swap: return 5;
        case metrics::Operation::fetch_add: return 6;
        case metrics::Operation::send_invalidate: break;
    }
    return 9;
}

Record record(const History& history, std::uint32_t side, RecordKind kind, std::int64_t time_ns) {
    Record out;
    out.kind = kind;
    out.time_ns = history.plan.epoch_ns + time_ns;
    out.number = history.end(side).qpn;
    out.process = process_of(side);
    return out;
}

/// The model posts when its adapter has room, whether the program has looked or not: the queue is larger then.
void add_queue_pair(const History& history, std::uint32_t side, const Recording& recording, Records& out) {
    const End& peer = history.end(side ^ 1);
    for (const std::uint8_t state : std::array<std::uint8_t, 3>{1, 2, 3}) {  // INIT, RTR, RTS
        Record made = record(history, side, RecordKind::queue_pair, -1'000'000 + state);
        made.change = {};
        made.change.state = state;
        made.change.type = 2;
        made.change.send_capacity = history.end(side).application.depth;
        if (recording.poll_ns + recording.poll_jitter_ns != 0) made.change.send_capacity += 100;
        if (state != 1) {
            made.change.peer_number = peer.qpn;
            const std::uint32_t low = peer.host + 1;
            made.change.peer_gid = {0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0,
                                    0xff,
                                    0xff,
                                    10,
                                    static_cast<std::uint8_t>(low >> 16),
                                    static_cast<std::uint8_t>(low >> 8),
                                    static_cast<std::uint8_t>(low)};
        }
        out.push_back(made);
    }
}

bool is_acknowledgement(const Packet& packet) {
    if (!packet.acknowledges()) return packet.response();
    return packet.response() || wire::kind_of_syndrome(packet.syndrome) == wire::AethKind::ack;
}

}  // namespace

std::vector<std::int64_t> polls(const History& history, std::uint32_t side, const Recording& recording) {
    const SideTruth& truth = history.sides[side];
    std::vector<std::int64_t> out(truth.complete_ns.size());
    Random random(side + 7);
    std::int64_t last = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const auto jitter =
            static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(recording.poll_jitter_ns)));
        last = out[i] = std::max(last, truth.complete_ns[i] + recording.poll_ns + jitter);
    }
    for (std::size_t i = out.size(); i-- > 0;)
        if ((i + 1) % recording.signal_every != 0 && i + 1 < out.size()) out[i] = out[i + 1];
    return out;
}

Records records(const History& history, const Recording& recording) {
    Records out;
    for (std::uint32_t side = 0; side < history.sides.size(); ++side) {
        add_queue_pair(history, side, recording, out);
        const SideTruth& truth = history.sides[side];
        const auto& mix = history.end(side).application.mix;
        const std::vector<std::int64_t> polled = polls(history, side, recording);
        for (std::size_t i = 0; i < truth.post_ns.size(); ++i) {
            const bool signalled = (i + 1) % recording.signal_every == 0;
            Record post = record(history, side, RecordKind::post_send, truth.post_ns[i] - recording.early_ns);
            post.work.opcode = work_opcode(mix[i % mix.size()].operation);
            post.work.bytes = mix[i % mix.size()].bytes;
            post.work.flags = signalled ? Flag::signalled : 0;
            post.work.id = recording.ids ? i : 0;
            out.push_back(post);
            if (!signalled || i >= polled.size()) continue;
            Record completion = record(history, side, RecordKind::completion, polled[i]);
            completion.work.id = post.work.id;
            out.push_back(completion);
        }
    }
    std::stable_sort(out.begin(), out.end(), [](const Record& a, const Record& b) { return a.time_ns < b.time_ns; });
    return out;
}

std::vector<MessageTruth> messages(const History& history, Tap tap, std::uint32_t side, const Recording& recording) {
    const SideTruth& truth = history.sides[side];
    std::vector<MessageTruth> out(truth.post_ns.size());
    std::vector<std::uint64_t> last_psn(out.size());
    const auto& mix = history.end(side).application.mix;
    std::uint64_t psn = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        const Work& work = mix[i % mix.size()];
        const bool atomic = work.operation > metrics::Operation::read;
        psn += atomic ? 1 : std::max(1U, (work.bytes + history.plan.mtu - 1) / history.plan.mtu);
        last_psn[i] = psn - 1;
        out[i].post_ns = truth.post_ns[i] - recording.early_ns;
    }
    const std::vector<std::int64_t> polled = polls(history, side, recording);
    for (std::size_t i = 0; i < polled.size(); ++i) out[i].poll_ns = polled[i];
    std::size_t unanswered = 0;
    for (const Passage* passage : seen(history, tap)) {
        const Packet& packet = passage->packet;
        if (packet.side == side && packet.request()) {
            MessageTruth& message = out[packet.message];
            if (message.first_ns < 0) message.first_ns = passage->time_ns;
            if (packet.meaning().ends_message() && message.last_ns < 0) message.last_ns = passage->time_ns;
        }
        if (packet.side != (side ^ 1) || !is_acknowledgement(packet)) continue;
        while (unanswered < out.size() && last_psn[unanswered] <= packet.psn && out[unanswered].last_ns >= 0)
            out[unanswered++].ack_ns = passage->time_ns;
    }
    return out;
}

metrics::Snapshot analyse_both(const History& history, const Frames& frames, const Records& records,
                               metrics::posts::TraceJoin& join) {
    metrics::AnalyzerOptions options = options_for(history);
    options.engine.observer = &join;
    metrics::Analyzer analyzer(options);
    return analyse_both(history, frames, records, join, analyzer);
}

metrics::Snapshot analyse_both(const History& history, const Frames& frames, const Records& records,
                               metrics::posts::TraceJoin& join, metrics::Analyzer& analyzer) {
    for (std::uint32_t side = 0; side < history.sides.size(); ++side)
        join.queue_pairs().know({process_of(side), "program " + std::to_string(side), ""});
    const auto identify = [&](std::uint64_t id, metrics::FlowSnapshot& out) { return analyzer.identify(id, out); };
    std::vector<wire::Frame> batch;
    std::size_t record = 0;
    constexpr std::size_t batch_frames = 64;
    for (std::size_t begin = 0; begin < frames.size(); begin += batch_frames) {
        batch.clear();
        for (std::size_t i = begin; i < std::min(begin + batch_frames, frames.size()); ++i)
            batch.push_back(frames[i].frame(i + 1));
        const std::int64_t until_ns = batch.back().time_ns + metrics::posts::TraceJoin::lead_ns;
        for (; record < records.size() && records[record].time_ns <= until_ns; ++record)
            join.queue_pairs().add(records[record]);
        join.frames(batch);
        analyzer.feed(batch);
        join.settle(identify);
    }
    for (; record < records.size(); ++record) join.queue_pairs().add(records[record]);
    analyzer.finish();
    join.settle(identify, true);
    metrics::Snapshot snapshot = analyzer.snapshot();
    join.describe(snapshot);
    return snapshot;
}

}  // namespace model
