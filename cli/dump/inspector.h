#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/source.h"
#include "cli/command.h"
#include "cli/dump/options.h"
#include "cli/text_output.h"
#include "wire/carrier.h"
#include "wire/frame.h"

namespace cli::dump {

/// Looks into frames: takes them apart, asks the display filter, prints what matches.
class Inspector {
public:
    /// Null where no frame has to be looked into: nothing is printed and there is no display filter.
    static base::Result<std::unique_ptr<Inspector>, std::string> make(const DumpOptions& options,
                                                                      const Environment& environment,
                                                                      TextOutput& output);
    ~Inspector();

    /// The flows whose packets are shown, where `--flow` asks for some.
    void choose_flows(std::vector<std::uint64_t> flows);
    /// Before the first frame. The source outlives the inspector.
    void begin(const capture::Source& source);
    /// Prints the frame where it matches; says whether it counts, and is to be saved where frames are.
    bool inspect(const wire::Frame& frame);
    /// After the last frame. If the source was read to its end, prints units that waited for bytes that never came.
    void end(bool complete);
    /// Frames that were not read, although RDMA may be in them.
    const wire::CarrierCounts& unread() const;

private:
    struct State;
    explicit Inspector(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace cli::dump
