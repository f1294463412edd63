/// Fuzz target `trace_file`: any octets as a trace file, and what it holds as what programs did with queue pairs.
#include "trace/file/trace_file.h"

#include <cstdio>

#include "metrics/measure/posts/queue_pair_table.h"
#include "tests/fuzz/examine.h"
#include "tests/fuzz/target.h"

namespace {

void take_in(trace::TraceFileReader& reader, std::size_t size) {
    metrics::posts::QueuePairTable book;
    std::uint64_t records = 0;
    for (;;) {
        const auto batch = reader.next();
        if (!batch) {
            if (batch.error().message.empty()) fuzz::violated("an error has a reason");
            if (!batch.error().offset || *batch.error().offset > size) fuzz::violated("an error has its place");
            break;
        }
        if (batch->empty()) break;
        for (const auto& record : *batch) book.add(record);
        records += batch->size();
    }
    if (records != reader.records()) fuzz::violated("the reader counts its records");
    if (records * sizeof(trace::Record) > size) fuzz::violated("no record comes from nowhere");
    const auto after = reader.next();
    if (after && !after->empty()) fuzz::violated("nothing follows the end");
    for (const auto& process : reader.processes())
        if (process.command.size() > trace::Process::longest_command) fuzz::violated("texts are bounded");
    book.for_each([&](auto, const metrics::posts::QueuePair& one) { book.figures(one); });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::FILE* const stream = fmemopen(const_cast<std::uint8_t*>(data), size, "rb");
    if (stream == nullptr) return 0;
    auto reader = trace::TraceFileReader::read(stream, "input");
    if (reader)
        take_in(*reader, size);
    else if (reader.error().message.empty())
        fuzz::violated("a refusal has a reason");
    return 0;
}
