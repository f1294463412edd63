#include "history/segment.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <limits>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "metrics/figures/snapshot_codec.h"
#include "wire/crc32c.h"

namespace history::segment {

namespace {

constexpr std::string_view segment_suffix = ".rdmahist";
constexpr std::array<char, 8> file_magic{'R', 'D', 'M', 'A', 'H', 'I', 'S', 'T'};
constexpr std::array<char, 8> record_magic{'\x9f', 'i', 'n', 't', 'e', 'r', 'v', '\x0a'};
constexpr std::size_t window_size = std::size_t{128} << 10;
constexpr int compression_level = 3;

class Filler {
public:
    explicit Filler(std::vector<std::byte>& out) : out_(out) {}
    void magic(const std::array<char, 8>& text) {
        for (const char octet : text) out_.push_back(static_cast<std::byte>(octet));
    }
    template <class T>
    void number(T value) {
        const auto bits = static_cast<std::uint64_t>(value);
        for (std::size_t i = 0; i < sizeof(T); ++i) out_.push_back(static_cast<std::byte>(bits >> 8 * i & 0xff));
    }
    void crc() { number(wire::crc32c(out_)); }

private:
    std::vector<std::byte>& out_;
};

/// Reads bytes; their number is known to suffice.
class ByteTaker {
public:
    explicit ByteTaker(base::Bytes octets) : octets_(octets) {}
    bool magic(const std::array<char, 8>& text) {
        at_ += text.size();
        return std::memcmp(octets_.data(), text.data(), text.size()) == 0;
    }
    template <class T>
    T number() {
        std::uint64_t bits = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i) bits |= std::to_integer<std::uint64_t>(octets_[at_ + i]) << 8 * i;
        at_ += sizeof(T);
        return static_cast<T>(bits);
    }
    bool crc_holds() {
        const std::uint32_t expected = wire::crc32c(octets_.first(at_));
        return number<std::uint32_t>() == expected;
    }

private:
    base::Bytes octets_;
    std::size_t at_ = 0;
};

}  // namespace

std::int64_t Record::end_ns() const {
    const auto room =
        static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - static_cast<std::uint64_t>(start_ns);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(start_ns) + std::min(length_ns, room));
}

base::Result<std::vector<File>> list(const base::Folder& folder) {
    const auto wrong = [&] {
        return base::failure("cannot be read: " + std::string(std::strerror(errno)), folder.path());
    };
    base::Descriptor own(::openat(folder.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own) return wrong();
    const std::unique_ptr<DIR, int (*)(DIR*)> open(fdopendir(own.number()), closedir);
    if (!open) return wrong();
    own.release();
    std::vector<File> files;
    while (const dirent* entry = readdir(open.get())) {
        const std::string_view name(entry->d_name);
        if (!name.ends_with(segment_suffix)) continue;
        const std::string_view digits = name.substr(0, name.size() - segment_suffix.size());
        std::uint64_t number = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (digits.size() < 8 || error != std::errc{} || end != digits.data() + digits.size()) continue;
        files.push_back({number, std::string(name)});
    }
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.number < b.number; });
    return files;
}

std::string name_of(std::uint64_t number) { return fmt::format("{:08}{}", number, segment_suffix); }

std::vector<std::byte> header(std::int64_t created_ns) {
    std::vector<std::byte> octets;
    Filler fill(octets);
    fill.magic(file_magic);
    fill.number(version);
    fill.number(std::uint16_t{0});
    fill.number(created_ns);
    fill.crc();
    return octets;
}

base::Result<std::vector<std::byte>> record(const HistoryInterval& interval) {
    std::vector<std::byte> raw;
    metrics::encode(interval.difference, raw);
    if (raw.size() > most_raw_octets)
        return base::Failure{base::Error{fmt::format("an interval of {} flows takes {} bytes, and {} is the most",
                                                     interval.difference.flows.size(), raw.size(), most_raw_octets)}};
    std::vector<std::byte> payload(ZSTD_compressBound(raw.size()));
    const std::size_t packed = ZSTD_compress(payload.data(), payload.size(), raw.data(), raw.size(), compression_level);
    if (ZSTD_isError(packed) != 0) return base::Failure{base::Error{std::string("zstd: ") + ZSTD_getErrorName(packed)}};
    payload.resize(packed);

    std::vector<std::byte> octets;
    octets.reserve(record_header_size + packed);
    Filler fill(octets);
    fill.magic(record_magic);
    fill.number(static_cast<std::uint32_t>(packed));
    fill.number(static_cast<std::uint32_t>(raw.size()));
    fill.number(interval.start_ns);
    fill.number(interval.length_ns);
    fill.number(interval.frames_end);
    fill.number(metrics::snapshot_version);
    fill.number(static_cast<std::uint16_t>(interval.crc_verified ? crc_verified : 0));
    fill.number(wire::crc32c(payload));
    fill.crc();
    octets.insert(octets.end(), payload.begin(), payload.end());
    return octets;
}

Scanner::Scanner(const base::Folder& folder, const std::string& name, std::function<bool()> go_on)
    : go_on_(std::move(go_on)) {
    auto opened = folder.open_file(name);
    struct stat status = {};
    if (!opened || fstat(opened->number(), &status) != 0) {
        failure_ = opened ? base::OpenFailure{errno, std::strerror(errno)} : opened.error();
        return;
    }
    file_ = std::move(opened).value();
    size_ = static_cast<std::uint64_t>(status.st_size);
    const base::Bytes octets = view(0, header_size);
    if (octets.size() < header_size) {
        kind_ = Kind::unfinished;
        at_ = size_;
        tail_ = size_;
        return;
    }
    ByteTaker take(octets);
    const bool ours = take.magic(file_magic);
    version_ = take.number<std::uint16_t>();
    take.number<std::uint16_t>();
    take.number<std::int64_t>();
    const bool sound = take.crc_holds();
    // A later format has its CRC at the same place: what fails it is damaged, not later.
    kind_ = !ours || !sound ? Kind::damaged : version_ > version ? Kind::later : Kind::good;
    at_ = kind_ == Kind::good ? header_size : 0;
    if (kind_ == Kind::later) at_ = size_;
}

bool Scanner::read_at(std::uint64_t offset, base::MutableBytes into) const {
    std::size_t done = 0;
    while (done < into.size()) {
        const ssize_t got =
            pread(file_.number(), into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        done += static_cast<std::size_t>(got);
    }
    return true;
}

base::Bytes Scanner::view(std::uint64_t offset, std::size_t length) {
    if (offset >= size_) return {};
    length = static_cast<std::size_t>(std::min<std::uint64_t>(length, size_ - offset));
    if (offset < window_at_ || offset + length > window_at_ + window_.size()) {
        window_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(window_size, size_ - offset)));
        window_at_ = offset;
        // The writer may have removed bytes from the end meanwhile.
        if (!read_at(offset, window_)) window_.clear();
        if (window_.empty()) return {};
    }
    return base::Bytes(window_).subspan(static_cast<std::size_t>(offset - window_at_), length);
}

std::optional<Record> Scanner::parse(std::uint64_t offset) {
    const base::Bytes octets = view(offset, record_header_size);
    if (octets.size() < record_header_size) return std::nullopt;
    ByteTaker take(octets);
    if (!take.magic(record_magic)) return std::nullopt;
    Record record;
    record.offset = offset;
    record.length = take.number<std::uint32_t>();
    record.raw_length = take.number<std::uint32_t>();
    record.start_ns = take.number<std::int64_t>();
    record.length_ns = take.number<std::uint64_t>();
    record.frames_end = take.number<std::uint64_t>();
    record.codec = take.number<std::uint16_t>();
    record.flags = take.number<std::uint16_t>();
    record.payload_crc = take.number<std::uint32_t>();
    if (!take.crc_holds() || record.end() > size_) return std::nullopt;
    return record;
}

std::optional<std::uint64_t> Scanner::skip_hole(std::uint64_t from) const {
    const off_t data = ::lseek(file_.number(), static_cast<off_t>(from), SEEK_DATA);
    if (data >= 0) return std::max(from, static_cast<std::uint64_t>(data));
    // Not every file system knows its holes.
    return errno == ENXIO ? std::nullopt : std::optional(from);
}

std::optional<std::uint64_t> Scanner::find_magic(std::uint64_t from) {
    while (from + record_magic.size() <= size_) {
        if (go_on_ && !go_on_()) return std::nullopt;
        const auto data = skip_hole(from);
        if (!data) return std::nullopt;
        from = *data;
        const base::Bytes octets = view(from, window_size / 2);
        if (octets.size() < record_magic.size()) return std::nullopt;
        if (const void* found = memmem(octets.data(), octets.size(), record_magic.data(), record_magic.size()))
            return from + static_cast<std::uint64_t>(static_cast<const std::byte*>(found) - octets.data());
        from += octets.size() - (record_magic.size() - 1);
    }
    return std::nullopt;
}

std::optional<Record> Scanner::next() {
    if (kind_ == Kind::unreadable) return std::nullopt;
    const std::uint64_t begin = at_;
    for (std::optional<std::uint64_t> place = at_; place && at_ < size_; place = find_magic(*place + 1)) {
        const auto found = parse(*place);
        if (!found) continue;
        if (*place != begin) ++damaged_;
        at_ = found->end();
        return found;
    }
    if (kind_ != Kind::later) tail_ = size_ - begin;
    return std::nullopt;
}

std::optional<std::vector<std::byte>> Scanner::payload(const Record& record) const {
    std::vector<std::byte> octets(record.length);
    if (!read_at(record.offset + record_header_size, octets) || wire::crc32c(octets) != record.payload_crc)
        return std::nullopt;
    return octets;
}

base::Result<metrics::Snapshot> unpack(base::Bytes payload, const Record& record) {
    if (record.raw_length > most_raw_octets)
        return base::Failure{
            base::Error{fmt::format("{} bytes, and {} is the most", record.raw_length, most_raw_octets)}};
    std::vector<std::byte> raw(record.raw_length);
    const std::size_t size = ZSTD_decompress(raw.data(), raw.size(), payload.data(), payload.size());
    if (ZSTD_isError(size) != 0) return base::Failure{base::Error{std::string("zstd: ") + ZSTD_getErrorName(size)}};
    if (size != raw.size()) return base::Failure{base::Error{"shorter than it says"}};
    auto snapshot = metrics::decode_snapshot(raw);
    if (!snapshot) return base::Failure{base::Error{snapshot.error().message}};
    return std::move(snapshot).value();
}

}  // namespace history::segment
