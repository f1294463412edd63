#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The functions of libibverbs that a sniffer needs, so that tests can use a provider of their own.
namespace capture::inline sniffer {

struct VerbsPort {
    bool ethernet = false;
    bool active = false;
};

/// One buffer for one frame: its beginning goes to `head`, the remainder to `rest`, which is never read.
struct VerbsReceive {
    std::uint64_t id = 0;
    std::span<std::byte> head = {};
    std::span<std::byte> rest = {};
};

enum class VerbsStatus : std::uint8_t {
    ok,
    too_long,  ///< the frame did not fit the buffer, and is lost
    flushed,   ///< the queue pair is broken, or the device is going
    failed,
};

struct VerbsCompletion {
    std::uint64_t id = 0;
    VerbsStatus status = VerbsStatus::ok;
    std::uint32_t octets = 0;                  ///< of the frame on the wire
    std::optional<std::int64_t> time_ns = {};  ///< since 1970, if the device reports it
    std::string_view failure = {};             ///< a word for `failed`
};

/// Objects are the provider's; none is null. Functions that return int return an errno, or 0. The caller destroys the
/// objects that it made, and before each object those that were made from it.
class VerbsApi {
public:
    using Object = void*;
    virtual ~VerbsApi() = default;

    virtual int list_devices(std::vector<std::string>& names) = 0;
    virtual int open_device(const std::string& name, Object& device) = 0;
    virtual void close_device(Object device) = 0;
    virtual unsigned ports(Object device) = 0;
    virtual int query_port(Object device, std::uint8_t port, VerbsPort& into) = 0;

    virtual int create_domain(Object device, Object& domain) = 0;
    virtual void destroy_domain(Object domain) = 0;
    virtual int register_memory(Object domain, std::span<std::byte> memory, Object& region) = 0;
    virtual void deregister_memory(Object region) = 0;
    /// A completion queue; with_times asks for the time of each completion, and fails if the device has none.
    virtual int create_queue(Object device, unsigned entries, bool with_times, Object& queue) = 0;
    virtual void destroy_queue(Object queue) = 0;
    /// A RAW_PACKET queue pair that is ready to receive.
    virtual int create_pair(Object domain, Object queue, std::uint8_t port, unsigned receives, Object& pair) = 0;
    virtual void destroy_pair(Object pair) = 0;
    /// IBV_FLOW_ATTR_SNIFFER: everything that passes the port, offloaded traffic among it.
    virtual int create_sniffer(Object pair, std::uint8_t port, Object& rule) = 0;
    virtual void destroy_sniffer(Object rule) = 0;

    /// `posted` is how many of them were posted; region is that of all memory named.
    virtual int post(Object pair, Object region, std::span<const VerbsReceive> receives, std::size_t& posted) = 0;
    /// Fills in the completions; their number is `count`.
    virtual int poll(Object queue, std::span<VerbsCompletion> completions, std::size_t& count) = 0;
    /// Readable when something completes after the last arm().
    virtual int descriptor(Object queue) = 0;
    virtual int arm(Object queue) = 0;

    /// Frames without a free buffer since the device came up, on all its queues. No value if the device does not count
    /// them.
    virtual std::optional<std::uint64_t> out_of_buffer(const std::string& device, std::uint8_t port) = 0;
};

/// libibverbs; null if the program was built without it.
std::shared_ptr<VerbsApi> system_verbs();

}  // namespace capture::sniffer
