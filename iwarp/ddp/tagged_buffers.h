#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "iwarp/iwarp.h"

/// Tagged buffers: the meaning of an STag, and who may access the memory. RFC 5041 sections 5.1.1 and 8.2, RFC 5040
/// section 8.1.
namespace iwarp::ddp {

enum class MemoryFault : std::uint8_t { none, invalid_stag, bounds, access, not_associated, wrap };

struct TaggedBuffer {
    enum class Kind : std::uint8_t { region, window_1, window_2 };
    Kind kind = Kind::region;
    bool valid = false;    ///< allocated, but not usable otherwise (or no longer)
    std::uint8_t key = 0;  ///< low byte of the STag
    Access access = Access::none;
    std::uint32_t domain = 0;      ///< ProtectionDomain::number
    std::uint32_t queue_pair = 0;  ///< type 2 windows: the queue pair they belong to; 0: all of the domain
    std::uint32_t parent = 0;      ///< windows: STag of the region
    std::uint32_t windows = 0;     ///< regions: windows bound to it
    std::byte* memory = nullptr;
    std::uint64_t length = 0;
    std::uint64_t first_offset = 0;  ///< tagged offset of memory[0]
    std::uint64_t max_length = 0;    ///< regions for fast registration
};

/// The table of a device. STag = index (24 bits, never 0) << 8 | key. The index selects the slot of the table; its
/// spare high bits and the key are random, so that STags are sparse in their range and hard to guess (RFC 5040 section
/// 8.1.1, item 8). Slots are reused late and under another STag, so that a stale STag finds nothing.
class TaggedBuffers {
public:
    /// `limit`: entries, at most 2^24 - 1. The same `seed` gives the same STags.
    explicit TaggedBuffers(std::size_t limit, std::uint64_t seed = random_seed());

    /// Returns its STag (the key is chosen here); no value if the table is full.
    std::optional<std::uint32_t> insert(const TaggedBuffer& buffer);
    /// A bound window is subtracted from its region's count.
    void erase(std::uint32_t stag);
    /// The entry with this index and key, valid or not. It stays in place until erased. Code that moves, shortens or
    /// restricts a buffer through this calls changed().
    TaggedBuffer* find(std::uint32_t stag);
    const TaggedBuffer* find(std::uint32_t stag) const;
    /// Gives the buffer at this index another key; returns the new STag, 0 if there is no such buffer.
    std::uint32_t renew(std::uint32_t stag, std::uint8_t key);

    struct Place {
        MemoryFault fault = MemoryFault::none;
        std::byte* memory = nullptr;
    };
    /// The memory of `length` bytes at tagged offset `offset`, for one queue pair of a domain. Checks in the order of
    /// RFC 5041 section 7.1: STag known and valid, association, rights, offset + length within 2^64, bounds. A length
    /// of 0 is checked like any other: callers skip the call if the protocol says so.
    Place resolve(std::uint32_t stag, std::uint64_t offset, std::uint64_t length, Access wanted, std::uint32_t domain,
                  std::uint32_t queue_pair) const;
    /// Local memory named by an Sge: as resolve, but by address, and with `privileged` STag 0 stands for all memory.
    /// Windows are for peers: their STags are invalid here.
    Place resolve_local(const Sge& piece, Access wanted, std::uint32_t domain, std::uint32_t queue_pair,
                        bool privileged) const;
    /// RFC 5040 section 5.3: regions may be invalidated unless windows are bound to them, type 2 windows by their queue
    /// pair, type 1 windows never. A window is subtracted from its region's count. An invalid buffer, or another's,
    /// stays unchanged.
    MemoryFault invalidate(std::uint32_t stag, std::uint32_t domain, std::uint32_t queue_pair);
    std::size_t size() const { return size_; }

    /// Counts changes that may have made a Place stale: code that keeps one across calls from above compares this.
    std::uint64_t changes() const { return changes_; }
    void changed() { ++changes_; }

private:
    struct Slot {
        TaggedBuffer buffer;
        std::uint32_t index = nowhere;  ///< high bits of the STag
        std::uint32_t next_free = 0;
    };
    static constexpr std::uint32_t nowhere = ~std::uint32_t{0};  ///< no index of 24 bits
    static constexpr std::uint32_t chunk_slots = 256;
    static std::uint64_t random_seed();

    Slot* slot_of(std::uint32_t stag) const;
    std::uint32_t unused_slot();
    void leave_parent(TaggedBuffer& window);
    std::uint64_t random();

    std::vector<std::unique_ptr<Slot[]>> chunks_;  ///< slots never move: find() returns pointers to them
    std::uint32_t limit_;
    std::uint32_t mask_;            ///< the bits of the index that select the slot
    std::uint32_t fresh_ = 1;       ///< slots from here on were never used
    std::uint32_t first_free_ = 0;  ///< of a queue through next_free: the longest unused slot comes first
    std::uint32_t last_free_ = 0;
    std::uint32_t free_ = 0;
    std::size_t size_ = 0;
    std::uint64_t changes_ = 0;
    std::uint64_t random_state_;
};

}  // namespace iwarp::ddp
