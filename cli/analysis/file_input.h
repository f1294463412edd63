#pragma once
#include <memory>
#include <string>
#include <vector>

#include "capture/files/file_source.h"
#include "cli/analysis/merged_files.h"

namespace cli::analysis {

/// The files of all `-r` as one source.
class FileInput {
public:
    static base::Result<std::unique_ptr<FileInput>> open(const std::vector<std::string>& paths,
                                                         const capture::FileOptions& options);

    capture::Source& source() const { return merged_ ? static_cast<capture::Source&>(*merged_) : *file_; }
    capture::FileSource::Progress progress() const { return merged_ ? merged_->progress() : file_->progress(); }

private:
    std::unique_ptr<capture::FileSource> file_ = {};
    std::unique_ptr<MergedFiles> merged_ = {};
};

}  // namespace cli::analysis
