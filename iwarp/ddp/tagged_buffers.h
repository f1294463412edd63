#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "iwarp/iwarp.h"

/// Tagged buffers: what an STag stands for, and who may reach it. RFC 5041 sections 3 and 5, RFC 5040 section 8.1.
namespace iwarp::ddp {

enum class MemoryFault : std::uint8_t { none, invalid_stag, bounds, access, not_associated, wrap };

struct TaggedBuffer {
    enum class Kind : std::uint8_t { region, window_1, window_2 };
    Kind kind = Kind::region;
    bool valid = false;              ///< allocated but not (or no longer) usable otherwise
    std::uint8_t key = 0;            ///< low octet of the STag
    Access access = Access::none;
    std::uint32_t domain = 0;        ///< ProtectionDomain::number
    std::uint32_t queue_pair = 0;    ///< type 2 windows: the one it belongs to; 0: all of the domain
    std::uint32_t parent = 0;        ///< windows: STag of the region
    std::uint32_t windows = 0;       ///< regions: windows bound to it
    std::byte* memory = nullptr;
    std::uint64_t length = 0;
    std::uint64_t first_offset = 0;  ///< tagged offset of memory[0]
    std::uint64_t max_length = 0;    ///< regions for fast registration
};

/// The table of a device. STag = index (24 bits, from 1) << 8 | key. Indices are used again late and with another key,
/// so that a stale STag finds nothing.
class TaggedBuffers {
public:
    explicit TaggedBuffers(std::size_t limit);

    /// Its STag; nothing where the table is full.
    std::optional<std::uint32_t> insert(const TaggedBuffer& buffer);
    void erase(std::uint32_t stag);
    /// Whatever has this index and key, valid or not.
    TaggedBuffer* find(std::uint32_t stag);
    /// Gives the buffer at this index another key; returns the new STag.
    std::uint32_t renew(std::uint32_t stag, std::uint8_t key);

    struct Place {
        MemoryFault fault = MemoryFault::none;
        std::byte* memory = nullptr;
    };
    /// Where `length` octets at tagged offset `offset` lie, for one queue pair of a domain. In the order of the faults'
    /// enumeration: STag known and valid, association, offset + length within 2^64, bounds, rights. A length of 0 is
    /// checked like any other: callers skip the call where the protocol wants that.
    Place resolve(std::uint32_t stag, std::uint64_t offset, std::uint64_t length, Access wanted, std::uint32_t domain,
                  std::uint32_t queue_pair) const;
    /// Of local memory named by an Sge: as resolve, by address, with `privileged` STag 0 standing for everything.
    Place resolve_local(const Sge& piece, Access wanted, std::uint32_t domain, std::uint32_t queue_pair, bool privileged) const;
    /// RFC 5040 section 5.3: regions may be invalidated unless windows are bound to them, type 2 windows by their queue
    /// pair, type 1 windows never.
    MemoryFault invalidate(std::uint32_t stag, std::uint32_t domain, std::uint32_t queue_pair);
    std::size_t size() const;

private:
    // The author of tagged_buffers.cpp completes what is private.
};

}  // namespace iwarp::ddp
