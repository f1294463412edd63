#pragma once
#include <memory>
#include <string>
#include <vector>

#include "capture/live/live_source.h"
#include "capture/live/tap.h"
#include "capture/source.h"

namespace cli {

/// What is captured of the traffic of an interface, if no expression selects it.
enum class LiveScope : std::uint8_t {
    everything,
    /// Not TCP connections that the kernel finds to speak something else than MPA: they do not reach this process.
    /// Everything, if the kernel permits no eBPF: to learn connections in this process would miss their beginning.
    rdma,
};

/// The interfaces of all `-i`, as one source. Frames of one interface stay in order; frames of different interfaces
/// come as the kernel delivers them.
class LiveSources final : public capture::Source {
public:
    /// `how` applies to every interface; its own name is not used. With LiveScope::rdma, `threads` read the rings of
    /// each interface; libpcap has one ring.
    static base::Result<std::unique_ptr<LiveSources>> open(const std::vector<std::string>& interfaces,
                                                           capture::LiveOptions how,
                                                           LiveScope scope = LiveScope::everything,
                                                           unsigned threads = 1);

    capture::ReadStatus next(wire::Frame& frame) override;
    capture::Batch next_batch(std::span<wire::Frame> frames) override;
    /// Grows where interfaces of `any` come later.
    const std::vector<capture::InterfaceInfo>& interfaces() const override { return interfaces_; }
    capture::Statistics statistics() const override;
    capture::Statistics statistics(std::size_t interface) const override;
    const base::Error& error() const override;

    /// Problems that do not stop the capture but have to be reported, one line each.
    std::vector<std::string> warnings() const;
    /// Whether TCP connections without MPA are left out.
    bool leaves_out_tcp() const { return tap_ != nullptr; }

private:
    bool wait() const;
    void describe_interfaces();
    bool is_gone();

    std::unique_ptr<capture::Tap> tap_ = {};  ///< in place of `sources_`
    std::vector<std::unique_ptr<capture::LiveSource>> sources_ = {};
    std::vector<capture::InterfaceInfo> interfaces_ = {};
    std::size_t current_ = 0;
    std::uint64_t frames_ = 0;
    base::Error tap_error_ = {};
    std::vector<std::string> tap_warnings_ = {};
};

/// The message if neither `-i` nor a file is given: the choices on this machine, and `others`.
std::string source_choices(const std::string& others = {});

}  // namespace cli
