#include "metrics/measure/engine/analyzer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <malloc.h>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "metrics/measure/engine/dissector_sums.h"
#include "metrics/measure/engine/frame_pipeline.h"
#include "metrics/measure/engine/worker.h"
#include "metrics/measure/hosts/host_clock.h"
#include "metrics/measure/hosts/reuse.h"

namespace metrics::inline measure::inline engine {

namespace {

/// The number of frames between two checks of the bound on flows.
constexpr std::uint64_t frames_between_checks(std::size_t max_flows) {
    constexpr std::size_t least = 1024;  // with fewer frames, most of the time would go to settle()
    constexpr std::size_t most = std::size_t{1} << 16;
    return std::clamp(max_flows / 16, least, most);
}

/// How many flows one frame can begin: a flow and its reverse, and two more if an answer shows a missed request.
constexpr std::size_t flows_of_frame = 4;

/// Each worker may hold all flows, and the flows that begin until the next check.
EngineOptions options_of_worker(EngineOptions options) {
    options.max_flows = std::max<std::size_t>(options.max_flows, 2);
    options.max_flows += static_cast<std::size_t>(frames_between_checks(options.max_flows)) * flows_of_frame;
    return options;
}

/// The bytes of a mapped file come from memory: the headers are prefetched a few frames early, and the payload too if
/// this thread will compute its CRC. (Inline, because GCC may omit calls of functions without visible effects.)
constexpr std::size_t frames_ahead = 6;

/// Of more, the memory that they took is worth the milliseconds that giving it back takes.
constexpr std::size_t many_flows = 10'000;

[[gnu::always_inline]] inline void ask_headers(base::Bytes bytes) {
    if (bytes.empty()) return;
    __builtin_prefetch(bytes.data());
    __builtin_prefetch(bytes.data() + std::min<std::size_t>(bytes.size() - 1, 64));
}
[[gnu::always_inline]] inline void ask_payload(base::Bytes bytes) {
    constexpr std::size_t most = 2048;  // the processor's own prefetcher continues with longer ones
    for (std::size_t at = 128; at < std::min(bytes.size(), most); at += 64) __builtin_prefetch(bytes.data() + at);
}
[[gnu::always_inline]] inline void ask_ahead(std::span<const wire::Frame> frames, std::size_t now, bool payloads) {
    if (now + frames_ahead >= frames.size()) return;
    const base::Bytes bytes = frames[now + frames_ahead].bytes;
    ask_headers(bytes);
    if (payloads) ask_payload(bytes);
}

}  // namespace

struct Analyzer::State {
    explicit State(const AnalyzerOptions& given)
        : keeps_first(given.engine.observer == nullptr),
          max_flows(std::max<std::size_t>(given.engine.max_flows, 2)),
          clock(given.engine.link_bits_per_sec),
          threads(given.engine.observer != nullptr ? 1 : std::clamp(given.threads, 1u, 256u)) {
        dissect::DissectorOptions dissector = given.dissector;
        dissector.find_repeats =
            given.engine.observer != nullptr;  // flows know their own repeats, but not of which frame
        for (unsigned i = 0; i < threads; ++i)
            workers.push_back(std::make_unique<Worker>(dissector, options_of_worker(given.engine), given.listener));
        if (threads == 1) return;
        pipeline.emplace(threads,
                         FramePipeline::Stages{[this](Chunk& chunk) { observe(chunk); },
                                               [this](std::size_t share, Chunk& chunk) { work(share, chunk); }});
    }

    void note(const wire::Frame& frame) {
        if (figures.packets == 0) figures.first_ns = figures.last_ns = frame.time_ns;
        ++figures.packets;
        figures.bytes += frame.wire_length;
        longest_frame = std::max(longest_frame, frame.wire_length);
        figures.first_ns = std::min(figures.first_ns, frame.time_ns);
        figures.last_ns = std::max(figures.last_ns, frame.time_ns);
    }

    void observe(Chunk& chunk) {
        const std::span frames = chunk.frames();
        for (std::size_t i = 0; i < frames.size(); ++i) {
            ask_ahead(frames, i, false);  // their CRCs another thread will compute
            note(frames[i]);
            FrameContext& context = chunk.contexts.emplace_back();
            clock.observe(frames[i], context);
            // The hash's upper half: tables that follow may use the lower half.
            const std::size_t share = (static_cast<std::uint64_t>(context.shard_hash) * threads) >> 32;
            if (!context.seen_twice) chunk.shares[share].push_back(static_cast<std::uint16_t>(i));
        }
    }

    void work(std::size_t share, const Chunk& chunk) {
        Worker& worker = *workers[share];
        constexpr std::size_t ahead = 32;
        const std::span frames = chunk.frames();
        const std::span<const std::uint16_t> all(chunk.shares[share]);
        // Another thread has read and looked at them: all of it may be in its processor's cache. (Inline, as above.)
        const auto ask = [&](std::size_t begin) __attribute__((always_inline)) {
            for (std::size_t i = begin + ahead; i < std::min(begin + 2 * ahead, all.size()); ++i) {
                __builtin_prefetch(&frames[all[i]]);
                __builtin_prefetch(&chunk.contexts[all[i]]);
            }
            for (std::size_t i = begin; i < std::min(begin + ahead, all.size()); ++i) ask_headers(frames[all[i]].bytes);
        };
        ask(0);
        for (std::size_t begin = 0; begin < all.size(); begin += ahead) {
            const auto some = all.subspan(begin, std::min(ahead, all.size() - begin));
            ask(begin + ahead);
            for (const std::uint16_t i : some) worker.expect(frames[i], chunk.contexts[i]);
            worker.fetch();
            for (std::size_t i = 0; i < some.size(); ++i) {
                const std::size_t later = begin + i + frames_ahead;
                if (worker.verifies_crc() && later < all.size()) ask_payload(frames[all[later]].bytes);
                worker.work(frames[some[i]], chunk.contexts[some[i]]);
            }
        }
    }

    /// One thread's way of a few frames.
    void work_off(std::span<const wire::Frame> frames) {
        Worker& worker = *workers[0];
        // A few frames ahead, so that a context is in the cache, and no longer on its way there, when it is needed.
        constexpr std::size_t ahead = 32;
        std::array<FrameContext, ahead> contexts;
        for (std::size_t begin = 0; begin < frames.size(); begin += ahead) {
            const auto some = frames.subspan(begin, std::min(ahead, frames.size() - begin));
            for (std::size_t i = 0; i < some.size(); ++i) {
                ask_ahead(frames, begin + i, worker.verifies_crc());
                note(some[i]);
                clock.observe(some[i], contexts[i]);
                worker.expect(some[i], contexts[i]);
            }
            worker.fetch();
            for (std::size_t i = 0; i < some.size(); ++i) {
                if (!contexts[i].seen_twice)
                    worker.work(some[i], contexts[i]);
                else
                    worker.seen_twice(some[i]);
            }
        }
    }

    /// Keeps the frames with which the capture begins, as far as there is room; what is left are those after them.
    void keep_first(std::span<const wire::Frame>& frames, bool lasting) {
        all_last = all_last && lasting;
        if (first_frames.empty() || first_frames.back()->full) first_frames.push_back(std::make_unique<Chunk>());
        first_frames.back()->add(frames, lasting);
        if (first_frames.back()->full && first_frames.size() == first_chunks) release_first();
    }
    /// They have shown whether the capture holds each packet several times, or there are no more frames.
    void release_first() {
        if (!std::exchange(keeps_first, false)) return;
        std::vector<wire::Frame> all;
        for (const auto& chunk : first_frames) all.insert(all.end(), chunk->frames().begin(), chunk->frames().end());
        clock.learn_copies(all);
        deal(all, all_last);
        first_frames.clear();
    }

    /// Passes frames to the workers, and checks the bound on flows at the same frames for any number of threads.
    void deal(std::span<const wire::Frame> frames, bool lasting) {
        const std::uint64_t between = frames_between_checks(max_flows);
        while (!frames.empty()) {
            const std::uint64_t left = between - dealt % between;
            const std::span<const wire::Frame> some = frames.first(std::min<std::uint64_t>(frames.size(), left));
            if (pipeline)
                pipeline->feed(some, lasting);
            else
                work_off(some);
            dealt += some.size();
            frames = frames.subspan(some.size());
            const std::uint64_t possible = flows_counted + (dealt - dealt_then) * flows_of_frame;
            if (some.size() == left && possible > max_flows) keep_bound(max_flows - max_flows / 16);
        }
    }

    /// If there are more flows than `max_flows`, forgets those that were idle longest, the finished ones first, until
    /// `left` are left.
    void keep_bound(std::size_t left) {
        settle();
        flows_counted = 0;
        for (const auto& worker : workers) flows_counted += worker->engine().flows();
        dealt_then = dealt;
        if (flows_counted <= max_flows) return;
        std::vector<FlowAge> ages;
        ages.reserve(flows_counted);
        for (std::size_t i = 0; i < workers.size(); ++i) workers[i]->engine().add_ages(ages, i);
        const auto goes_first = [](const FlowAge& one, const FlowAge& other) {
            return std::tuple(!one.is_finished, one.last_ns, one.id) <
                   std::tuple(!other.is_finished, other.last_ns, other.id);
        };
        const auto end = ages.begin() + static_cast<std::ptrdiff_t>(ages.size() - left);
        std::partial_sort(ages.begin(), end, ages.end(), goes_first);
        for (auto age = ages.begin(); age != end; ++age) workers[age->worker]->engine().evict(age->index);
        flows_counted = left;
    }

    /// Frames that are shorter than their headers say: a mirror has cut them, or they are malformed.
    void describe_cuts(CaptureFigures& out, std::uint64_t headers) const {
        const MirrorCuts& cuts = clock.cuts();
        if (cuts.are_of_mirror(longest_frame)) {
            out.cut_by_mirror = cuts.frames();
            out.bytes += cuts.cut_bytes();
            return;
        }
        out.malformed += cuts.frames();
        out.headers_cut -= headers;
        out.truncated -= std::min(out.truncated, cuts.frames());
    }

    /// Flows that were evicted are no longer among those of changes().
    void forget_evicted() {
        constexpr std::size_t few = 1024;
        if (former.size() <= 2 * flows_counted + few) return;
        std::vector<FlowBytes> live;
        live.reserve(flows_counted);
        for (const auto& worker : workers) worker->engine().add_bytes(live);
        std::unordered_map<std::uint64_t, FlowSnapshot> kept;
        for (const FlowBytes& flow : live)
            if (auto known = former.extract(flow.id)) kept.insert(std::move(known));
        former = std::move(kept);
    }

    /// Everything fed so far has been worked off, and its flows may be looked at from this thread.
    void settle() {
        release_first();
        if (pipeline) pipeline->settle();
        for (const auto& worker : workers) worker->engine().flush();
    }

    /// Fills in the names of the snapshot's LIDs and GIDs.
    void name_addresses(Snapshot& out) const;

    /// Of all workers, put together; `describe_engine` adds what one of them knows.
    template <class DescribeEngine>
    Snapshot describe(const dissect::DissectorCounters& counted, DescribeEngine&& describe_engine);

    /// Copies that come after more frames than these are found late, and after repeats were counted.
    static constexpr std::size_t first_chunks = 8;
    std::vector<std::unique_ptr<Chunk>> first_frames;  ///< that are kept until they show what the capture is
    bool keeps_first;
    bool all_last = true;  ///< the bytes of all of these
    const std::size_t max_flows;
    std::uint64_t dealt = 0;       ///< frames
    std::uint64_t dealt_then = 0;  ///< when flows were counted
    std::uint64_t flows_counted = 0;
    HostClock clock;
    unsigned threads;
    std::size_t interfaces = 1;  ///< that the clock expects
    CaptureFigures figures;
    /// For changes(): the flows as they were described last, by their ids, and the pauses.
    std::unordered_map<std::uint64_t, FlowSnapshot> former = {};
    std::vector<PauseSnapshot> former_pauses = {};
    bool is_finished = false;
    std::uint32_t longest_frame = 0;
    std::vector<std::unique_ptr<Worker>> workers;
    dissect::DissectorCounters counters;
    std::optional<FramePipeline> pipeline;  ///< if there are several threads; destroyed first
};

Analyzer::Analyzer(const AnalyzerOptions& options) : state_(std::make_unique<State>(options)) {}
Analyzer::~Analyzer() = default;

void Analyzer::feed(std::span<const wire::Frame> frames, bool lasting) {
    State& state = *state_;
    while (state.keeps_first && !frames.empty()) state.keep_first(frames, lasting);
    state.deal(frames, lasting);
}

void Analyzer::learn_copies(std::span<const wire::Frame> frames) {
    if (!state_->keeps_first) state_->clock.learn_copies(frames);
}

std::span<wire::Frame> Analyzer::room() {
    return state_->pipeline && !state_->keeps_first ? state_->pipeline->room() : std::span<wire::Frame>{};
}

void Analyzer::expect_interfaces(std::size_t count) {
    if (count <= state_->interfaces) return;
    state_->interfaces = count;
    if (state_->pipeline) state_->pipeline->settle();
    state_->clock.expect_interfaces(count);
}

void Analyzer::finish() {
    state_->settle();
    for (const auto& worker : state_->workers) worker->finish();
    state_->keep_bound(state_->max_flows);
    state_->is_finished = true;
}

std::size_t Analyzer::begin_interval(std::int64_t idle_since_ns) {
    state_->settle();
    state_->clock.forget_idle(idle_since_ns, state_->figures.last_ns);
    std::size_t forgotten = 0;
    for (const auto& worker : state_->workers) forgotten += worker->engine().begin_interval(idle_since_ns);
    return forgotten;
}

void Analyzer::dropped(std::int64_t, std::uint64_t frames) {
    if (frames == 0) return;
    state_->settle();
    for (const auto& worker : state_->workers) worker->engine().dropped();
}

bool Analyzer::identify(std::uint64_t flow, FlowSnapshot& out) const {
    for (const auto& worker : state_->workers)
        if (worker->engine().identify(flow, out)) return true;
    return false;
}

std::size_t Analyzer::flows() {
    state_->keep_bound(state_->max_flows);
    return state_->flows_counted;
}

std::vector<FlowBytes> Analyzer::flow_bytes() {
    std::vector<FlowBytes> out;
    out.reserve(flows());
    for (const auto& worker : state_->workers) worker->engine().add_bytes(out);
    return out;
}

const dissect::DissectorCounters& Analyzer::counters() {
    state_->settle();
    state_->counters = {};
    for (const auto& worker : state_->workers) {
        apply(std::plus<>(), state_->counters, worker->counters());
        state_->counters.frames += worker->engine().plain_frames();
        state_->counters.units += worker->engine().plain_frames();
    }
    return state_->counters;
}

Snapshot Analyzer::snapshot() {
    state_->keep_bound(state_->max_flows);
    return state_->describe(counters(),
                            [this](Engine& engine, Snapshot& out) { engine.describe(out, state_->figures.last_ns); });
}

Snapshot Analyzer::changes() {
    State& state = *state_;
    state.keep_bound(state.max_flows);
    state.settle();
    Snapshot now;
    for (const auto& worker : state.workers) worker->engine().describe_changed(now.flows, state.is_finished);
    std::ranges::sort(now.flows, {}, &FlowSnapshot::id);
    state.clock.describe(now.pauses);
    state.name_addresses(now);
    Snapshot before;
    before.pauses = std::move(state.former_pauses);
    for (const FlowSnapshot& flow : now.flows)
        if (auto known = state.former.extract(flow.id)) before.flows.push_back(std::move(known.mapped()));
    Snapshot out = difference(before, now);
    for (FlowSnapshot& flow : now.flows) {
        const std::uint64_t id = flow.id;
        state.former.emplace(id, std::move(flow));
    }
    state.former_pauses = std::move(now.pauses);
    state.forget_evicted();
    return out;
}

Snapshot Analyzer::take_snapshot() {
    state_->former.clear();
    state_->keep_bound(state_->max_flows);
    Snapshot last = state_->describe(counters(), [this](Engine& engine, Snapshot& out) {
        engine.describe_and_release(out, state_->figures.last_ns);
    });
    state_.reset();
    // What was freed in small pieces stays with the C library otherwise, out of reach for other threads.
    if (last.flows.size() > many_flows) ::malloc_trim(0);
    return last;
}

void Analyzer::State::name_addresses(Snapshot& out) const {
    using dissect::subnet::SubnetNames;
    std::vector<const SubnetNames*> learnt;
    for (const auto& worker : workers)
        if (const SubnetNames* names = worker->engine().subnet_names(); names != nullptr) learnt.push_back(names);
    if (learnt.empty()) return;
    SubnetNames all;
    if (learnt.size() > 1)
        for (const SubnetNames* names : learnt) all.merge(*names);
    const SubnetNames& known = learnt.size() > 1 ? all : *learnt.front();
    for (const Address& address : subnet_addresses(out)) {
        const base::Bytes octets = std::as_bytes(std::span(address.octets));
        const dissect::subnet::KnownNode node = address.family == wire::AddressFamily::lid
                                                    ? known.find(base::load_be16(octets.data()))
                                                    : known.find(address.octets);
        if (!node.empty()) out.names.push_back({address, node.guid, std::string(node.description)});
    }
}

template <class DescribeEngine>
Snapshot Analyzer::State::describe(const dissect::DissectorCounters& counted, DescribeEngine&& describe_engine) {
    State& state = *this;
    Snapshot out;
    out.capture = state.figures;
    out.capture.rdma_units = counted.units;
    out.capture.truncated = counted.truncated;
    out.capture.malformed = counted.malformed;
    out.capture.headers_cut = counted.headers_cut;
    state.describe_cuts(out.capture, counted.headers_cut_before);
    out.capture.streams_evicted = counted.streams_evicted;
    out.capture.stream_octets_lost = counted.stream_octets_lost;
    out.capture.stream_octets_skipped = counted.stream_octets_skipped;
    out.capture.unsorted = state.clock.unsorted();
    out.capture.seen_twice = state.clock.seen_twice();
    out.capture.copies = state.clock.copies().copies();
    out.capture.copies_elsewhere = state.clock.copies().elsewhere();
    out.capture.copy_distance_ns = state.clock.copies().distance_ns();
    out.capture.beyond_hosts = state.clock.beyond_hosts();
    out.capture.unread = state.clock.unread();
    state.clock.describe(out.hosts, out.pauses);
    ReuseTotals reuse;
    std::size_t flows = 0;
    for (const auto& worker : state.workers) flows += worker->engine().flows();
    out.flows.reserve(flows);
    for (const auto& worker : state.workers) {
        describe_engine(worker->engine(), out);
        reuse.add(worker->engine().reuse());
    }
    reuse.describe(out.hosts);
    std::erase_if(out.hosts, [&](const HostSnapshot& host) { return state.clock.is_forgotten(host.address); });
    out.memory_octets += state.clock.octets();

    std::sort(out.hosts.begin(), out.hosts.end(),
              [](const HostSnapshot& one, const HostSnapshot& other) { return one.address < other.address; });
    std::sort(out.attempts.begin(), out.attempts.end(),
              [](const ConnectionAttempt& one, const ConnectionAttempt& other) {
                  return one.request_frame < other.request_frame;
              });
    std::sort(out.flows.begin(), out.flows.end(),
              [](const FlowSnapshot& one, const FlowSnapshot& other) { return one.id < other.id; });
    for (FlowSnapshot& flow : out.flows) {
        const auto host =
            std::lower_bound(out.hosts.begin(), out.hosts.end(), flow.source.address,
                             [](const HostSnapshot& one, const Address& address) { return one.address < address; });
        if (host != out.hosts.end() && host->address == flow.source.address)
            flow.link_bits_per_sec = host->link_bits_per_sec;
        out.capture.icrc_bad += flow.icrc_bad;
        if (flow.payload_bytes == 0) continue;
        const auto receiver =
            std::lower_bound(out.hosts.begin(), out.hosts.end(), flow.destination.address,
                             [](const HostSnapshot& one, const Address& address) { return one.address < address; });
        if (receiver != out.hosts.end() && receiver->address == flow.destination.address) ++receiver->senders;
    }
    state.name_addresses(out);
    return out;
}

}  // namespace metrics::measure::engine
