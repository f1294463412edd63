#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/result.h"
#include "capture/files/writer.h"
#include "observe/datagrams/mad_packets.h"
#include "observe/datagrams/mad_transactions.h"
#include "observe/datagrams/traced_mad.h"
#include "trace/process.h"
#include "trace/record.h"

namespace cli::run {

/// The management datagrams of traced programs: figures of them, and a capture if asked for.
class MadCapture {
public:
    /// `path` empty: no capture.
    static base::Result<MadCapture> open(const std::string& path);

    /// After an error the figures continue, and the capture does not.
    base::Result<void> add(std::span<const trace::Record> records, const std::deque<trace::Process>& processes);
    base::Result<void> close();
    /// Tables with newlines; empty without datagrams.
    std::string text() const;

private:
    explicit MadCapture(std::unique_ptr<capture::Writer> writer) : writer_(std::move(writer)) {}
    void note_process(const observe::datagrams::TracedMad& mad, const std::deque<trace::Process>& processes);
    void write(const observe::datagrams::TracedMad& mad);
    const capture::InterfaceInfo& interface_of(const observe::datagrams::TracedMad& mad);

    std::unique_ptr<capture::Writer> writer_;
    std::map<std::string, capture::InterfaceInfo> interfaces_ = {};
    std::map<std::uint32_t, trace::Process> processes_ = {};
    observe::datagrams::MadAssembler assembler_ = {};
    observe::datagrams::MadPackets packets_ = {};
    observe::datagrams::MadTransactions transactions_ = {};
    bool failed_ = false;
    bool reported_ = false;
};

}  // namespace cli::run
