#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace metrics {

/// Recognises a frame that passed on another interface shortly before. A capture of one interface costs it next to
/// nothing: the last few frames are kept in case that a second interface shows up.
class RepeatedFrames {
public:
    /// What tells a frame from others. Hashed only once there are two interfaces.
    struct Marks {
        std::uint64_t addresses = 0;
        std::uint64_t first = 0;
        std::uint64_t second = 0;
    };

    /// True where the frame of these marks was met on another interface within a second.
    bool note(const Marks& marks, std::uint64_t interface, std::int64_t time_ns) {
        if (note_on_only(marks, interface, time_ns)) [[likely]]
            return false;
        if (next_ == 0) {
            only_interface_ = interface;
            note_on_only(marks, interface, time_ns);
            return false;
        }
        if (table_.empty()) begin();
        const std::uint64_t fingerprint = hash_of(marks);
        Entry& entry = table_[fingerprint >> 40 & (table_.size() - 1)];
        const bool met = entry.fingerprint == fingerprint && entry.interface != interface && near(entry, time_ns);
        if (!met) entry = {fingerprint, time_ns, interface};
        return met;
    }
    /// The same where the frame crossed the only interface so far; false, with nothing done, where it did not.
    bool note_on_only(const Marks& marks, std::uint64_t interface, std::int64_t time_ns) {
        if (interface != only_interface_) return false;
        recent_[next_++ % recent_.size()] = {marks, time_ns};
        return true;
    }
    std::size_t octets() const { return sizeof *this + table_.capacity() * sizeof(Entry); }

private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    struct Entry {
        std::uint64_t fingerprint = 0;
        std::int64_t time_ns = 0;
        std::uint64_t interface = 0;
    };
    struct Recent {
        Marks marks;
        std::int64_t time_ns = 0;
    };
    static std::uint64_t hash_of(const Marks& marks) {
        std::uint64_t hash = 0;
        for (const std::uint64_t value : {marks.addresses, marks.first, marks.second}) {
            hash = (hash ^ value) * 0x9e3779b97f4a7c15;
            hash ^= hash >> 29;
        }
        return hash;
    }
    static bool near(const Entry& entry, std::int64_t time_ns) {
        constexpr std::uint64_t second = 1'000'000'000;
        const std::uint64_t since = static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(entry.time_ns);
        return since <= second || 0 - since <= second;
    }
    void begin() {
        table_.resize(std::size_t{1} << 16);
        const std::size_t count = next_ < recent_.size() ? next_ : recent_.size();
        for (std::size_t i = next_ - count; i != next_; ++i) {
            const Recent& recent = recent_[i % recent_.size()];
            const std::uint64_t fingerprint = hash_of(recent.marks);
            table_[fingerprint >> 40 & (table_.size() - 1)] = {fingerprint, recent.time_ns, only_interface_};
        }
        only_interface_ = none;
    }

    std::array<Recent, 256> recent_{};
    std::size_t next_ = 0;
    std::uint64_t only_interface_ = none;  ///< that was seen so far
    std::vector<Entry> table_;
};

}  // namespace metrics
