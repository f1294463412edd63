#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cli::endpoint {

/// The memory that messages share if their contents are not compared: it stays in a second-level cache, as the one
/// buffer of a program over TCP does.
inline constexpr std::uint64_t cached_octets = std::uint64_t{256} << 10;

/// Zeroed memory from the system, page by page when it is touched; freed at the end.
class Memory {
public:
    Memory() = default;
    /// Throws iwarp::Error if the system has no more.
    explicit Memory(std::size_t octets);
    ~Memory();
    Memory(Memory&& other) noexcept;
    Memory& operator=(Memory&& other) noexcept;

    std::span<std::byte> octets() const { return {octets_, size_}; }
    std::byte* data() const { return octets_; }
    std::size_t size() const { return size_; }

private:
    std::byte* octets_ = nullptr;
    std::size_t size_ = 0;
};

/// The most memory for all connections together.
class Budget {
public:
    explicit Budget(std::uint64_t octets) : total_(octets) {}

    /// A part of the budget, returned at the end.
    class Share {
    public:
        Share() = default;
        Share(Budget& budget, std::uint64_t octets) : budget_(&budget), octets_(octets) {}
        ~Share() { give_back(); }
        Share(Share&& other) noexcept : budget_(other.budget_), octets_(other.octets_) { other.octets_ = 0; }
        Share& operator=(Share&& other) noexcept {
            give_back();
            budget_ = other.budget_;
            octets_ = other.octets_;
            other.octets_ = 0;
            return *this;
        }

    private:
        void give_back() {
            if (budget_ != nullptr) budget_->used_ -= octets_;
            octets_ = 0;
        }
        Budget* budget_ = nullptr;
        std::uint64_t octets_ = 0;
    };
    std::optional<Share> take(std::uint64_t octets) {
        if (octets > total_ - std::min(total_, used_ + elsewhere_)) return {};
        used_ += octets;
        note_most();
        return Share(*this, octets);
    }
    /// What the stack keeps for the same connections; it may use what is not used here.
    void set_elsewhere(std::uint64_t octets) {
        elsewhere_ = octets;
        note_most();
    }
    std::uint64_t not_taken() const { return total_ - used_; }
    std::uint64_t total() const { return total_; }
    std::uint64_t most() const { return most_; }  ///< the most that was in use at once

private:
    void note_most() { most_ = std::max(most_, used_ + elsewhere_); }

    std::uint64_t total_;
    std::uint64_t used_ = 0;
    std::uint64_t elsewhere_ = 0;
    std::uint64_t most_ = 0;
};

}  // namespace cli::endpoint
