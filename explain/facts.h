#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "explain/knowledge.h"

namespace explain {

/// What one line says. Pointers go into the Knowledge.
struct Facts {
    const Status* status = nullptr;
    const Reject* reject = nullptr;
    const Event* event = nullptr;
    const ErrorNumber* error_number = nullptr;
    const TerminateKind* terminate = nullptr;
    std::optional<unsigned> vendor = {};
    std::string local = {};   ///< an address of this host, as the line writes it
    std::string remote = {};  ///< an address of the peer
    std::optional<std::uint32_t> qpn = {};
    std::optional<std::uint32_t> remote_qpn = {};
    std::optional<std::uint64_t> waited_ns = {};  ///< for how long the software waited, by its own words
    std::string upper_reason = {};                ///< of the layer above, for a reject
    std::optional<std::int64_t> time_ns = {};     ///< of the line, since 1970
};

}  // namespace explain
