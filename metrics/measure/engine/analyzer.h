#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dissect/dissector.h"
#include "metrics/figures/flow_bytes.h"
#include "metrics/figures/snapshot.h"
#include "metrics/measure/account/engine_options.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline engine {

struct AnalyzerOptions {
    EngineOptions engine;
    dissect::DissectorOptions dissector;  ///< for each worker; its parse options say whether CRCs are verified
    unsigned threads = 1;                 ///< workers; results are the same for any number
    /// With an observer: gets all that the dissector finds in every frame, before the engine does, and also for frames
    /// that were captured twice. So no frame has to be dissected a second time. It must outlive the analyzer.
    dissect::Sink* listener = nullptr;
};

/// The complete measurement: frames in, snapshots out. Frames are dealt to workers by the unordered pair of their
/// addresses; each worker has a dissector and an engine of its own.
///
/// EngineOptions::max_flows bounds the flows of all workers together. The bound is checked at the same frames of the
/// capture for any number of threads, so that the same flows are forgotten. There are max_flows / 16 frames between two
/// checks, but at least 1024 and at most 65536. Until the next check there may be more flows than the bound.
class Analyzer {
public:
    explicit Analyzer(const AnalyzerOptions& options = {});
    ~Analyzer();
    Analyzer(const Analyzer&) = delete;
    Analyzer& operator=(const Analyzer&) = delete;

    /// With an observer, before any frame is fed: the frames with which the capture begins, which are fed after this.
    /// They show whether the capture holds each packet several times. Without an observer feed() keeps them itself.
    void learn_copies(std::span<const wire::Frame> frames);
    /// Frames in the order of the capture. If `lasting`, their bytes stay valid until finish() has returned (a mapped
    /// file); otherwise they have been used, or copied, when this returns.
    void feed(std::span<const wire::Frame> frames, bool lasting = false);
    /// A place for frames before they are fed, from its beginning, all of them at once: with several threads lasting
    /// frames then need not be copied. Empty if the place would not help.
    std::span<wire::Frame> room();
    /// How many interfaces the capture is known to have so far, before any frame of the latest of them is fed: see
    /// HostClock. Without it, copies of frames that were on their way when a second one shows up may be counted again.
    void expect_interfaces(std::size_t count);
    /// No more frames will come: delivers what streams still held. feed() must not follow.
    void finish();
    /// Waits for the frames fed so far, then copies the figures out. Kernel drops are the caller's to fill in.
    Snapshot snapshot();
    /// What happened since the last call, or since the beginning, as difference() has it: flows that had traffic,
    /// without commands of upper layers, and pauses, but neither hosts nor what concerns the whole capture. Flows
    /// without traffic take hardly any time. After finish(), every flow is looked at once more.
    Snapshot changes();
    /// The last snapshot: the flows' memory is given back while it is made, all other memory then. Only the destructor
    /// may be called afterwards.
    Snapshot take_snapshot();
    /// For an analyzer that runs for months, between two snapshots: later events show frames of their own, and flows
    /// without traffic since `idle_since_ns`, in neither direction, are forgotten. Returns how many.
    std::size_t begin_interval(std::int64_t idle_since_ns);
    /// Frames that the kernel or an interface dropped since the last call: what happens around now is not observed.
    void dropped(std::int64_t now_ns, std::uint64_t frames);
    const dissect::DissectorCounters& counters();
    /// How many flows are remembered.
    std::size_t flows();
    /// The bytes of all flows, in no order: takes a small part of snapshot()'s time and memory.
    std::vector<FlowBytes> flow_bytes();
    /// With an observer: the two ends of a flow, and its reverse's id; no figures. False if there is no such flow.
    bool identify(std::uint64_t flow, FlowSnapshot& out) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace metrics::measure::engine
