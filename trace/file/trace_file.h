#pragma once
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "trace/process.h"
#include "trace/record.h"

/// A trace in a file: `run --trace FILE` writes it, and commands with `--trace FILE` read it. docs/trace.md describes
/// the format.
namespace trace::inline file {

class TraceFileWriter {
public:
    /// Makes the file, or empties it.
    static base::Result<TraceFileWriter> open(const std::string& path);

    /// Writes records, and before them what is new in `processes`. After a failure, every later call returns the same
    /// failure.
    base::Result<void> write(std::span<const Record> records, const std::deque<Process>& processes);
    /// Writes the mark of the file's end; without this mark, the file was cut short. `lost`: the number of records that
    /// are not in it.
    base::Result<void> close(std::uint64_t lost);

    std::uint64_t records() const { return records_; }
    std::uint64_t octets() const { return octets_; }

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    TraceFileWriter(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
    base::Result<void> put(const void* octets, std::size_t size);
    base::Result<void> put_block(std::uint32_t kind, std::span<const std::byte> octets);
    base::Result<void> describe(const Process& process);
    base::Failure<base::Error> fail();

    std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
    std::vector<Process> described_ = {};
    std::uint64_t records_ = 0;
    std::uint64_t octets_ = 0;
    std::optional<base::Error> error_ = {};  ///< of the first call that failed
};

/// Reads a trace from an untrusted source: every field is checked, and memory does not depend on its content.
class TraceFileReader {
public:
    static base::Result<TraceFileReader> open(const std::string& path);
    /// Takes ownership of the stream. `path` is for messages.
    static base::Result<TraceFileReader> read(std::FILE* stream, std::string path);

    /// The records of the next block, valid until the next call; empty at the end. An error says where the file is
    /// damaged; records before that place are valid, and nothing after it is read.
    base::Result<std::span<const Record>> next();

    /// The processes so far, each before its first record, with the devices known by then; if there are thousands, the
    /// latest.
    const std::deque<Process>& processes() const { return processes_; }
    /// The number of processes, including forgotten ones.
    std::uint64_t processes_met() const { return forgotten_ + processes_.size(); }
    /// Whether the file's end was read. Otherwise the writer was interrupted.
    bool is_complete() const { return complete_; }
    /// Records that were lost when it was made, according to its end.
    std::uint64_t lost() const { return lost_; }
    std::uint64_t records() const { return records_; }

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    enum class Got : std::uint8_t { all, nothing, part };
    TraceFileReader(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
    Got get(void* to, std::size_t size);
    base::Failure<base::Error> fail(std::string why);
    base::Result<void> read_process(std::span<const std::byte> octets);
    base::Result<void> read_records(std::span<const std::byte> octets);
    base::Result<void> read_end(std::span<const std::byte> octets);

    std::string path_;
    std::unique_ptr<std::FILE, Close> file_;
    std::vector<std::byte> block_ = {};
    std::vector<Record> batch_ = {};
    std::deque<Process> processes_ = {};
    std::uint64_t forgotten_ = 0;  ///< before the first of `processes_`
    std::uint64_t offset_ = 0;
    std::uint64_t block_at_ = 0;
    std::uint64_t records_ = 0;
    std::uint64_t lost_ = 0;
    bool complete_ = false;
    bool failed_ = false;
};

}  // namespace trace::file
