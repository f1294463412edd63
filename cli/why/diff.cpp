#include "cli/why/diff.h"

#include <memory>
#include <vector>

#include "cli/analysis/session.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/why/page.h"
#include "exporters/why_diff.h"
#include "metrics/answers/counters.h"

namespace cli::why {

namespace {

/// One of the two captures, read to its end.
struct MeasuredFile {
    MeasuredFile(const WhyOptions& settings, const std::string& path) : options(settings) {
        options.read_paths = {path};
        session = std::make_unique<analysis::Session>(options, "why");
    }
    bool run() {
        if (!session->run()) return false;
        answers = metrics::answer(session->snapshot(), session->names(), session->devices(), nullptr);
        return true;
    }
    exporters::DiffSide side() const { return {options.read_paths.front(), session->snapshot(), answers}; }

    WhyOptions options;  ///< outlives the session
    std::unique_ptr<analysis::Session> session;
    std::vector<metrics::Answer> answers = {};
};

}  // namespace

std::string diff_contradiction(const WhyOptions& options) {
    if (!options.diff) return {};
    if (options.read_paths.size() != 2) return "--diff compares two captures: rdmascope why --diff BEFORE AFTER";
    if (!options.policy_path.empty())
        return "--policy judges one capture, and --diff compares two; leave one of them out";
    if (!options.fabric_path.empty())
        return "--fabric is a reading at the time of one capture, and --diff compares two; leave one of them out";
    if (options.flow) return "--flow is an ID of one capture, and --diff compares two; leave one of them out";
    if (options.trace_path || options.counters_path)
        return "--trace and --counters belong to one capture, and --diff compares two";
    return {};
}

int compare(const WhyOptions& options) {
    MeasuredFile before(options, options.read_paths.front());
    MeasuredFile after(options, options.read_paths.back());
    for (MeasuredFile* file : {&before, &after})
        if (!file->run()) return file->session->status();
    const metrics::CaptureComparison comparison =
        metrics::compare_captures(before.session->snapshot(), before.answers, after.session->snapshot(), after.answers);
    const int printed = print(options.json ? exporters::diff_json(comparison, before.side(), after.side()) + "\n"
                                           : exporters::diff_page(comparison, before.side(), after.side(),
                                                                  after.session->names(), style_for(options)));
    if (printed != exit_done) return printed;
    if (before.session->failed() || after.session->failed()) return exit_failed;
    return options.fail_on && comparison.grade >= *options.fail_on ? exit_found : exit_done;
}

}  // namespace cli::why
