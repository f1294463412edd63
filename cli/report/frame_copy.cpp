#include "cli/report/frame_copy.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <unistd.h>

namespace cli::report {

base::Result<std::unique_ptr<FrameCopy>> FrameCopy::open() {
    std::error_code code;
    const std::filesystem::path folder = std::filesystem::temp_directory_path(code);
    const std::string path = code ? "/tmp" : folder.string();
    // O_TMPFILE: the file has no name that others could open, and is gone when it is closed.
    base::Descriptor file(::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    base::Descriptor second(file ? ::fcntl(file.number(), F_DUPFD_CLOEXEC, 0) : -1);
    if (!file || !second)
        return base::failure(
            fmt::format("{}; set TMPDIR to a folder on a file system with room for the capture", std::strerror(errno)),
            path);
    auto writer = capture::open_writer(std::move(second), "the copy of the capture", {});
    if (!writer) return base::Failure{writer.error()};
    return std::unique_ptr<FrameCopy>(new FrameCopy(std::move(file), std::move(writer).value()));
}

void FrameCopy::add(std::span<const wire::Frame> frames, const capture::Source& source) {
    for (const wire::Frame& frame : frames) {
        if (failed_) return;
        failed_ = writer_->write(frame, source.interfaces()[frame.interface]) != capture::WriteStatus::ok;
    }
}

base::Result<std::string> FrameCopy::finish() {
    if (failed_) return base::Failure{writer_->error()};
    if (auto closed = writer_->close(); !closed) return base::Failure{closed.error()};
    return fmt::format("/proc/self/fd/{}", file_.number());
}

}  // namespace cli::report
