#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/error.h"
#include "fleet/sink/spool_batch.h"

namespace fleet::sink {

/// Writes rows as JSON lines to a file, which it makes and appends to, or to a named pipe that another program reads.
/// For one thread.
class JsonLines {
public:
    explicit JsonLines(std::string path) : path_(std::move(path)) {}

    /// Asked while a pipe is full: true ends the write with a failure.
    void abort_when(std::function<bool()> ends) { ends_ = std::move(ends); }

    /// Returns when the file or the pipe has all rows. After a failure, the rows of a file are taken back; the reader
    /// of a pipe may get them twice.
    base::Result<void> write(const Batch& batch);

private:
    base::Result<void> open();
    base::Result<void> write_text(std::string_view text);
    base::Failure<base::Error> fail(std::string_view doing);

    std::string path_;
    std::function<bool()> ends_ = {};
    base::Descriptor file_ = {};
    bool is_pipe_ = false;
};

}  // namespace fleet::sink
