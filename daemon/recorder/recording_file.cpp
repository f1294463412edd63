#include "daemon/recorder/recording_file.h"

#include <cerrno>
#include <cstdio>
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

base::Result<std::unique_ptr<RecordingFile>> RecordingFile::create(const std::string& directory,
                                                                   const std::string& name,
                                                                   const std::string& comment) {
    const std::string path = directory + '/' + unfinished_name(name);
    base::Descriptor lock(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    if (!lock) return recording_folder_failure(directory, errno);
    ::flock(lock.number(), LOCK_EX | LOCK_NB);
    std::unique_ptr<RecordingFile> file(new RecordingFile(directory, name, std::move(lock)));
    auto writer = capture::open_writer(path, {.section = {.comment = comment}, .buffer_octets = write_buffer_octets});
    if (!writer) return base::Failure{writer.error()};
    file->writer_ = std::move(writer).value();
    return file;
}

RecordingFile::RecordingFile(std::string directory, std::string name, base::Descriptor lock)
    : directory_(std::move(directory)), name_(std::move(name)), lock_(std::move(lock)) {}

RecordingFile::~RecordingFile() {
    if (!completed_) ::unlink(hidden_path().c_str());
}

std::string RecordingFile::hidden_path() const { return directory_ + '/' + unfinished_name(name_); }

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
    return base::failure(message.substr(0, message.find(';')), directory_);
}

base::Result<void> RecordingFile::complete() {
    if (!writer_->close()) return writer_failure();
    // EINVAL: the file system has nothing to synchronise.
    if (::fsync(lock_.number()) != 0 && errno != EINVAL)
        return base::failure(fmt::format("writing to the disk failed: {}", std::strerror(errno)), directory_);
    if (std::rename(hidden_path().c_str(), path().c_str()) != 0)
        return base::failure(fmt::format("the file cannot be given its name: {}", std::strerror(errno)), path());
    completed_ = true;
    // For the name to survive a power cut; the octets are safe already.
    if (const base::Descriptor folder(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); folder)
        static_cast<void>(::fsync(folder.number()));
    return {};
}

}  // namespace service::recorder
