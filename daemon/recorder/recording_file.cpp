#include "daemon/recorder/recording_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include "daemon/recorder/recording_folder.h"
#include "daemon/recorder/recording_names.h"

namespace service::inline recorder {
namespace {

/// Pieces of the past go to the kernel in writes of this size.
constexpr std::size_t write_buffer_octets = std::size_t{256} << 10;

}  // namespace

base::Result<std::unique_ptr<RecordingFile>> RecordingFile::create(base::Folder folder, const std::string& name,
                                                                   const std::string& comment) {
    const std::string hidden = unfinished_name(name);
    auto opened = folder.open_file(hidden, O_WRONLY | O_CREAT | O_EXCL, 0640);
    if (!opened) return recording_folder_failure(folder.path(), opened.error().code);
    base::Descriptor lock = std::move(opened).value();
    ::flock(lock.number(), LOCK_EX | LOCK_NB);
    base::Descriptor written(::fcntl(lock.number(), F_DUPFD_CLOEXEC, 0));
    if (!written) return recording_folder_failure(folder.path(), errno);
    const std::string path = folder.path_of(hidden);
    std::unique_ptr<RecordingFile> file(new RecordingFile(std::move(folder), name, std::move(lock)));
    auto writer = capture::open_writer(std::move(written), path,
                                       {.section = {.comment = comment}, .buffer_octets = write_buffer_octets});
    if (!writer) return base::Failure{writer.error()};
    file->writer_ = std::move(writer).value();
    return file;
}

RecordingFile::RecordingFile(base::Folder folder, std::string name, base::Descriptor lock)
    : folder_(std::move(folder)), name_(std::move(name)), lock_(std::move(lock)) {}

RecordingFile::~RecordingFile() {
    if (!completed_) folder_.remove(unfinished_name(name_));
}

base::Result<void> RecordingFile::describe(const capture::InterfaceInfo& interface) {
    if (!writer_->describe(interface)) return writer_failure();
    return {};
}

base::Result<void> RecordingFile::write(const wire::Frame& frame, const capture::InterfaceInfo& interface) {
    if (writer_->write(frame, interface) != capture::WriteStatus::ok) return writer_failure();
    return {};
}

base::Failure<base::Error> RecordingFile::writer_failure() const {
    // What the writer advises after the semicolon is for captures that keep what they have.
    const std::string& message = writer_->error().message;
    return base::failure(message.substr(0, message.find(';')), folder_.path());
}

base::Result<void> RecordingFile::complete() {
    if (!writer_->close()) return writer_failure();
    // EINVAL: the file system has nothing to synchronise.
    if (::fsync(lock_.number()) != 0 && errno != EINVAL)
        return base::failure(fmt::format("writing to the disk failed: {}", std::strerror(errno)), folder_.path());
    if (!folder_.rename(unfinished_name(name_), name_))
        return base::failure(fmt::format("the file cannot be given its name: {}", std::strerror(errno)), path());
    completed_ = true;
    // Makes the name survive a power cut; the bytes are safe already.
    static_cast<void>(folder_.synchronise());
    return {};
}

}  // namespace service::recorder
