#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/descriptor.h"
#include "base/open_file.h"
#include "history/history.h"

/// The files of the history: `00000001.rdmahist` and so on, each a header and records, numbers little-endian.
///
///     header   bytes   record   bytes
///     magic        8   magic         8
///     version      2   length        4  of the payload
///     zero         2   raw length    4  of the payload, decompressed
///     created      8   start         8  ns since 1970
///     CRC-32C      4   length        8  ns
///                      last frame    8
///                      codec         2  version, as the payload's own
///                      flags         2  1: CRCs were verified
///                      payload CRC   4
///                      header CRC    4  of all before it
///                      payload          zstd of an encoded snapshot
namespace history::segment {

inline constexpr std::size_t header_size = 24;
inline constexpr std::size_t record_header_size = 52;
inline constexpr std::uint16_t version = 1;
inline constexpr std::uint16_t crc_verified = 1;  ///< in the flags of a record
/// A snapshot of half a million flows; a record that claims a larger one is damaged.
inline constexpr std::uint32_t most_raw_octets = std::uint32_t{256} << 20;

struct Record {
    std::uint64_t offset = 0;  ///< of its header in the file
    std::uint32_t length = 0;
    std::uint32_t raw_length = 0;
    std::int64_t start_ns = 0;
    std::uint64_t length_ns = 0;
    std::uint64_t frames_end = 0;
    std::uint16_t codec = 0;
    std::uint16_t flags = 0;
    std::uint32_t payload_crc = 0;

    std::uint64_t end() const { return offset + record_header_size + length; }
    std::int64_t end_ns() const;  ///< of its time, bounded
};

struct File {
    std::uint64_t number = 0;
    std::string name;  ///< in the history's folder
};
/// Ascending.
base::Result<std::vector<File>> list(const base::Folder& folder);
std::string name_of(std::uint64_t number);

std::vector<std::byte> header(std::int64_t created_ns);
/// The bytes of a record.
base::Result<std::vector<std::byte>> record(const HistoryInterval& interval);

/// Goes through a segment's records by their headers, and skips damaged parts; up to the file's size when it was
/// opened.
class Scanner {
public:
    enum class Kind : std::uint8_t {
        good,
        unreadable,  ///< failure() says why
        unfinished,  ///< ends before its header does
        damaged,     ///< has no valid header; records may follow all the same
        later,       ///< of a later version: unreadable
    };

    /// Another user may have put a different file there, which is not opened. If there is `go_on`, the search for
    /// records asks it repeatedly, and ends early if the answer is false.
    Scanner(const base::Folder& folder, const std::string& name, std::function<bool()> go_on = {});

    Kind kind() const { return kind_; }
    const base::OpenFailure& failure() const { return failure_; }
    std::uint64_t size() const { return size_; }
    unsigned file_version() const { return version_; }

    /// The next record whose header is whole and whose payload is there.
    std::optional<Record> next();
    /// Stretches between records that are not records.
    std::uint64_t damaged() const { return damaged_; }
    /// Bytes after the last record: one that is being written, or was never finished.
    std::uint64_t tail() const { return tail_; }

    /// Compressed; no value if its CRC is wrong.
    std::optional<std::vector<std::byte>> payload(const Record& record) const;

private:
    std::optional<Record> parse(std::uint64_t offset);
    std::optional<std::uint64_t> find_magic(std::uint64_t from);
    /// The first place from `from` on that is not in a hole of a sparse file; no value if only a hole is left.
    std::optional<std::uint64_t> skip_hole(std::uint64_t from) const;
    /// Valid until the next call; short at the end of the file.
    base::Bytes view(std::uint64_t offset, std::size_t length);
    bool read_at(std::uint64_t offset, base::MutableBytes into) const;

    base::Descriptor file_;
    base::OpenFailure failure_;
    std::function<bool()> go_on_;
    Kind kind_ = Kind::unreadable;
    unsigned version_ = 0;
    std::uint64_t size_ = 0;
    std::uint64_t at_ = 0;
    std::uint64_t damaged_ = 0;
    std::uint64_t tail_ = 0;
    std::vector<std::byte> window_;
    std::uint64_t window_at_ = 0;
};

/// The snapshot in a payload.
base::Result<metrics::Snapshot> unpack(base::Bytes payload, const Record& record);

}  // namespace history::segment
