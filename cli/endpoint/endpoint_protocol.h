#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// What `serve` and its clients exchange in addition to RDMA itself: private data of the connection's set-up, and short
/// messages. All numbers are big-endian.
namespace cli::endpoint {

/// A piece of the peer's memory.
struct RemoteRegion {
    std::uint32_t stag = 0;
    std::uint64_t offset = 0;  ///< tagged offset of its first byte
    std::uint64_t length = 0;
};

/// A client's request to `serve`; the private data of its MPA Request. A Request without it asks for rping's server.
struct Hello {
    static constexpr std::size_t octets = 32;
    enum class Service : std::uint8_t {
        memory = 0,  ///< regions to read and write
        sink = 1,    ///< accepts messages, and returns credits
        echo = 2,    ///< sends every message back
        usage = 3,   ///< reports what the server has used, in the Reply
    };
    Service service = Service::memory;
    bool verify = false;  ///< a sink compares messages with the pattern
    std::uint32_t message_octets = 0;
    std::uint32_t depth = 0;  ///< messages outstanding at most
    std::uint64_t writable_octets = 0;

    std::vector<std::byte> encode() const;
    /// No value if `data` is not ours; an unknown version is returned as it is in `version`.
    static std::optional<Hello> decode(std::span<const std::byte> data);
    std::uint8_t version = 1;
};

/// What `serve` offers; the private data of its Reply.
struct Offer {
    static constexpr std::size_t octets = 64;
    std::uint32_t credits = 0;         ///< messages that may be outstanding
    std::uint32_t message_octets = 0;  ///< the longest message that is accepted
    RemoteRegion readable = {};        ///< filled with the pattern
    RemoteRegion writable = {};        ///< of this connection alone; to be read, written, and for atomics
    std::vector<std::byte> encode() const;
    static std::optional<Offer> decode(std::span<const std::byte> data);
};

/// Why `serve` refuses; the private data of its rejecting Reply.
struct Refusal {
    std::string reason = {};
    std::vector<std::byte> encode() const;
    static std::optional<Refusal> decode(std::span<const std::byte> data);
};

/// What the process of `serve` has used so far; the private data of its Reply to Hello::Service::usage.
struct Usage {
    static constexpr std::size_t octets = 40;
    std::uint64_t user_ns = 0;    ///< processor time in user mode
    std::uint64_t system_ns = 0;  ///< and in the kernel
    std::uint64_t payload_octets_sent = 0;
    std::uint64_t payload_octets_received = 0;
    std::vector<std::byte> encode() const;
    static std::optional<Usage> decode(std::span<const std::byte> data);
    static Usage of_this_process();

    std::uint64_t cpu_ns() const { return user_ns + system_ns; }
    Usage since(const Usage& earlier) const;
};

/// A sink's message: the number of further messages that may come.
struct Credit {
    static constexpr std::size_t octets = 16;
    std::uint32_t messages = 0;
    std::uint32_t wrong = 0;  ///< messages so far that differed from the agreement
    void encode(std::span<std::byte, octets> out) const;
    static Credit decode(std::span<const std::byte, octets> data);
};

/// rping's message: the address of the sender's buffer. As rping.c of rdma-core has it on the wire.
struct RpingBuffer {
    static constexpr std::size_t octets = 16;
    std::uint64_t address = 0;
    std::uint32_t stag = 0;
    std::uint32_t size = 0;
    void encode(std::span<std::byte, octets> out) const;
    static RpingBuffer decode(std::span<const std::byte, octets> data);
};

}  // namespace cli::endpoint
