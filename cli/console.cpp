#include "cli/console.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <langinfo.h>
#include <locale.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/command.h"

namespace cli {

void print_message_line(std::string_view line) {
    std::string whole(line);
    if (whole.empty() || whole.back() != '\n') whole += '\n';
    // If standard error fails, there is nowhere to report it.
    static_cast<void>(base::write_all(STDERR_FILENO, whole));
}

void print_errors(std::string_view command, const base::Errors& errors) {
    for (const base::Error& error : errors) print_message("rdmascope {}: {}", command, error.text());
}

int print(std::string_view text) {
    if (base::write_all(STDOUT_FILENO, text)) return exit_done;
    if (errno == EPIPE) return exit_done;
    print_message("rdmascope: {}", output_error(errno));
    return exit_failed;
}

std::string output_error(int code) {
    if (code == ENOSPC) return "standard output: the disk is full; what was printed so far is complete up to there";
    return fmt::format("standard output: writing failed: {}", std::strerror(code));
}

bool is_terminal(int descriptor) { return ::isatty(descriptor) == 1; }

unsigned terminal_columns(int descriptor) {
    winsize size{};
    return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool wants_color(int descriptor) {
    const char* no_color = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    const bool dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
    return is_terminal(descriptor) && !dumb && (no_color == nullptr || *no_color == '\0');
}

bool writes_utf8() {
    const locale_t users = ::newlocale(LC_CTYPE_MASK, "", nullptr);
    if (users == nullptr) return false;
    const bool utf8 = std::strcmp(::nl_langinfo_l(CODESET, users), "UTF-8") == 0;
    ::freelocale(users);
    return utf8;
}

}  // namespace cli
