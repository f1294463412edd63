#pragma once
#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

#include "iwarp/rdmap/inbound.h"
#include "wire/ddp.h"
#include "wire/rdmap.h"
#include "wire/rdmap_atomic.h"

/// A stream's inbound side with everything around it, and segments to feed it.
namespace support {

/// Octets whose end lies against a page that must not be touched, and so does the page before them.
class GuardedMemory {
public:
    explicit GuardedMemory(std::size_t octets);
    ~GuardedMemory();
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;
    std::span<std::byte> octets() const { return octets_; }
    std::byte* data() const { return octets_.data(); }
    /// From now on touching any of it is fatal, or no more.
    void forbid(bool forbidden);

private:
    std::span<std::byte> octets_;
    std::byte* mapped_;
    std::size_t mapped_octets_;
};

struct Recorder final : iwarp::rdmap::InboundEvents {
    struct Answer {
        iwarp::rdmap::OutstandingRequest request;
        iwarp::Status status;
    };
    void delivered(const iwarp::rdmap::Delivered& d) override { messages.push_back(d); }
    void answered(const iwarp::rdmap::OutstandingRequest& r, iwarp::Status s) override { answers.push_back({r, s}); }
    void response_owed() override { ++owed; }
    void terminated(const iwarp::Terminate& t) override { terminates.push_back(t); }
    void receive_limit() override { ++limits; }
    void first_fpdu() override { ++firsts; }

    std::vector<iwarp::rdmap::Delivered> messages;
    std::vector<Answer> answers;
    std::vector<iwarp::Terminate> terminates;
    int owed = 0;
    int limits = 0;
    int firsts = 0;
};

/// "1/2/04" as the specifications' tables have it, "" for no fault.
std::string text_of(const std::optional<iwarp::Fault>& fault);
std::string hex(base::Bytes octets);
std::vector<std::byte> octets_of(const std::string& hex);
std::vector<std::byte> pattern(std::size_t octets, unsigned seed = 1);

struct Untagged {
    wire::RdmapOpcode opcode = wire::RdmapOpcode::send;
    std::uint32_t queue = 0;
    std::uint32_t msn = 1;
    std::uint32_t offset = 0;
    bool last = true;
    std::uint32_t invalidate = 0;
};
struct Tagged {
    wire::RdmapOpcode opcode = wire::RdmapOpcode::write;
    std::uint32_t stag = 0;
    std::uint64_t offset = 0;
    bool last = true;
};
std::vector<std::byte> header_of(const Untagged& segment);
std::vector<std::byte> header_of(const Tagged& segment);

class Stream : public testing::Test {
public:
    static constexpr std::uint32_t domain = 4;
    static constexpr std::uint32_t queue_pair = 9;
    static constexpr std::size_t region_octets = 8192;

    explicit Stream(std::uint32_t ird = 4, std::uint32_t ord = 4);

    /// As mpa::FpduReader would: begins, copies, ends.
    std::string raw(base::Bytes header, base::Bytes payload);
    std::string untagged(const Untagged& segment, base::Bytes payload = {}) { return raw(header_of(segment), payload); }
    std::string tagged(const Tagged& segment, base::Bytes payload = {}) { return raw(header_of(segment), payload); }
    std::string read_request(std::uint32_t msn, const wire::RdmapReadRequest& request);
    std::string atomic_request(std::uint32_t msn, const wire::RdmapAtomicRequest& request);
    std::string atomic_response(std::uint32_t msn, std::uint32_t request_id, std::uint64_t original);

    /// Posts a receive of these octets of the region.
    void post(std::uint64_t id, std::size_t offset, std::uint32_t octets);
    std::uint32_t register_region(iwarp::Access access, std::uint32_t of_domain = domain);
    /// Everything begins again, with these settings.
    void restart(iwarp::rdmap::Inbound::Settings settings);
    std::span<std::byte> region() const { return memory.octets(); }
    std::uint64_t offset_of(std::size_t octet) const { return reinterpret_cast<std::uintptr_t>(memory.data()) + octet; }
    iwarp::rdmap::OutstandingRequest& ask_read(std::size_t sink, std::uint32_t octets);
    iwarp::rdmap::OutstandingRequest& ask_atomic(std::size_t sink, std::uint32_t id);

    GuardedMemory memory{region_octets};
    iwarp::ddp::TaggedBuffers table{1000, 1};
    iwarp::ddp::ReceiveQueue receives{16, 4};
    iwarp::rdmap::OwedResponses owed;
    iwarp::rdmap::OutstandingRequests outstanding;
    Recorder events;
    std::uint32_t stag = 0;  ///< of all the memory, every right, offsets by address
    std::optional<iwarp::rdmap::Inbound> inbound;
};

}  // namespace support
