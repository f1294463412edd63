#pragma once
#include <memory>
#include <string>
#include <vector>

#include "capture/live/live_source.h"
#include "capture/source.h"

namespace cli {

/// The interfaces of all `-i`, as one source. Frames of one interface stay in order; frames of different interfaces
/// come as the kernel delivers them.
class LiveSources final : public capture::Source {
public:
    /// `how` applies to every interface; its own name is not used.
    static base::Result<std::unique_ptr<LiveSources>> open(const std::vector<std::string>& interfaces,
                                                           capture::LiveOptions how);

    capture::ReadStatus next(wire::Frame& frame) override;
    const std::vector<capture::InterfaceInfo>& interfaces() const override { return interfaces_; }
    using Source::statistics;
    capture::Statistics statistics(std::size_t interface) const override { return sources_[interface]->statistics(0); }
    const base::Error& error() const override { return sources_[current_]->error(); }

    /// Problems that do not stop the capture but have to be reported, one line each.
    std::vector<std::string> warnings() const;

private:
    bool wait() const;

    std::vector<std::unique_ptr<capture::LiveSource>> sources_ = {};
    std::vector<capture::InterfaceInfo> interfaces_ = {};
    std::size_t current_ = 0;
    std::uint64_t frames_ = 0;
};

/// The message if neither `-i` nor a file is given: the choices on this machine, and `others`.
std::string source_choices(const std::string& others = {});

}  // namespace cli
