#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "dissect/dissection.h"

namespace dissect {

struct FragmentOptions {
    std::size_t max_datagrams = 256;           ///< under reassembly at a time; the idlest goes first
    std::int64_t timeout_ns = 30'000'000'000;  ///< of capture time, from a datagram's first fragment on
};

struct FragmentCounters {
    std::uint64_t fragments = 0;
    std::uint64_t datagrams = 0;   ///< completed
    std::uint64_t duplicates = 0;  ///< fragments that came twice with the same bytes: a capture that sees both sides
    std::uint64_t overlaps = 0;    ///< datagrams given up because fragments contradict each other
    std::uint64_t malformed = 0;   ///< fragments that can belong to no datagram
    std::uint64_t timed_out = 0;   ///< datagrams given up because fragments never came
    std::uint64_t evicted = 0;     ///< datagrams given up to stay within the bounds
};

/// Joins the fragments of IPv4 and IPv6 datagrams. RFC 791, 3.2; RFC 8200, 4.5; RFC 5722.
///
/// Each datagram has a buffer of 64 KiB with room for its header. Buffers are allocated when they are first needed and
/// then reused; nothing else is allocated. With a short snap length, a datagram may have only its beginning;
/// `wire_length` is its full length.
class FragmentTable {
public:
    enum class Result : std::uint8_t {
        pending,    ///< more must come
        complete,   ///< `bytes` hold the datagram
        duplicate,  ///< seen before; nothing has changed
        refused,    ///< see `problem`: the fragment, or its whole datagram, is dropped
    };
    struct Added {
        Result result = Result::pending;
        LayerId first = LayerId::none;  ///< of `bytes`: ipv4 or ipv6
        base::Bytes bytes = {};         ///< the IP header without fields of fragmentation, and the payload; valid until
                                        ///< the next call
        std::uint32_t wire_length = 0;  ///< more than `bytes` if a fragment was not captured whole
        std::uint64_t first_frame = 0;  ///< the first frame of the datagram, in the order of capture
        std::uint32_t fragments = 0;    ///< the number of fragments
        Diagnostic problem = {};        ///< for the frame's dissection
    };
    /// A datagram that will never be complete.
    struct Lost {
        std::uint64_t first_frame = 0;
        std::uint64_t octets = 0;  ///< bytes of payload that had come
    };

    explicit FragmentTable(const FragmentOptions& options = {});

    /// Adds the outermost fragment of a dissection with `fragmented` set; `bytes` are what it describes. If a tunnel's
    /// datagram is itself a fragment, dissect the result and add that.
    Added add(const Dissection& dissection, base::Bytes bytes, std::int64_t time_ns, std::uint64_t frame_number);
    /// Drops all incomplete datagrams, at the end of a capture.
    void finish();

    /// The datagrams that the last call of `add` or `finish` dropped: fragments or room were missing.
    std::span<const Lost> lost() const { return lost_; }
    const FragmentCounters& counters() const { return counters_; }
    /// Datagrams under reassembly.
    std::size_t size() const { return used_; }

private:
    static constexpr std::uint32_t header_room = 512;
    static constexpr std::uint32_t max_payload = 65535;
    static constexpr std::uint32_t unit_octets = 8;
    static constexpr std::size_t words = (max_payload + 1) / unit_octets / 64;
    static constexpr std::uint32_t nobody = 0xffffffff;

    struct Key {
        std::array<std::byte, 32> addresses{};
        std::uint32_t identification = 0;
        std::uint8_t protocol = 0;  ///< IPv4 alone
        bool is_ipv6 = false;
        bool operator==(const Key&) const = default;
    };
    /// A fragment as its frame has it.
    struct Piece {
        Key key;
        LayerId layer = LayerId::none;
        std::uint32_t header_offset = 0;   ///< of the IP header, all within the frame's bytes
        std::uint32_t header_length = 0;   ///< up to the payload, IPv6's fragment header not counted
        std::uint32_t next_header_at = 0;  ///< IPv6: the position of the byte that says "fragment", from the header's
                                           ///< start
        std::uint8_t next_header = 0;      ///< IPv6: next header according to the fragment header
        std::uint32_t data_offset = 0;
        std::uint32_t offset = 0;  ///< within the datagram's payload
        std::uint32_t length = 0;  ///< on the wire
        std::uint32_t captured = 0;
        bool more = false;
        bool congestion = false;  ///< CE
    };
    struct Datagram {
        Key key;
        std::unique_ptr<std::byte[]> octets;    ///< header, right before `header_room`, then payload
        std::array<std::uint64_t, words> have;  ///< one bit for each eight bytes
        std::uint32_t received = 0;
        std::uint32_t total = 0;          ///< 0 until the last fragment has come
        std::uint32_t end = 0;            ///< beyond the farthest byte
        std::uint32_t prefix = 0;         ///< bytes from the start on that were captured without a gap
        std::uint32_t header_length = 0;  ///< 0 until the first fragment has come
        std::uint32_t fragments = 0;
        std::uint64_t first_frame = 0;
        std::int64_t began_ns = 0;
        bool congestion = false;
        bool refused = false;  ///< RFC 5722: further fragments are discarded too
        std::uint32_t newer = nobody;
        std::uint32_t older = nobody;
        std::uint32_t chained = nobody;  ///< the next in the same bucket, or the next free one
    };
    enum class Cover : std::uint8_t { none, some, all };

    static bool locate(const Dissection& dissection, base::Bytes bytes, Piece& piece);
    static bool locate_ipv4(const LayerRef& layer, base::Bytes bytes, Piece& piece);
    static bool locate_ipv6(const Dissection& dissection, unsigned index, base::Bytes bytes, Piece& piece);

    std::uint32_t& bucket_of(const Key& key);
    std::uint32_t find_or_begin(const Piece& piece, std::int64_t time_ns, std::uint64_t frame_number);
    std::uint32_t find(const Key& key);
    std::uint32_t begin(const Key& key, std::int64_t time_ns, std::uint64_t frame_number);
    void expire(std::int64_t time_ns);
    void give_up(std::uint32_t index);
    void release(std::uint32_t index);
    void unlink(std::uint32_t index);
    void make_newest(std::uint32_t index);

    static Cover cover_of(const Datagram& datagram, std::uint32_t first, std::uint32_t last);
    static void mark(Datagram& datagram, std::uint32_t first, std::uint32_t last);
    static bool contradicts(const Datagram& datagram, const Piece& piece);
    static bool same_octets(const Datagram& datagram, const Piece& piece, base::Bytes bytes);
    static void keep(Datagram& datagram, const Piece& piece, base::Bytes bytes);
    static bool is_complete(const Datagram& datagram);
    Added complete(std::uint32_t index);
    Added refuse(Reason reason, const Piece& piece);

    FragmentOptions options_;
    FragmentCounters counters_;
    std::vector<Datagram> datagrams_;
    std::vector<std::uint32_t> buckets_;
    std::vector<Lost> lost_;
    std::uint32_t oldest_ = nobody;
    std::uint32_t newest_ = nobody;
    std::uint32_t free_ = nobody;
    std::size_t used_ = 0;
};

}  // namespace dissect
