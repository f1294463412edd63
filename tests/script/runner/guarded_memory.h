#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "tests/script/runner/octets.h"

namespace script {

/// Memory between pages that nobody may touch. It ends (or, `low`, begins) right at such a page; the octets on its
/// other side are watched. What a script has not expected to change must not change.
class GuardedMemory {
public:
    explicit GuardedMemory(std::size_t size, bool low = false);
    ~GuardedMemory();
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;

    std::span<std::byte> octets() const { return octets_; }
    /// From now on this is what lies there.
    void accept(std::size_t offset, View octets);
    /// The user wrote it.
    void write(std::size_t offset, View octets);
    /// What changed without having been expected to, in words; empty where nothing did.
    std::string unexpected_change() const;

private:
    std::byte* pages_ = nullptr;
    std::size_t mapped_ = 0;
    std::span<std::byte> usable_;  ///< between the guard pages
    std::span<std::byte> octets_;
    Octets shadow_;  ///< of all that is usable
};

}  // namespace script
