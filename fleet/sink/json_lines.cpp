#include "fleet/sink/json_lines.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/rows/row_json.h"
#include "fleet/rows/row_tables.h"

namespace fleet::sink {
namespace {

constexpr mode_t lines_mode = 0640;
constexpr int look_for_end_ms = 100;

/// What a spool of another version of this program may hold is left out.
base::Result<std::string> lines_of(const Section& section) {
    const auto table =
        std::ranges::find_if(rows::all_tables(), [&](const rows::Table* each) { return each->name == section.table; });
    if (table == rows::all_tables().end()) return std::string();
    const auto columns = rows::columns_named(**table, section.columns);
    if (!columns) return std::string();
    const auto plain = section.plain();
    if (!plain) return base::Failure{plain.error()};
    std::string out;
    if (const auto appended = rows::append_json_lines(out, section.table, *columns, *plain); !appended)
        return base::Failure{appended.error()};
    return out;
}

}  // namespace

base::Failure<base::Error> JsonLines::fail(std::string_view doing) {
    const int code = errno;
    file_ = {};
    return base::failure(
        code == ENXIO ? "no program reads the pipe" : fmt::format("cannot {} ({})", doing, std::strerror(code)), path_);
}

/// A line that a former process began is ended, so that it spoils no other.
base::Result<void> JsonLines::open() {
    file_ = base::Descriptor(
        ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, lines_mode));
    if (!file_) return fail("be written");
    struct stat facts {};
    if (::fstat(file_.number(), &facts) != 0) return fail("be examined");
    is_pipe_ = S_ISFIFO(facts.st_mode);
    if (!is_pipe_ && !S_ISREG(facts.st_mode)) {
        file_ = {};
        return base::failure("is neither a file nor a named pipe", path_);
    }
    if (is_pipe_) return write_text("\n");
    char last = '\n';
    if (facts.st_size > 0) {
        const base::Descriptor reader(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
        if (!reader || ::pread(reader.number(), &last, 1, facts.st_size - 1) != 1) return fail("be read");
    }
    return last == '\n' ? base::Result<void>() : write_text("\n");
}

base::Result<void> JsonLines::write_text(std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(file_.number(), text.data(), text.size());
        if (count >= 0) {
            text.remove_prefix(static_cast<std::size_t>(count));
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return fail("be written");
        if (ends_ && ends_()) return fail("be written in time");
        pollfd waiting{file_.number(), POLLOUT, 0};
        ::poll(&waiting, 1, look_for_end_ms);
    }
    return {};
}

base::Result<void> JsonLines::write(const Batch& batch) {
    std::string text;
    for (const Section& section : batch.sections) {
        const auto lines = lines_of(section);
        if (!lines) return base::Failure{lines.error()};
        text += *lines;
    }
    // Another program may have moved the file away, as logrotate does.
    struct stat now {};
    struct stat held {};
    if (file_ && (::stat(path_.c_str(), &now) != 0 || ::fstat(file_.number(), &held) != 0 ||
                  now.st_ino != held.st_ino || now.st_dev != held.st_dev))
        file_ = {};
    if (!file_)
        if (auto opened = open(); !opened) return opened;
    if (is_pipe_) return write_text(text);
    struct stat before {};
    if (::fstat(file_.number(), &before) != 0) return fail("be examined");
    const int descriptor = ::fcntl(file_.number(), F_DUPFD_CLOEXEC, 0);
    const base::Descriptor again(descriptor);
    auto written = write_text(text);
    if (written && ::fsync(file_.number()) != 0) written = fail("be written to the disk");
    if (!written && again && ::ftruncate(again.number(), before.st_size) != 0)
        return base::failure("cannot be cut back after a failure: rows may be there twice", path_);
    return written;
}

}  // namespace fleet::sink
