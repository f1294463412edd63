#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capture/files/file_source.h"

namespace cli::analysis {

/// Several files as one capture, in the order of their times, as mergecap(1) would join them: frames get new numbers.
/// Files that overlap in time have interfaces of their own. A file that begins where another has ended has the
/// interfaces of that file: both are of one ring (tcpdump -C, dumpcap -b). A file that ends early is reported at the
/// end, after all frames of the others.
class MergedFiles final : public capture::Source {
public:
    static base::Result<std::unique_ptr<MergedFiles>> open(const std::vector<std::string>& paths,
                                                           const capture::FileOptions& options);

    capture::ReadStatus next(wire::Frame& frame) override { return next_batch({&frame, 1}).status; }
    capture::Batch next_batch(std::span<wire::Frame> frames) override;
    bool frames_last() const override;
    const std::vector<capture::InterfaceInfo>& interfaces() const override { return interfaces_; }
    using Source::statistics;
    capture::Statistics statistics(std::size_t interface) const override;
    const base::Error& error() const override { return error_; }

    capture::FileSource::Progress progress() const;

private:
    struct Part {
        std::unique_ptr<capture::FileSource> file;
        std::array<wire::Frame, 256> frames = {};
        std::size_t at = 0;
        std::size_t count = 0;
        bool begun = false;
        bool ended = false;
        bool continued = false;                      ///< by a later file of the same ring
        std::vector<std::uint32_t> interfaces = {};  ///< place among those of all files

        std::int64_t head_ns() const { return frames[at].time_ns; }
    };
    void refill(Part& part);
    void begin(Part& part);
    void list_interfaces(Part& part);
    std::uint32_t interface_of(Part& part, std::uint32_t interface);

    std::vector<Part> parts_ = {};
    std::vector<capture::InterfaceInfo> interfaces_ = {};
    std::vector<std::pair<const capture::FileSource*, std::size_t>> origins_ = {};  ///< of interfaces_
    std::uint64_t frames_ = 0;
    base::Error error_ = {};
    bool failed_ = false;
};

}  // namespace cli::analysis
