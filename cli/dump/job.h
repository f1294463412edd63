#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/dump/endpoints.h"
#include "cli/dump/inspector.h"
#include "cli/dump/kernel_lines.h"
#include "cli/dump/options.h"
#include "cli/progress.h"
#include "cli/selection.h"
#include "cli/signals.h"
#include "cli/text_output.h"

namespace cli::dump {

/// One run of `dump` over its packets: from the source through the filters to the printer and the writer.
class Job {
public:
    Job(const DumpOptions& options, const Environment& environment);

    /// Returns the exit status; all errors have been reported by then.
    int run();

private:
    enum class Step { go_on, enough, failed };

    bool set_up();
    void pump();
    Step take(const wire::Frame& frame);
    Step keep(const wire::Frame& frame);
    void between_batches();
    Step idle();
    void answer_signals();
    void finish();
    void finish_output();
    void close_writer();
    void report_unknown_links() const;
    void report_unread_carriers() const;
    void report() const;
    void report_listening() const;
    void fail(const base::Error& error);
    void fail(const std::string& message);
    void refuse(const std::string& message);
    void fail_expression();

    const DumpOptions& options_;
    const Environment& environment_;
    bool hand_over_;  ///< output is written before the program waits for the next frame

    Input input_ = {};
    Kept kept_ = {};
    Selection selection_;
    TextOutput output_;
    std::unique_ptr<KernelLines> kernel_ = {};   ///< null unless the kernel's events are requested
    std::unique_ptr<Inspector> inspector_ = {};  ///< null if frames are only copied or counted
    Progress progress_;
    std::optional<Signals> signals_ = {};

    std::uint64_t received_ = 0;  ///< frames of the source that the expression passed
    std::uint64_t matched_ = 0;   ///< those that the display filter passed too
    bool ended_ = false;          ///< the source has no more
    bool failed_ = false;
    bool mistaken_ = false;  ///< the failure is a mistake in the command line
    bool reader_of_packets_is_gone_ = false;
};

}  // namespace cli::dump
