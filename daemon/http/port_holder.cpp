#include "daemon/http/port_holder.h"

#include <array>
#include <filesystem>
#include <fmt/core.h>
#include <set>
#include <sstream>
#include <system_error>

#include "base/file.h"
#include "base/printable.h"

namespace service::http {
namespace {

namespace fs = std::filesystem;

/// The sockets that listen on a port, as "socket:[INODE]". The columns of the table are in proc(5): "sl local_address
/// rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode"; 0A is LISTEN.
std::set<std::string> listening_sockets(const char* table, std::uint16_t port) {
    constexpr std::size_t columns = 10;
    std::set<std::string> found;
    std::istringstream lines(base::read_file(table).value_or(""));
    std::string line;
    std::getline(lines, line);
    const std::string suffix = fmt::format(":{:04X}", port);
    while (std::getline(lines, line)) {
        std::array<std::string, columns> words;
        std::size_t count = 0;
        for (std::size_t at = 0; count < columns && (at = line.find_first_not_of(' ', at)) != std::string::npos;
             ++count) {
            const std::size_t end = line.find(' ', at);
            words[count] = line.substr(at, end - at);
            at = end == std::string::npos ? line.size() : end;
        }
        if (count == columns && words[1].ends_with(suffix) && words[3] == "0A")
            found.insert("socket:[" + words[9] + "]");
    }
    return found;
}

bool has_socket(const fs::path& process, const std::set<std::string>& sockets) {
    std::error_code unseen;
    for (fs::directory_iterator at(process / "fd", unseen), end; !unseen && at != end; at.increment(unseen)) {
        std::error_code gone;
        if (sockets.contains(fs::read_symlink(at->path(), gone).string())) return true;
    }
    return false;
}

}  // namespace

std::string port_holder(std::uint16_t port) {
    std::set<std::string> sockets = listening_sockets("/proc/net/tcp", port);
    sockets.merge(listening_sockets("/proc/net/tcp6", port));
    if (sockets.empty()) return {};
    std::error_code unseen;
    for (fs::directory_iterator at("/proc", unseen), end; !unseen && at != end; at.increment(unseen)) {
        const std::string name = at->path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos || !has_socket(at->path(), sockets)) continue;
        return fmt::format("{} (process {})", base::printable(base::first_line(at->path() / "comm")), name);
    }
    return {};
}

}  // namespace service::http
