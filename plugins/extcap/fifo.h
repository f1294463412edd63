#pragma once
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/result.h"
#include "capture/files/writer.h"

namespace plugins::extcap {

/// The pipe from which Wireshark reads a pcapng; every batch is written to it.
class Fifo {
public:
    /// Waits until a process reads. Fails with a sentence, an empty one if it has to end meanwhile.
    static base::Result<std::unique_ptr<Fifo>, std::string> open(const std::string& path, const std::string& comment);
    capture::Writer& writer() { return *writer_; }
    /// No process reads any more. Checked while no frames come, because no write would show it.
    bool closed() const;

private:
    Fifo(std::unique_ptr<capture::Writer> writer, base::Descriptor watched)
        : writer_(std::move(writer)), watched_(std::move(watched)) {}

    std::unique_ptr<capture::Writer> writer_;
    base::Descriptor watched_;
};

/// SIGINT, SIGTERM or SIGHUP came: Wireshark stops captures by a signal.
bool is_end_requested();
void handle_signals();

/// Opens the named pipe at `path` and closes it, if it was not opened yet: otherwise a reader would wait for ever for
/// the first frame of a capture that cannot be made. Waits a short time for such a reader.
void let_go(const std::string& path);

}  // namespace plugins::extcap
