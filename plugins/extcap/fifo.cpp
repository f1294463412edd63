#include "plugins/extcap/fifo.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

namespace plugins::extcap {
namespace {

constexpr int patience_ms = 2000;
constexpr int step_ms = 10;

volatile std::sig_atomic_t signalled = 0;
bool opened = false;  ///< a capture's fifo, which is closed at its end

void note(int /*signal*/) { signalled = 1; }

}  // namespace

bool is_end_requested() { return signalled != 0; }

void handle_signals() {
    // Without SA_RESTART: opening a fifo without a reader, and writing to a full one, end.
    struct sigaction action {};
    action.sa_handler = note;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

base::Result<std::unique_ptr<Fifo>, std::string> Fifo::open(const std::string& path, const std::string& comment) {
    capture::WriterOptions options;
    options.section.comment = comment;
    options.section.application = "rdmascope-extcap " RDMASCOPE_VERSION;
    auto writer = capture::open_writer(path, options);
    if (!writer) return base::Failure{is_end_requested() ? std::string{} : writer.error().text()};
    opened = true;
    base::Descriptor watched(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    std::unique_ptr<Fifo> fifo(new Fifo(std::move(writer).value(), std::move(watched)));
    static_cast<void>(fifo->writer().flush());
    return fifo;
}

void let_go(const std::string& path) {
    struct stat status {};
    if (opened || ::stat(path.c_str(), &status) != 0 || !S_ISFIFO(status.st_mode)) return;
    for (int waited_ms = 0; waited_ms < patience_ms && !is_end_requested(); waited_ms += step_ms) {
        const base::Descriptor writer(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
        if (writer || errno != ENXIO) return;
        ::poll(nullptr, 0, step_ms);
    }
}

bool Fifo::closed() const {
    pollfd one{watched_.number(), POLLOUT, 0};
    return watched_ && ::poll(&one, 1, 0) > 0 && (one.revents & POLLERR) != 0;
}

}  // namespace plugins::extcap
