#include <algorithm>
#include <utility>

#include "metrics/measure/engine/engine.h"
#include "metrics/measure/flow/vantage.h"

/// What the engine gives out: snapshots of its flows.
namespace metrics::inline measure::inline engine {

namespace {

double mean_over(Wide area, std::uint64_t wall_ns) {
    return wall_ns == 0 ? 0 : static_cast<double>(area) / static_cast<double>(wall_ns);
}

/// The attribution's clock starts with the first data packet; before it the flow had nothing to send.
StateTimes states_of(const Flow& flow, std::int64_t last_ns, std::uint64_t wall_ns) {
    std::uint64_t named_ns = 0;
    StateTimes states{};
    if (flow.attribution.started()) {
        states = flow.attribution.states(last_ns, flow.ledger.messages());
        for (const std::uint64_t state : states) named_ns += state;
    }
    if (named_ns <= wall_ns) states[index_of(State::application_idle)] += wall_ns - named_ns;
    return states;
}

double confidence_of(const Flow& flow, const FlowSnapshot& described) {
    const bool answered = flow.key.service == Service::rc || flow.key.service == Service::xrc;
    double confidence = 1;
    if (flow.pairing != PairingMethod::none) confidence *= described.pairing.confidence;
    if (answered && flow.reverse == no_flow) confidence *= 0.5;
    const auto seen = static_cast<double>(described.packets);
    const auto unseen = static_cast<double>(described.unseen_acknowledged_packets);
    if (unseen > 0) confidence *= seen / (seen + unseen);
    if (partly_read(described))
        confidence *=
            1 - static_cast<double>(described.tcp->unread_bytes) / static_cast<double>(described.tcp->connection_bytes);
    return confidence;
}

}  // namespace

bool Engine::identify(std::uint64_t id, FlowSnapshot& out) const {
    if (!store_.is_observed()) return false;
    const auto found = store_.observed->by_id.find(id);
    if (found == store_.observed->by_id.end()) return false;
    identify(found->second, out);
    return true;
}

void Engine::identify(FlowIndex index, FlowSnapshot& out) const {
    const Flow& flow = store_.table[index];
    const Flow* const reverse = flow.reverse == no_flow ? nullptr : &store_.table[flow.reverse];
    store_.identify(index, out);
    if (reverse != nullptr) {
        out.reverse = reverse->id;
        if (flow.key.transport != wire::Transport::iwarp) out.source.qpn = reverse->key.selector;
    }
    out.pairing.method = flow.pairing;
    out.pairing.confidence = flow.pairing_percent / 100.0;
    out.vantage = vantage_of(flow, reverse);
}

/// What became of the flow's last request, and how its packets were addressed.
void Engine::describe_end(const Flow& flow, FlowSnapshot& out) const {
    out.last_answer_frame = store_.last_answer_frame(flow);
    if (flow.key.transport == wire::Transport::roce2) {
        out.udp_port = flow.udp_port;
        out.udp_ports = flow.other_udp_ports + 1u;
    }
    const FlowTrouble* const own = store_.trouble_of(flow);
    if (own == nullptr) return;
    out.retries = roce::retries_of(flow, *own, out.message_bytes);
    out.repeat_answers = roce::repeat_answers_of(*own, store_);
}

void Engine::describe(FlowIndex index, std::int64_t now_ns, FlowSnapshot& out) const {
    describe_measured(index, out);
    const Flow& flow = store_.table[index];
    if (flow.upper == UpperLayer::read)
        commands_->describe(flow.id, flow.finished ? out.last_ns : now_ns, out.commands);
}

void Engine::describe_measured(FlowIndex index, FlowSnapshot& out) const {
    const Flow& flow = store_.table[index];
    const Flow* const reverse = flow.reverse == no_flow ? nullptr : &store_.table[flow.reverse];
    store_.describe(index, out);
    identify(index, out);
    if (reverse != nullptr) {
        out.first_ns = std::min(out.first_ns, reverse->counts.first_ns);
        out.last_ns = std::max(out.last_ns, reverse->counts.last_ns);
        if (reverse->credits != 0xff) out.credits_last = reverse->credits;
    }

    // What was said about this flow's requests travelled on the reverse flow; unpaired, a flow shows what it carries.
    if (const FlowTrouble* const said = store_.trouble_of(reverse != nullptr ? *reverse : flow)) {
        out.naks = said->naks;
        out.rnr_naks = said->rnr_naks;
        out.cnp_packets = said->cnps;
        out.credits_exhausted = said->credits_exhausted;
    }

    describe_end(flow, out);
    // Frames may come in no order of time.
    if (flow.attribution.started()) {
        out.first_ns = std::min(out.first_ns, flow.attribution.first_ns());
        out.last_ns = std::max(out.last_ns, flow.attribution.last_ns());
    }
    if (const FlowTrouble* const own = store_.trouble_of(flow); own != nullptr && own->rate.count > 0)
        out.rate_drop_after_cnp = own->rate.sum / own->rate.count;
    const std::uint64_t wall_ns = out.wall_ns();
    out.messages_mean = mean_over(flow.ledger.message_ns(out.last_ns), wall_ns);
    out.bytes_mean = mean_over(flow.ledger.byte_ns(out.last_ns), wall_ns);
    out.at_max_ns = flow.ledger.at_max_ns(out.last_ns);

    out.state_ns = states_of(flow, out.last_ns, wall_ns);

    if (const ConnectionFigures* const figures = connections_.about(flow.key, first_frame_of(flow.id), flow.finished);
        figures != nullptr && (figures->end_frame == 0 || figures->end_frame > first_frame_of(flow.id) ||
                               flow.key.transport == wire::Transport::iwarp))
        out.connection = *figures;
    if (flow.key.transport == wire::Transport::iwarp) streams_.describe(index, out);
    out.confidence = confidence_of(flow, out);
}

void Engine::describe(Snapshot& out, std::int64_t now_ns) {
    if (commands_) commands_->refresh();
    store_.path_windows.close();
    for (FlowIndex index = 0; index < store_.table.extent(); ++index) describe_if_live(index, now_ns, out);
    describe_rest(out, now_ns);
}

void Engine::describe_if_live(FlowIndex index, std::int64_t now_ns, Snapshot& out) const {
    if (!store_.table[index].live) return;
    out.flows.emplace_back();
    describe(index, now_ns, out.flows.back());
}

Engine::FlowMark Engine::mark_of(const Flow& flow) const {
    FlowMark mark{.id = flow.id, .reverse = flow.reverse, .is_finished = flow.finished};
    const auto add = [&](const Flow& one, std::size_t i) {
        mark.packets[i] = one.counts.packets;
        mark.last_ns[i] = one.counts.last_ns;
        if (one.attribution.started()) mark.last_data_ns[i] = one.attribution.last_ns();
        const FlowTrouble* const said = store_.trouble_of(one);
        if (said == nullptr) return;
        mark.answers[i] = said->rnr_naks + said->cnps;
        for (const std::uint64_t naks : said->naks) mark.answers[i] += naks;
        for (const IcmpFigures::Errors& errors : said->icmp.kinds) mark.answers[i] += errors.count;
    };
    add(flow, 0);
    if (flow.reverse != no_flow) add(store_.table[flow.reverse], 1);
    const ConnectionFigures* const about = connections_.about(flow.key, first_frame_of(flow.id), flow.finished);
    if (about != nullptr) mark.end_frame = about->end_frame;
    return mark;
}

void Engine::describe_changed(std::vector<FlowSnapshot>& out, bool all) {
    described_.resize(store_.table.extent());
    for (FlowIndex index = 0; index < store_.table.extent(); ++index) {
        const Flow& flow = store_.table[index];
        if (!flow.live) continue;
        const FlowMark mark = mark_of(flow);
        if (!all && described_[index] == mark) continue;
        described_[index] = mark;
        describe_measured(index, out.emplace_back());
    }
}

/// By block of the table: the last block whose flows need one of it, as themselves or as their reverse.
std::vector<std::size_t> Engine::last_uses_of_blocks() const {
    std::vector<std::size_t> last;
    for (FlowIndex index = 0; index < store_.table.extent(); ++index) {
        const std::size_t block = FlowTable::block_of(index);
        if (block == last.size()) last.push_back(block);
        const FlowIndex reverse = store_.table[index].reverse;
        if (!store_.table[index].live || reverse == no_flow) continue;
        const std::size_t needed = FlowTable::block_of(reverse);
        if (needed < block) last[needed] = block;
    }
    return last;
}

void Engine::describe_and_release(Snapshot& out, std::int64_t now_ns) {
    if (commands_) commands_->refresh();
    store_.path_windows.close();
    const std::vector<std::size_t> last_uses = last_uses_of_blocks();
    FlowIndex index = 0;
    for (std::size_t block = 0; block < last_uses.size(); ++block) {
        for (; index < store_.table.extent() && FlowTable::block_of(index) == block; ++index)
            describe_if_live(index, now_ns, out);
        for (std::size_t before = 0; before <= block; ++before)
            if (last_uses[before] == block) store_.table.release_block(before);
    }
    describe_rest(out, now_ns);
}

void Engine::describe_rest(Snapshot& out, std::int64_t now_ns) const {
    for (ConnectionAttempt& attempt : connections_.attempts(now_ns)) out.attempts.push_back(std::move(attempt));
    for (std::size_t kind = 0; kind < management_.size(); ++kind) out.capture.management[kind] += management_[kind];
    store_.path_windows.describe(out.path_windows);
    out.capture.flows_evicted += store_.evicted;
    out.capture.flows_seen += store_.seen;
    out.capture.values_misplaced += store_.pages.refused();
    out.memory_octets += store_.octets() + reuse_.octets() + streams_.octets() + connections_.octets() +
                         partners_.octets() + cnps_.octets() + pairs_.octets();
    if (commands_) out.memory_octets += commands_->octets();
    if (learner_) out.memory_octets += learner_->octets();
}

}  // namespace metrics::measure::engine
