#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "capture/files/output.h"
#include "capture/files/writer.h"

namespace capture::inline files {

/// Captures over several files, with the meaning that tcpdump gives to its letters.
///
/// | options      | names                                   | a new file                   | ends            |
/// | ------------ | --------------------------------------- | ---------------------------- | --------------- |
/// | `-C`         | `file`, `file1`, `file2`…               | when above the size          | never           |
/// | `-C -W n`    | `file0`…, zero-padded to n-1's digits   | when above the size          | n overwrites 0  |
/// | `-G`         | strftime(`file`)                        | after the seconds            | never           |
/// | `-G -W n`    | strftime(`file`)                        | after the seconds            | after n files   |
/// | `-C -G`      | strftime(`file`), then with 1, 2…       | either; `-G` restarts at 0   | never           |
/// | `-C -G -W n` | strftime(`file`) with 0…n-1             | either; `-G` restarts at 0   | n overwrites 0  |
///
/// With `-C -W 1` the one file keeps its plain name and is overwritten.
/// Both limits are looked at before a frame is kept, so a file exceeds its size by up to one frame, and a quiet
/// interface makes no files; end_if_over() ends the last one. `-G` goes first. Times are local; a name that comes again
/// overwrites. `-W` alone means nothing.
struct RingOptions {
    std::uint64_t max_octets = 0;      ///< `-C`; 0 is no limit
    std::uint32_t files = 0;           ///< `-W`; 0 is no limit
    std::uint32_t seconds = 0;         ///< `-G`; 0 is no limit
    std::string command = {};          ///< `-z`: run as `command file` on every file that was rotated out, without a
                                       ///< shell, at the lowest priority, while the capture goes on
    std::vector<FileId> sources = {};  ///< what is being read: no name of the ring may lead there
    std::function<std::int64_t()> now_sec = {};  ///< seconds since 1970; the system's clock where empty
};

/// The argument of `-C`: millions of bytes, or with k, m, g (either case) KiB, MiB, GiB.
base::Result<std::uint64_t> parse_file_size(std::string_view text);

class RingWriter final : public Writer {
public:
    static base::Result<std::unique_ptr<RingWriter>> open(std::string path, RingOptions ring, WriterOptions options);
    /// Does not wait for commands still running.
    ~RingWriter() override;

    base::Result<void> describe(const InterfaceInfo& interface) override;
    base::Result<void> begin_section(const SectionInfo& section) override;
    WriteStatus write(const wire::Frame& frame, const InterfaceInfo& interface) override;
    void count(const InterfaceInfo& interface, const Statistics& statistics) override;
    base::Result<void> flush() override { return writer_ == nullptr ? base::Result<void>{} : writer_->flush(); }
    base::Result<void> close() override;
    std::uint64_t octets() const override { return writer_ ? writer_->octets() : 0; }
    const base::Error& error() const override { return writer_ ? writer_->error() : error_; }

    /// With `-G -W` alone, while no frame comes: ends the last file when its time is over. Whether no frame will be
    /// kept any more.
    bool end_if_over();
    /// Waits for every command started. Returns the number of all so far that could not be run or failed.
    std::size_t wait_for_commands();
    /// The file being written.
    const std::string& path() const { return current_; }

private:
    RingWriter(std::string path, RingOptions ring, WriterOptions options);

    std::string name() const;
    base::Result<void> open_next();
    base::Result<void> close_rotated();
    base::Failure<base::Error> fail(base::Error error);
    WriteStatus rotate();
    void run_command(const std::string& path);
    void reap(bool wait);

    std::string pattern_;
    RingOptions ring_;
    WriterOptions options_;
    std::unique_ptr<Writer> writer_ = {};  ///< null after the end or a failed opening
    std::string current_ = {};
    base::Error error_ = {};
    std::int64_t slice_sec_ = 0;  ///< when the current `-G` slice began
    std::uint32_t slices_ = 0;    ///< `-G` rotations
    std::uint32_t in_slice_ = 0;  ///< `-C` rotations
    bool finished_ = false;
    std::vector<InterfaceInfo> described_ = {};
    std::vector<int> running_ = {};  ///< process ids
    std::size_t failed_commands_ = 0;
};

}  // namespace capture::files
