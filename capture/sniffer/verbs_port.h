#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capture/filter/kernel_filter.h"
#include "capture/sniffer/verbs_api.h"
#include "capture/sniffer/verbs_source.h"
#include "capture/source.h"

namespace capture::inline sniffer {

/// A step of opening a port that the device refused.
struct VerbsRefusal {
    std::string step;  ///< "a RAW_PACKET queue pair"
    int code = 0;      ///< errno
};

/// One port that is being sniffed: its buffers, and the owner of each: the device, the caller, or none.
class SniffedPort {
public:
    SniffedPort(std::shared_ptr<VerbsApi> api, std::string device, std::uint8_t port, const VerbsOptions& options);
    ~SniffedPort();
    SniffedPort(const SniffedPort&) = delete;
    SniffedPort& operator=(const SniffedPort&) = delete;

    base::Result<void, VerbsRefusal> open(VerbsApi::Object device);

    enum class Found : std::uint8_t { frames, nothing, gone, failed };
    /// The completions that were not taken yet; polls if all were taken. Buffers that were taken are posted again
    /// first.
    Found find();
    struct Arrival {
        base::Bytes bytes;
        std::uint32_t wire_length = 0;
        std::int64_t time_ns = 0;
    };
    /// The next one after `frames`, until it returns false.
    bool take(Arrival& arrival);
    bool has_more() const { return next_ < found_; }

    int descriptor() const { return api_->descriptor(queue_); }
    bool device_timestamps() const { return with_times_; }
    Statistics statistics() const;
    void count_received(std::uint64_t frames) { received_ += frames; }
    std::uint64_t restarts() const { return restarts_; }
    const std::string& failure() const { return failure_; }
    std::uint8_t number() const { return port_; }

private:
    base::Result<void, VerbsRefusal> open_pair();
    void close_pair();
    Found restart();
    VerbsReceive receive(std::uint64_t id) const;
    int give_back();
    int give_back_taken();
    Found poll();
    void sort_out();

    std::shared_ptr<VerbsApi> api_;
    std::string device_name_;
    std::uint8_t port_;
    VerbsOptions options_;
    std::uint32_t longest_;  ///< the greatest length that is kept of a frame
    BpfProgram length_;      ///< decides how much of a frame is kept
    std::uint32_t head_octets_;
    std::uint32_t rest_octets_;
    std::span<std::byte> memory_ = {};
    VerbsApi::Object device_ = nullptr;
    VerbsApi::Object domain_ = nullptr;
    VerbsApi::Object region_ = nullptr;
    VerbsApi::Object queue_ = nullptr;
    VerbsApi::Object pair_ = nullptr;
    VerbsApi::Object rule_ = nullptr;
    bool with_times_ = false;

    std::vector<VerbsReceive> free_;  ///< without owner: to be posted
    std::size_t posted_ = 0;          ///< with the device
    std::vector<VerbsCompletion> completions_;
    std::size_t found_ = 0;     ///< of completions_ in use
    std::size_t next_ = 0;      ///< of them taken
    std::size_t returned_ = 0;  ///< of those, the buffers that are free again
    std::int64_t found_ns_ = 0;
    bool broken_ = false;

    std::uint64_t received_ = 0;
    std::uint64_t lost_ = 0;
    std::uint64_t restarts_ = 0;
    std::string failure_ = {};
    // The device counts for all users together; each reading is divided into ours and theirs.
    mutable std::optional<std::uint64_t> counter_ = {};
    mutable std::uint64_t ours_ = 0;
    mutable bool dry_ = false;      ///< since the counter was read
    mutable bool unknown_ = false;  ///< the buffers ran out, and the device did not count
};

}  // namespace capture::sniffer
