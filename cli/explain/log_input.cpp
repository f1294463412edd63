#include "cli/explain/log_input.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "capture/files/file_source.h"
#include "explain/line_splitter.h"

namespace cli::explain {

namespace {

/// The time between two looks at a file that has not grown.
constexpr std::chrono::milliseconds file_interval{200};

class LogInput {
public:
    explicit LogInput(std::string path) : path_(std::move(path)) {}

    base::Result<void> open() {
        base::Descriptor opened(path_ == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                             : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
        if (!opened) return failure();
        struct stat status {};
        if (::fstat(opened.number(), &status) != 0) return failure();
        if (S_ISDIR(status.st_mode)) return base::failure("is a folder, and a log is expected", path_);
        if (path_ != "-" && S_ISREG(status.st_mode) && capture::begins_as_capture(path_))
            return base::failure("is a capture, and a log is expected; read it with -r FILE", path_);
        descriptor_ = std::move(opened);
        is_file_ = S_ISREG(status.st_mode);
        inode_ = status.st_ino;
        read_bytes_ = 0;
        return {};
    }

    /// Reads one piece; false at the end.
    base::Result<bool> read(const LineSink& on_line) {
        for (;;) {
            const ssize_t count = ::read(descriptor_.number(), piece_.data(), piece_.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) return base::Failure{failure().error};
            read_bytes_ += count;
            lines_.feed({piece_.data(), static_cast<std::size_t>(count)}, on_line);
            return count > 0;
        }
    }

    /// The last line, if it has no end.
    void finish(const LineSink& on_line) {
        if (!lines_.empty()) lines_.finish(on_line);
    }

    bool is_file() const { return is_file_; }

    /// Whether the file may grow further; false if the log was replaced or cut.
    bool continues() const {
        struct stat status {};
        if (path_ == "-" || ::stat(path_.c_str(), &status) != 0) return true;
        return status.st_ino == inode_ && status.st_size >= read_bytes_;
    }

private:
    base::Failure<base::Error> failure() const {
        return base::failure(std::strerror(errno), path_ == "-" ? "standard input" : path_);
    }

    std::string path_;
    base::Descriptor descriptor_ = {};
    bool is_file_ = false;
    ino_t inode_ = 0;
    off_t read_bytes_ = 0;
    ::explain::LineSplitter lines_ = {};
    std::array<char, std::size_t{64} << 10> piece_{};
};

}  // namespace

base::Result<void> read_log(const std::string& path, const LineSink& on_line) {
    LogInput input(path);
    if (auto opened = input.open(); !opened) return opened;
    for (;;) {
        const auto more = input.read(on_line);
        if (!more) return base::Failure{more.error()};
        if (!*more) break;
    }
    input.finish(on_line);
    return {};
}

base::Result<void> follow_log(const std::string& path, const LineSink& on_line, const PauseSink& on_pause) {
    LogInput input(path);
    if (auto opened = input.open(); !opened) return opened;
    for (;;) {
        const auto more = input.read(on_line);
        if (!more) return base::Failure{more.error()};
        if (!*more && !input.is_file()) input.finish(on_line);
        // A pipe gives what its writer wrote at once; a file gives all that it has.
        if ((!*more || !input.is_file()) && !on_pause()) return {};
        if (*more) continue;
        if (!input.is_file()) return {};
        std::this_thread::sleep_for(file_interval);
        if (input.continues()) continue;
        // What was written to the old file since the last look, before it was replaced.
        for (bool rest = true; rest;) {
            const auto read = input.read(on_line);
            if (!read) return base::Failure{read.error()};
            rest = *read;
        }
        input.finish(on_line);
        // If opening fails, the next round tries again.
        static_cast<void>(input.open());
    }
}

}  // namespace cli::explain
