#pragma once
#include <cstdint>
#include <string>

namespace service::http {

/// The process that listens on a TCP port of this network namespace: "rdma_exporter (process 812)". Empty if there is
/// no such process, or if this process may not see it.
std::string port_holder(std::uint16_t port);

}  // namespace service::http
