#pragma once
#include <microhttpd.h>
#include <string>

#include "base/error.h"

namespace service::http {

/// The functions of libmicrohttpd that the server calls, with the types of its header.
struct MicrohttpdLibrary {
    decltype(&MHD_start_daemon) start_daemon = nullptr;
    decltype(&MHD_stop_daemon) stop_daemon = nullptr;
    decltype(&MHD_get_daemon_info) get_daemon_info = nullptr;
    decltype(&MHD_get_timeout) get_timeout = nullptr;
    decltype(&MHD_run) run = nullptr;
    decltype(&MHD_add_connection) add_connection = nullptr;
    decltype(&MHD_suspend_connection) suspend_connection = nullptr;
    decltype(&MHD_resume_connection) resume_connection = nullptr;
    decltype(&MHD_get_connection_info) get_connection_info = nullptr;
    decltype(&MHD_get_connection_values) get_connection_values = nullptr;
    decltype(&MHD_lookup_connection_value) lookup_connection_value = nullptr;
    decltype(&MHD_create_response_from_buffer) create_response_from_buffer = nullptr;
    decltype(&MHD_create_response_from_callback) create_response_from_callback = nullptr;
    decltype(&MHD_add_response_header) add_response_header = nullptr;
    decltype(&MHD_queue_response) queue_response = nullptr;
    decltype(&MHD_destroy_response) destroy_response = nullptr;
};

/// Loads libmicrohttpd, with GnuTLS, which it needs.
base::Result<MicrohttpdLibrary> load_microhttpd(const std::string& file = "libmicrohttpd.so.12");

}  // namespace service::http
