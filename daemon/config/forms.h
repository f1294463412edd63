#pragma once
#include <string_view>

/// The forms that texts of a configuration must have.
namespace service::inline config::forms {

bool is_empty_or_absolute(std::string_view path);
/// A path that fits a socket's address, or an empty text.
bool is_empty_or_socket(std::string_view path);
/// `eth0`, `en*`, `any`.
bool is_interface_pattern(std::string_view pattern);
/// `http://host:8123`, `https://host:8443`, or an empty text.
bool is_empty_or_url(std::string_view url);
/// Letters, digits and `_`.
bool is_database_name(std::string_view name);
/// At most 255 bytes without control characters.
bool is_short_text(std::string_view text);
bool is_device_name(std::string_view name);
bool is_empty_or_device_name(std::string_view name);
/// `rdma_cma`, `rdma_core:cq_*`.
bool is_event_pattern(std::string_view pattern);
/// `4420=nvme`, `qp:0x11=nvme`.
bool is_assignment(std::string_view text);
/// `127.0.0.1:14791`, `[::1]:14791`, `:14791` for all addresses, or an empty text. Port 0 is any free port.
bool is_empty_or_listen_address(std::string_view address);
/// The name of a user or a group, or an empty text.
bool is_empty_or_account(std::string_view name);
/// Fit for a file's name: letters, digits, `-` and `_`.
bool is_trigger_name(std::string_view name);

}  // namespace service::config::forms
