/// Fuzz target `trace_ring`: any octets over the begin of a ring, which its process may write there at any time: once
/// before a reader opens it, and once while it reads.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"
#include "trace/ring/ring_reader.h"

namespace {

namespace layout = trace::layout;

constexpr std::uint32_t lanes = 3;
constexpr std::uint32_t capacity = layout::least_capacity;
constexpr std::uint64_t octets = layout::file_octets(lanes, capacity);

/// A file of a ring's length, with records of two lanes.
class Victim {
public:
    Victim() {
        file_ = mkstemp(path_.data());
        if (file_ < 0 || ftruncate(file_, octets) != 0) std::abort();
    }
    ~Victim() {
        close(file_);
        unlink(path_.c_str());
    }
    Victim(const Victim&) = delete;
    Victim& operator=(const Victim&) = delete;

    void write(std::uint64_t offset, const void* data, std::size_t size) const {
        if (pwrite(file_, data, size, static_cast<off_t>(offset)) != static_cast<ssize_t>(size)) std::abort();
    }
    void restore() const {
        static const std::vector<std::byte> good = image();
        write(0, good.data(), good.size());
    }
    const std::string& path() const { return path_; }

private:
    template <class Value>
    static void put(std::vector<std::byte>& image, std::uint64_t offset, const Value& value) {
        std::memcpy(image.data() + offset, &value, sizeof value);
    }
    static std::vector<std::byte> image() {
        std::vector<std::byte> result(octets);
        layout::Header header;
        header.magic = layout::magic;
        header.version = layout::version;
        header.record_octets = sizeof(trace::Record);
        header.lanes = lanes;
        header.capacity = capacity;
        header.pid = 1U << 30;  // of no post
        put(result, 0, header);
        for (std::uint64_t lane = 0; lane < 2; ++lane) {
            layout::LaneHeader of;
            of.written = lane == 0 ? 100 : 1000;
            put(result, layout::lane_headers_at + lane * sizeof of, of);
            for (std::uint64_t i = 0; i < capacity; ++i) {
                trace::Record record;
                record.kind = trace::RecordKind::completion;
                record.time_ns = static_cast<std::int64_t>(i);
                put(result, layout::records_at(lanes) + lane * layout::lane_octets(capacity) + i * sizeof record,
                    record);
            }
        }
        return result;
    }
    std::string path_ = "/tmp/rdmascope-fuzz-XXXXXX";
    int file_ = -1;
};

void read_all(trace::RingReader& reader, std::int64_t now_ns) {
    std::uint64_t count = 0;
    reader.look(now_ns);
    while (const auto* record = reader.head()) {
        if (record->kind == trace::RecordKind::none || record->kind > trace::RecordKind::lost)
            fuzz::violated("what is no record is not handed out");
        reader.pop();
        if (++count > 4ULL * layout::most_lanes * layout::most_capacity) fuzz::violated("a look comes to an end");
    }
    reader.is_alive();
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Victim victim;
    victim.restore();
    size = std::min<std::size_t>(size, layout::records_at(lanes));
    auto before = trace::RingReader::open(victim.path());
    if (!before) fuzz::violated("a good ring is read");
    read_all(*before, 1000);
    victim.write(0, data, size);
    read_all(*before, 2000);
    if (auto opened = trace::RingReader::open(victim.path())) read_all(*opened, 1000);
    return 0;
}
