#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "iwarp/mpa/stream_memory.h"

namespace iwarp::mpa {

/// Memory for FPDUs that have not arrived whole: two sizes, a few of each kept for reuse. One pool for each device,
/// used only by its thread.
class StagePool {
public:
    enum class Size : std::uint8_t { small, large };
    using Memory = std::unique_ptr<std::byte[]>;
    static std::size_t octets(Size size);

    /// Bytes are not initialised.
    Memory take(Size size);
    void give(Size size, Memory memory);
    std::size_t kept_octets() const;

    StreamMemory account;  ///< the holders count their memory here

private:
    static constexpr std::size_t most_small = 64;
    static constexpr std::size_t most_large = 16;
    std::vector<Memory> small_;
    std::vector<Memory> large_;
};

}  // namespace iwarp::mpa
