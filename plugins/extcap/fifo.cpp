#include "plugins/extcap/fifo.h"

#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace extcap {
namespace {

volatile std::sig_atomic_t signalled = 0;

void note(int /*signal*/) { signalled = 1; }

}  // namespace

bool told_to_end() { return signalled != 0; }

void heed_signals() {
    // Without SA_RESTART: opening a fifo that nobody reads, and writing to a full one, end.
    struct sigaction action {};
    action.sa_handler = note;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaction(signal, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
}

wire::Result<std::unique_ptr<Fifo>, std::string> Fifo::open(const std::string& path, const std::string& comment) {
    capture::WriterOptions options;
    options.section.comment = comment;
    options.section.application = "rdmascope-extcap " RDMASCOPE_VERSION;
    auto writer = capture::open_writer(path, options);
    if (!writer) return wire::Failure{told_to_end() ? std::string{} : writer.error().text()};
    const int watched = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    std::unique_ptr<Fifo> fifo(new Fifo(std::move(writer).value(), watched));
    static_cast<void>(fifo->writer().flush());
    return fifo;
}

Fifo::~Fifo() {
    if (watched_ >= 0) ::close(watched_);
}

bool Fifo::closed() const {
    pollfd one{watched_, POLLOUT, 0};
    return watched_ >= 0 && ::poll(&one, 1, 0) > 0 && (one.revents & POLLERR) != 0;
}

}  // namespace extcap
