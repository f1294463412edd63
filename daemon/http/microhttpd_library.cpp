#include "daemon/http/microhttpd_library.h"

#include "base/shared_library.h"

namespace service::http {

base::Result<MicrohttpdLibrary> load_microhttpd(const std::string& file) {
    auto library = base::SharedLibrary::load(
        {.file = file, .package = "libmicrohttpd12", .needed_for = "prometheus.listen and the live page"});
    if (!library) return base::Failure{library.error()};
    MicrohttpdLibrary http;
    library->find(http.start_daemon, "MHD_start_daemon");
    library->find(http.stop_daemon, "MHD_stop_daemon");
    library->find(http.get_daemon_info, "MHD_get_daemon_info");
    library->find(http.get_timeout, "MHD_get_timeout");
    library->find(http.run, "MHD_run");
    library->find(http.add_connection, "MHD_add_connection");
    library->find(http.suspend_connection, "MHD_suspend_connection");
    library->find(http.resume_connection, "MHD_resume_connection");
    library->find(http.get_connection_info, "MHD_get_connection_info");
    library->find(http.get_connection_values, "MHD_get_connection_values");
    library->find(http.lookup_connection_value, "MHD_lookup_connection_value");
    library->find(http.create_response_from_buffer, "MHD_create_response_from_buffer");
    library->find(http.create_response_from_callback, "MHD_create_response_from_callback");
    library->find(http.add_response_header, "MHD_add_response_header");
    library->find(http.queue_response, "MHD_queue_response");
    library->find(http.destroy_response, "MHD_destroy_response");
    if (const auto whole = library->whole(); !whole) return base::Failure{whole.error()};
    return http;
}

}  // namespace service::http
