#pragma once
#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/result.h"

namespace service::http {

/// A socket that listens, and never blocks.
struct ListeningSocket {
    base::Descriptor descriptor = {};
    std::uint16_t port = 0;
};

/// Listens on one address: "127.0.0.1:14791", "[::1]:14791", ":14791" for all of IPv4 and, where the kernel has it,
/// IPv6.
base::Result<ListeningSocket> listen_on(const std::string& address);

}  // namespace service::http
