#include "trace/file/trace_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fmt/core.h>
#include <utility>

#include "base/clock.h"
#include "base/open_file.h"

namespace trace::inline file {

namespace {

// Records lie in the file as they do in memory.
static_assert(std::endian::native == std::endian::little, "trace files are little endian");

constexpr std::array<char, 8> magic{'r', 'd', 'm', 'a', 't', 'r', 'c', '\n'};
constexpr std::uint32_t version = 1;

struct FileHeader {
    std::array<char, 8> magic{};
    std::uint32_t version = 0;
    std::uint32_t record_octets = 0;
    std::int64_t made_ns = 0;
    std::uint64_t reserved = 0;
};
static_assert(sizeof(FileHeader) == 32);

struct BlockHeader {
    std::uint32_t kind = 0;
    std::uint32_t octets = 0;
};
constexpr std::uint32_t kind_process = 1;
constexpr std::uint32_t kind_records = 2;
constexpr std::uint32_t kind_end = 3;
constexpr std::uint32_t most_block_octets = 1U << 20;
constexpr std::size_t most_processes = 4096;
constexpr std::size_t most_devices = 255;

struct End {
    std::uint64_t records = 0;
    std::uint64_t lost = 0;
};

template <class Value>
void append(std::vector<std::byte>& out, const Value& value) {
    const auto* const octets = reinterpret_cast<const std::byte*>(&value);
    out.insert(out.end(), octets, octets + sizeof value);
}

void append_text(std::vector<std::byte>& out, std::string_view text) {
    append(out, static_cast<std::uint16_t>(text.size()));
    const auto* const octets = reinterpret_cast<const std::byte*>(text.data());
    out.insert(out.end(), octets, octets + text.size());
}

/// Takes values off the front of a block; once one does not fit, nothing does.
class Taker {
public:
    explicit Taker(std::span<const std::byte> octets) : octets_(octets) {}
    template <class Value>
    Value take() {
        Value value{};
        if (octets_.size() < sizeof value) ok_ = false;
        if (!ok_) return value;
        std::memcpy(&value, octets_.data(), sizeof value);
        octets_ = octets_.subspan(sizeof value);
        return value;
    }
    std::string take_text(std::size_t longest) {
        const std::size_t size = take<std::uint16_t>();
        if (octets_.size() < size || size > longest) ok_ = false;
        if (!ok_) return {};
        const std::string_view text(reinterpret_cast<const char*>(octets_.data()), size);
        octets_ = octets_.subspan(size);
        return harmless(text, longest);
    }
    bool ok() const { return ok_; }

private:
    std::span<const std::byte> octets_;
    bool ok_ = true;
};

bool is_same(const Process& one, const Process& other) {
    return one.pid == other.pid && one.started_ns == other.started_ns;
}

}  // namespace

base::Result<TraceFileWriter> TraceFileWriter::open(const std::string& path) {
    auto opened = base::open_output_file(path);
    if (!opened) return base::Failure{base::Error{fmt::format("cannot be made: {}", opened.error().reason), path}};
    std::FILE* const file = ::fdopen(opened->number(), "wb");
    if (file == nullptr)
        return base::Failure{base::Error{fmt::format("cannot be made: {}", std::strerror(errno)), path}};
    opened->release();
    TraceFileWriter writer(path, file);
    FileHeader header;
    header.magic = magic;
    header.version = version;
    header.record_octets = sizeof(Record);
    header.made_ns = base::wall_ns();
    if (const auto put = writer.put(&header, sizeof header); !put) return base::Failure{put.error()};
    return writer;
}

base::Failure<base::Error> TraceFileWriter::fail() {
    error_ = {fmt::format("cannot be written: {}", std::strerror(errno)), path_, octets_, records_};
    return base::Failure{*error_};
}

base::Result<void> TraceFileWriter::put(const void* octets, std::size_t size) {
    if (error_) return base::Failure{*error_};
    if (std::fwrite(octets, 1, size, file_.get()) != size) return fail();
    octets_ += size;
    return {};
}

base::Result<void> TraceFileWriter::put_block(std::uint32_t kind, std::span<const std::byte> octets) {
    const BlockHeader header{kind, static_cast<std::uint32_t>(octets.size())};
    if (auto headed = put(&header, sizeof header); !headed) return headed;
    return put(octets.data(), octets.size());
}

base::Result<void> TraceFileWriter::describe(const Process& process) {
    const auto known = std::ranges::find_if(described_, [&](const Process& one) { return is_same(one, process); });
    if (known != described_.end() && *known == process) return {};
    std::vector<std::byte> block;
    append(block, process.pid);
    append(block, process.user);
    append(block, process.started_ns);
    append_text(block, std::string_view(process.command).substr(0, Process::longest_command));
    append_text(block, std::string_view(process.container).substr(0, Process::longest_name));
    const std::size_t devices = std::min(process.devices.size(), most_devices);
    append(block, static_cast<std::uint16_t>(devices));
    for (std::size_t i = 0; i < devices; ++i)
        append_text(block, std::string_view(process.devices[i]).substr(0, Process::longest_name));
    if (known != described_.end())
        *known = process;
    else
        described_.push_back(process);
    return put_block(kind_process, block);
}

base::Result<void> TraceFileWriter::write(std::span<const Record> records, const std::deque<Process>& processes) {
    constexpr std::size_t most = most_block_octets / sizeof(Record);
    for (const Process& process : processes)
        if (auto described = describe(process); !described) return described;
    while (!records.empty()) {
        const std::size_t count = std::min(records.size(), most);
        if (auto put = put_block(kind_records, std::as_bytes(records.first(count))); !put) return put;
        records_ += count;
        records = records.subspan(count);
    }
    return {};
}

base::Result<void> TraceFileWriter::close(std::uint64_t lost) {
    const End end{records_, lost};
    if (auto put = put_block(kind_end, std::as_bytes(std::span(&end, 1))); !put) return put;
    if (std::fclose(file_.release()) != 0) return fail();
    return {};
}

base::Result<TraceFileReader> TraceFileReader::open(const std::string& path) {
    std::FILE* const file = std::fopen(path.c_str(), "rbe");
    if (file == nullptr)
        return base::Failure{base::Error{fmt::format("cannot be opened: {}", std::strerror(errno)), path}};
    return read(file, path);
}

base::Result<TraceFileReader> TraceFileReader::read(std::FILE* stream, std::string path) {
    TraceFileReader reader(std::move(path), stream);
    FileHeader header;
    const bool whole = reader.get(&header, sizeof header) == Got::all;
    reader.block_at_ = 0;
    if (!whole || header.magic != magic) return reader.fail("is no trace: `rdmascope run --trace FILE` makes one");
    if (header.version != version)
        return reader.fail(
            fmt::format("is a trace of version {}, and this rdmascope reads version {}", header.version, version));
    if (header.record_octets != sizeof(Record))
        return reader.fail(fmt::format("has records of {} bytes, not {}", header.record_octets, sizeof(Record)));
    return reader;
}

TraceFileReader::Got TraceFileReader::get(void* to, std::size_t size) {
    const std::size_t got = std::fread(to, 1, size, file_.get());
    offset_ += got;
    return got == size ? Got::all : got == 0 ? Got::nothing : Got::part;
}

base::Failure<base::Error> TraceFileReader::fail(std::string why) {
    failed_ = true;
    return base::Failure{base::Error{std::move(why), path_, block_at_, records_}};
}

base::Result<void> TraceFileReader::read_process(std::span<const std::byte> octets) {
    Taker taker(octets);
    Process process;
    process.pid = taker.take<std::uint32_t>();
    process.user = taker.take<std::uint32_t>();
    process.started_ns = taker.take<std::int64_t>();
    process.command = taker.take_text(Process::longest_command);
    process.container = taker.take_text(Process::longest_name);
    const std::size_t devices = taker.take<std::uint16_t>();
    if (devices > most_devices) return fail(fmt::format("a process with {} devices", devices));
    for (std::size_t i = 0; i < devices && taker.ok(); ++i)
        process.devices.push_back(taker.take_text(Process::longest_name));
    if (!taker.ok()) return fail("the description of a process is shorter than it says");
    const auto known = std::ranges::find_if(processes_, [&](const Process& one) { return is_same(one, process); });
    if (known != processes_.end() && known->command == process.command) {
        *known = std::move(process);
        return {};
    }
    if (known != processes_.end()) {  // another program by now
        processes_.erase(known);
        ++forgotten_;
    }
    if (processes_.size() == most_processes) {
        processes_.pop_front();
        ++forgotten_;
    }
    processes_.push_back(std::move(process));
    return {};
}

base::Result<void> TraceFileReader::read_records(std::span<const std::byte> octets) {
    if (octets.size() % sizeof(Record) != 0)
        return fail(fmt::format("{} bytes of records, which have {} each", octets.size(), sizeof(Record)));
    batch_.resize(octets.size() / sizeof(Record));
    if (!octets.empty()) std::memcpy(batch_.data(), octets.data(), octets.size());
    for (const Record& record : batch_)
        if (record.kind == RecordKind::none || record.kind > last_record_kind)
            return fail(fmt::format("a record of the unknown kind {}", static_cast<unsigned>(record.kind)));
    return {};
}

base::Result<void> TraceFileReader::read_end(std::span<const std::byte> octets) {
    Taker taker(octets);
    const End end{taker.take<std::uint64_t>(), taker.take<std::uint64_t>()};
    if (!taker.ok()) return fail("the end is shorter than it should be");
    if (end.records != records_)
        return fail(fmt::format("the end announces {} records, and there were {}", end.records, records_));
    lost_ = end.lost;
    complete_ = true;
    return {};
}

base::Result<std::span<const Record>> TraceFileReader::next() {
    while (!failed_ && !complete_) {
        BlockHeader header;
        block_at_ = offset_;
        const Got got = get(&header, sizeof header);
        if (got == Got::nothing) break;
        if (got == Got::part) return fail("ends within a block's header");
        if (header.octets > most_block_octets)
            return fail(fmt::format("a block of {} bytes, where {} are the most", header.octets, most_block_octets));
        block_.resize(header.octets);
        if (header.octets > 0 && get(block_.data(), block_.size()) != Got::all) return fail("ends within a block");
        base::Result<void> read;
        if (header.kind == kind_process) read = read_process(block_);
        if (header.kind == kind_records) read = read_records(block_);
        if (header.kind == kind_end) read = read_end(block_);
        if (!read) return base::Failure{read.error()};
        if (header.kind != kind_records || batch_.empty()) continue;
        records_ += batch_.size();
        return std::span<const Record>(batch_);
    }
    return std::span<const Record>{};
}

}  // namespace trace::file
