#include "capture/files/ring_writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <fmt/core.h>
#include <limits>
#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/quantities.h"

namespace capture::inline files {
namespace {

constexpr int command_not_run = 127;

/// In the child before the command: the command may run with fewer rights than the capture has, and gets the three
/// standard streams only. Libraries open descriptors that are not marked close-on-exec.
void close_other_descriptors() {
    constexpr unsigned first = STDERR_FILENO + 1;
    if (::syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
    // A kernel before 5.11. The limit is where the numbers of descriptors end, unless it was lowered since.
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    for (rlim_t number = first; number < std::min<rlim_t>(limit.rlim_cur, 1U << 20); ++number)
        ::close(static_cast<int>(number));
}

/// Digits of the largest number in the ring; none for a ring of one.
int digits_of(std::uint32_t files) {
    int digits = 0;
    for (std::uint32_t last = files == 0 ? 0 : files - 1; last > 0; last /= 10) ++digits;
    return digits;
}

}  // namespace

base::Result<std::uint64_t> parse_file_size(std::string_view text) {
    const auto wrong = [&](std::string_view why) {
        return base::Failure{base::Error{.message = fmt::format("`{}` is no file size: {}", text, why)}};
    };
    constexpr base::SizeForm form{.least = 1,
                                  .most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
                                  .letters_only = true,
                                  .bare_factor = 1'000'000};
    const base::Parsed<std::uint64_t> size = base::parse_size(text, form);
    if (size) return *size;
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || text.find_first_not_of('0') == std::string_view::npos) return wrong("give " + size.error());
    const std::string_view unit = text.substr(digits);
    constexpr std::string_view units = "kKmMgG";
    if (unit.size() > 1 || (unit.size() == 1 && units.find(unit) == std::string_view::npos))
        return wrong("the units are k, m and g");
    return wrong("too large");
}

RingWriter::RingWriter(std::string path, RingOptions ring, WriterOptions options)
    : pattern_(std::move(path)), ring_(std::move(ring)), options_(std::move(options)) {
    if (!ring_.now_sec) ring_.now_sec = [] { return std::int64_t{std::time(nullptr)}; };
    slice_sec_ = ring_.now_sec();
}

base::Result<std::unique_ptr<RingWriter>> RingWriter::open(std::string path, RingOptions ring, WriterOptions options) {
    if (path == "-")
        return base::Failure{base::Error{.message = "standard output cannot be split into files; name a file"}};
    if (path.empty()) return base::Failure{base::Error{.message = "an empty string is no file name"}};
    std::unique_ptr<RingWriter> writer(new RingWriter(std::move(path), std::move(ring), std::move(options)));
    if (const auto opened = writer->open_next(); !opened) return base::Failure{opened.error()};
    return writer;
}

RingWriter::~RingWriter() { reap(false); }

std::string RingWriter::name() const {
    std::string name = pattern_;
    if (ring_.seconds > 0) {
        const std::time_t when = slice_sec_;
        std::tm local = {};
        std::array<char, PATH_MAX> expanded{};
        if (::localtime_r(&when, &local) == nullptr ||
            std::strftime(expanded.data(), expanded.size(), pattern_.c_str(), &local) == 0)
            return {};
        name = expanded.data();
    }
    const int digits = digits_of(ring_.files);
    if (ring_.max_octets == 0 || (in_slice_ == 0 && digits == 0)) return name;
    return fmt::format("{}{:0{}}", name, in_slice_, digits);
}

base::Failure<base::Error> RingWriter::fail(base::Error error) {
    writer_ = nullptr;
    error_ = std::move(error);
    return base::Failure{error_};
}

base::Result<void> RingWriter::open_next() {
    current_ = name();
    if (current_.empty())
        return fail({.message = "the name with its date is longer than a path may be", .path = pattern_});
    // A name with a date, or a number, may become that of the source at any time.
    if (!ring_.sources.empty())
        if (const auto there = file_id(current_);
            there && std::find(ring_.sources.begin(), ring_.sources.end(), *there) != ring_.sources.end())
            return fail({.message = std::string(is_being_read), .path = current_});
    auto opened = open_writer(current_, options_);
    if (!opened) return fail(opened.error());
    writer_ = std::move(opened).value();
    for (const InterfaceInfo& interface : described_)
        if (auto described = writer_->describe(interface); !described) return described;
    return {};
}

base::Result<void> RingWriter::describe(const InterfaceInfo& interface) {
    described_.push_back(interface);
    if (writer_ == nullptr) return base::Failure{error_};
    return writer_->describe(interface);
}

base::Result<void> RingWriter::begin_section(const SectionInfo& section) {
    options_.section = section;
    described_.clear();
    if (writer_ == nullptr) return base::Failure{error_};
    return writer_->begin_section(section);
}

void RingWriter::count(const InterfaceInfo& interface, const Statistics& statistics) {
    if (writer_) writer_->count(interface, statistics);
}

base::Result<void> RingWriter::close_rotated() {
    if (auto closed = writer_->close(); !closed) return closed;
    if (!ring_.command.empty()) run_command(current_);
    return {};
}

WriteStatus RingWriter::rotate() {
    if (ring_.seconds > 0) {
        const std::int64_t now = ring_.now_sec();
        if (now - slice_sec_ >= ring_.seconds) {
            slice_sec_ = now;
            ++slices_;
            if (!close_rotated()) return WriteStatus::error;
            if (ring_.max_octets == 0 && ring_.files > 0 && slices_ >= ring_.files) {
                finished_ = true;
                return WriteStatus::finished;
            }
            in_slice_ = 0;
            if (!open_next()) return WriteStatus::error;
        }
    }
    if (ring_.max_octets > 0 && writer_->octets() > ring_.max_octets) {
        if (!close_rotated()) return WriteStatus::error;
        ++in_slice_;
        if (ring_.files > 0 && in_slice_ >= ring_.files) in_slice_ = 0;
        if (!open_next()) return WriteStatus::error;
    }
    return WriteStatus::ok;
}

bool RingWriter::end_if_over() {
    if (finished_ || writer_ == nullptr) return true;
    const bool is_last = ring_.max_octets == 0 && ring_.files > 0 && slices_ + 1 >= ring_.files;
    if (ring_.seconds == 0 || !is_last || ring_.now_sec() - slice_sec_ < ring_.seconds) return false;
    return rotate() != WriteStatus::ok;
}

WriteStatus RingWriter::write(const wire::Frame& frame, const InterfaceInfo& interface) {
    if (finished_) return WriteStatus::finished;
    if (writer_ == nullptr) return WriteStatus::error;
    const WriteStatus status = rotate();
    return status == WriteStatus::ok ? writer_->write(frame, interface) : status;
}

base::Result<void> RingWriter::close() {
    auto closed = writer_ == nullptr ? base::Result<void>(base::Failure{error_}) : writer_->close();
    reap(false);
    return closed;
}

void RingWriter::run_command(const std::string& path) {
    reap(false);
    std::string command = ring_.command;
    std::string file = path;
    const std::array<char*, 3> arguments{command.data(), file.data(), nullptr};
    const pid_t child = ::fork();
    if (child == 0) {
        close_other_descriptors();
        ::setpriority(PRIO_PROCESS, 0, PRIO_MAX);
        ::execvp(arguments[0], arguments.data());
        ::_exit(command_not_run);
    }
    if (child > 0)
        running_.push_back(child);
    else
        ++failed_commands_;
}

void RingWriter::reap(bool wait) {
    std::erase_if(running_, [&](int child) {
        int status = 0;
        pid_t reaped = 0;
        do reaped = ::waitpid(child, &status, wait ? 0 : WNOHANG);
        while (reaped < 0 && errno == EINTR);
        if (reaped == child && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) ++failed_commands_;
        return reaped != 0;
    });
}

std::size_t RingWriter::wait_for_commands() {
    reap(true);
    return failed_commands_;
}

}  // namespace capture::files
