#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/compact.h"
#include "dissect/dissector.h"
#include "metrics/figures/command_figures.h"
#include "metrics/figures/flow_key.h"
#include "upper/assignment.h"
#include "wire/frame.h"

namespace metrics::inline measure::inline commands {

/// Commands of upper layers on the flows of one engine. The engine decides which packets are read: those of flows that
/// have an upper layer, or look so. Nothing is kept of other flows.
class CommandReading {
public:
    explicit CommandReading(const std::vector<upper::Assignment>& assignments = {});
    ~CommandReading();
    CommandReading(const CommandReading&) = delete;
    CommandReading& operator=(const CommandReading&) = delete;

    /// Whether a SEND of `length` bytes that begins with `head` may be a request of an upper layer.
    static bool looks_like_request(base::Bytes head, std::uint64_t length);
    /// Whether packets of some flow are read: an unpaired flow may be its other half.
    bool has_begun() const { return has_begun_; }

    bool has_assignments() const;

    /// Reads a unit of a flow. False if the flow's connection has no upper layer: no more of it is needed.
    bool read(const dissect::Unit& unit, std::uint64_t flow);
    /// The same of a frame that was not taken apart.
    bool read(const wire::Frame& frame, std::uint64_t flow);
    /// A management datagram, or an MPA start frame: what it says of a connection's upper layer is kept.
    void read_management(const dissect::Unit& unit);
    void read_start_frame(const dissect::Unit& unit);
    /// Whether set-up or the user has named the upper layer of this flow. `reverse_selector`: the selector of the
    /// reverse flow; 0 if unknown.
    bool is_named(const FlowKey& key, std::uint32_t reverse_selector) const;
    /// A segment of an iWARP connection that is read, before its units: messages begin with segments.
    void note_segment(const wire::Frame& frame);
    /// What a TCP stream lacks.
    void note(const dissect::Notice& notice);

    /// No more frames will come: commands that are open are unanswered.
    void finish();
    /// Of connections that are not over: to be called before describe().
    void refresh();
    /// What is known of the flow's upper layer; nothing if it has none. `end_ns`: until when its commands may have
    /// waited.
    void describe(std::uint64_t flow, std::int64_t end_ns, base::CompactOptional<CommandConnectionFigures>& out) const;
    /// The engine forgets the flow.
    void forget(std::uint64_t flow);
    void forget_exhibits();
    std::size_t octets() const;

private:
    struct State;
    bool keep_place(std::uint64_t flow);

    std::unique_ptr<State> state_;
    bool has_begun_ = false;
};

}  // namespace metrics::measure::commands
