#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/source.h"
#include "cli/address_names.h"
#include "cli/command.h"
#include "cli/dump/options.h"
#include "cli/text_output.h"
#include "wire/carrier.h"
#include "wire/frame.h"

namespace cli::dump {

/// Dissects frames, applies the display filter, and prints the frames that match.
class Inspector {
public:
    /// Null if no frame has to be dissected: nothing is printed and there is no display filter. `names` are used if
    /// the options ask for names.
    static base::Result<std::unique_ptr<Inspector>, std::string> make(const DumpOptions& options,
                                                                      const Environment& environment,
                                                                      AddressNames names, TextOutput& output);
    ~Inspector();

    /// The flows whose packets are shown, if `--flow` names flows.
    void choose_flows(std::vector<std::uint64_t> flows);
    /// Call this before the first frame. The source must outlive the inspector.
    void begin(const capture::Source& source);
    /// Prints the frame if it matches. Returns whether the frame counts, and is saved if frames are saved.
    bool inspect(const wire::Frame& frame);
    /// Call this after the last frame. If the source was read to its end, prints units that waited for bytes that never
    /// came.
    void end(bool complete);
    /// Frames that were not read, although RDMA may be in them.
    const wire::CarrierCounts& unread() const;

private:
    struct State;
    explicit Inspector(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace cli::dump
