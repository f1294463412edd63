#pragma once
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "capture/files/writer.h"
#include "capture/source.h"
#include "wire/frame.h"

namespace cli::report {

/// Frames of a source that can be read once, kept in a file without a name, so that they can be read again.
class FrameCopy {
public:
    /// Fails if no temporary file can be made.
    static base::Result<std::unique_ptr<FrameCopy>> open();

    void add(std::span<const wire::Frame> frames, const capture::Source& source);
    /// The path under which this process reads the frames; an error if a write failed.
    base::Result<std::string> finish();

private:
    FrameCopy(base::Descriptor file, std::unique_ptr<capture::Writer> writer)
        : file_(std::move(file)), writer_(std::move(writer)) {}

    base::Descriptor file_;
    std::unique_ptr<capture::Writer> writer_;
    bool failed_ = false;
};

}  // namespace cli::report
