#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"

namespace upper {

struct Protocol;

/// What the user says about connections: a port or a queue pair, and its protocol.
struct Assignment {
    bool is_queue_pair = false;
    std::uint32_t number = 0;
    const Protocol* protocol = nullptr;
};
/// "4420=nvme", "qp:0x11=nvme". Fails with what is expected.
base::Result<Assignment, std::string> parse_assignment(const std::string& text);

}  // namespace upper
