#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/open_file.h"
#include "capture/files/writer.h"
#include "capture/source.h"
#include "wire/frame.h"

namespace service::inline recorder {

/// One recording while it is being written, under its hidden name. Removes itself unless it was completed.
class RecordingFile {
public:
    static base::Result<std::unique_ptr<RecordingFile>> create(base::Folder folder, const std::string& name,
                                                               const std::string& comment);
    ~RecordingFile();
    RecordingFile(const RecordingFile&) = delete;
    RecordingFile& operator=(const RecordingFile&) = delete;

    base::Result<void> describe(const capture::InterfaceInfo& interface);
    base::Result<void> write(const wire::Frame& frame, const capture::InterfaceInfo& interface);
    /// Bytes so far, those still in the buffer included.
    std::uint64_t octets() const { return writer_->octets(); }

    /// Waits until everything is on the disk, and gives the file its name.
    base::Result<void> complete();

    std::string path() const { return folder_.path_of(name_); }
    const base::Folder& folder() const { return folder_; }
    const std::string& name() const { return name_; }

private:
    RecordingFile(base::Folder folder, std::string name, base::Descriptor lock);
    base::Failure<base::Error> writer_failure() const;

    base::Folder folder_;
    std::string name_;
    base::Descriptor lock_;  ///< held while it is written: remove_unfinished() checks it
    std::unique_ptr<capture::Writer> writer_ = {};
    bool completed_ = false;
};

}  // namespace service::recorder
