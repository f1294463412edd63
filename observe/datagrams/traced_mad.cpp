#include "observe/datagrams/traced_mad.h"

#include <algorithm>

namespace observe::datagrams {

namespace {

using trace::Record;
using trace::RecordKind;

constexpr std::size_t most_threads = 256;
/// The interposer records no more; a ring may say anything.
constexpr std::uint32_t most_bytes = 65536;

}  // namespace

void MadAssembler::drop(Thread thread) { incomplete_ += parts_.erase(thread); }

const TracedMad* MadAssembler::add(const Record& record) {
    switch (record.kind) {
        case RecordKind::mad: return begin(record);
        case RecordKind::mad_bytes: return extend(record);
        case RecordKind::lost: drop({record.process, record.thread}); return nullptr;
        default: return nullptr;
    }
}

const TracedMad* MadAssembler::begin(const Record& record) {
    const Thread thread{record.process, record.thread};
    drop(thread);
    if (record.mad.recorded_bytes > most_bytes || record.mad.recorded_bytes > record.mad.bytes) {
        ++incomplete_;
        return nullptr;
    }
    Part part{record, {}, 0};
    if (record.mad.recorded_bytes == 0) return complete(std::move(part));
    if (parts_.size() == most_threads) drop(parts_.begin()->first);
    parts_.emplace(thread, std::move(part));
    return nullptr;
}

const TracedMad* MadAssembler::extend(const Record& record) {
    const auto found = parts_.find({record.process, record.thread});
    if (found == parts_.end()) return nullptr;
    Part& part = found->second;
    if (record.number != part.records) {
        drop(found->first);
        return nullptr;
    }
    ++part.records;
    const std::size_t missing = part.head.mad.recorded_bytes - part.bytes.size();
    const auto* const bytes = reinterpret_cast<const std::byte*>(record.mad_bytes.data());
    part.bytes.insert(part.bytes.end(), bytes, bytes + std::min(missing, trace::mad_bytes_in_record));
    if (part.bytes.size() < part.head.mad.recorded_bytes) return nullptr;
    Part whole = std::move(part);
    parts_.erase(found);
    return complete(std::move(whole));
}

const TracedMad* MadAssembler::complete(Part part) {
    bytes_ = std::move(part.bytes);
    completed_ = {part.head.time_ns, part.head.process, part.head.device, part.head.number, part.head.mad, bytes_};
    return &completed_;
}

}  // namespace observe::datagrams
