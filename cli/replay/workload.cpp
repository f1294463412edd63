// `rdmascope replay FILE --loopback|--serve|--to`: the capture's operations between endpoints.
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/analysis/session.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/endpoint/endpoint_server.h"
#include "cli/overwriting.h"
#include "cli/progress.h"
#include "cli/replay/comparison_page.h"
#include "cli/replay/modes.h"
#include "cli/replay/reenactment_report.h"
#include "cli/signals.h"
#include "replay/compare/comparison.h"
#include "replay/compare/stack_tap.h"
#include "replay/compare/traffic_recorder.h"
#include "replay/endpoints/reenactment.h"
#include "replay/plan/survey.h"
#include "replay/sockets/relay.h"

namespace cli::replay {

namespace {

using Place = ::replay::ReenactmentOptions::Place;

::replay::ReenactmentOptions reenactment_options(const ReplayOptions& options) {
    ::replay::ReenactmentOptions out;
    out.place = options.place == cli::replay::Place::serve ? Place::serve
                : options.place == cli::replay::Place::to  ? Place::to
                                                           : Place::loopback;
    out.host = options.address.host;
    out.port = options.address.port;
    out.loops = options.loop;
    out.copies = static_cast<std::uint32_t>(options.copies);
    out.speed = options.speed;
    out.crc = options.crc;
    out.payload = options.payload.value_or(false);
    out.timeout_ns = options.timeout_ns;
    out.stopped = [] { return Signals::stop(); };
    return out;
}

/// The capture for the comparison, or why there is no capture.
struct Watching {
    std::unique_ptr<::replay::Recorder> recorder;
    std::unique_ptr<::replay::StackTap> tap;
    std::string refused;

    void open(const ReplayOptions& options, std::uint16_t port) {
        const bool here = options.place == cli::replay::Place::loopback;
        auto opened = ::replay::Recorder::open(here ? "lo" : "any", port, options.save_path);
        if (opened)
            recorder = std::move(opened).value();
        else
            refused = opened.error().text();
    }
    /// If both ends are in this process, the stack can report the traffic even if the user may not capture it.
    void prepare(const ReplayOptions& options, ::replay::ReenactmentOptions& how) {
        const auto permitted = ::replay::Recorder::open("lo", 1, {});
        if (permitted) return;
        auto opened = ::replay::StackTap::open(options.save_path, permitted.error().text());
        if (!opened) {
            refused = opened.error().text();
            return;
        }
        tap = std::move(opened).value();
        how.device = [this](bool initiator) { return tap->device(initiator); };
    }
    std::optional<::replay::Recording> finish() {
        if (recorder) return recorder->finish();
        return tap ? std::optional(tap->finish()) : std::nullopt;
    }
};

/// The relay between the two ends, if the path is impaired.
struct Between {
    std::unique_ptr<::replay::Relay> relay;

    /// Opens the relay, and returns its port. Throws iwarp::Error.
    std::uint16_t open(const ReplayOptions& options, const endpoint::Address& at, const endpoint::Address& target) {
        auto opened = ::replay::Relay::open(at.host, at.port, {target.host, target.port}, options.impairment);
        if (!opened) throw iwarp::Error(opened.error());
        relay = std::move(opened).value();
        return relay->port();
    }
    /// Replaces the relay's address in messages, because the user does not know this address.
    void report_reason(const ReplayOptions& options, ::replay::Reenactment& run) const {
        if (!relay || run.error().empty()) return;
        const std::string internal = endpoint::text_of({"127.0.0.1", relay->port()});
        const std::string meant = endpoint::text_of(options.address);
        const ::replay::RelayCounters& counted = relay->stop();
        for (::replay::EndpointResult& endpoint : run.endpoints) {
            std::size_t at = endpoint.error.find(internal);
            while (at != std::string::npos) {
                endpoint.error.replace(at, internal.size(), meant);
                at = endpoint.error.find(internal, at + meant.size());
            }
            if (!endpoint.error.empty() && counted.not_reached != 0) endpoint.error = counted.last_error;
        }
    }
};

/// Both reports as one.
int print_results(const ReplayOptions& options, const ::replay::Survey& survey, const ::replay::Reenactment& run,
                  const ::replay::Recording* recording) {
    std::vector<::replay::ComparedFlow> flows;
    const analysis::Names names(true);
    if (recording != nullptr) flows = ::replay::compare_runs(survey, run, recording->snapshot, names);
    if (!options.json) {
        std::string page = text_of(survey, run, options.payload.value_or(false));
        if (recording != nullptr) page.append("\n").append(comparison_text(flows, *recording));
        return print(page);
    }
    auto out = json_of(survey, run, options.payload.value_or(false));
    if (recording != nullptr) out["comparison"] = comparison_json(flows, *recording);
    return print(fmt::format("{}\n", out.dump(2)));
}

}  // namespace

int workload(const ReplayOptions& options, const Environment&) {
    if (const std::string refusal = refuse_overwriting(options.save_path, {options.path}); !refusal.empty())
        return failed(options, fmt::format("{}: {}", options.save_path, refusal));
    Progress progress(true);
    auto survey = ::replay::survey(options.path, options.flows, [&progress](const auto& at, std::uint64_t frames) {
        if (progress.due()) progress.draw(at, frames);
    });
    progress.wipe();
    if (!survey) return failed(options, survey.error().text());
    const Signals signals;
    const std::uint64_t wanted = 2 * options.copies * survey->connections.size() + 64;
    if (endpoint::raise_descriptor_limit() < wanted)
        return failed(options,
                      fmt::format("{} connections need {} descriptors: raise `ulimit -n`, or choose flows with --flow",
                                  options.copies * survey->connections.size(), wanted));
    ::replay::ReenactmentOptions how = reenactment_options(options);
    Watching watching;
    Between between;
    const bool impaired = options.impairment.any();
    if (impaired && options.place == cli::replay::Place::to) {
        how.port = between.open(options, {"127.0.0.1", 0}, options.address);
        how.host = "127.0.0.1";
    } else if (impaired && options.place == cli::replay::Place::serve) {
        how.host = "127.0.0.1";
        how.port = 0;
    }
    if (options.compare && options.place == cli::replay::Place::to) watching.open(options, how.port);
    if (options.compare && options.place == cli::replay::Place::loopback) watching.prepare(options, how);
    if (!watching.refused.empty()) return failed(options, fmt::format("--compare: {}", watching.refused));
    if (watching.tap && impaired)
        return failed(options,
                      "--compare with what is put in the way needs the right to capture: the stack cannot see it");
    how.listening = [&](const std::string& address, std::uint16_t port) {
        const bool serving = options.place == cli::replay::Place::serve;
        endpoint::Address reached{address, port};
        if (impaired) {
            reached = serving ? options.address : endpoint::Address{"127.0.0.1", 0};
            reached.port = between.open(options, reached, {address, port});
        }
        if (options.compare && !watching.tap) watching.open(options, reached.port);
        if (serving) print_message("rdmascope replay: waiting for `replay --to` at {}", endpoint::text_of(reached));
        return reached.port;
    };
    ::replay::Reenactment run = ::replay::re_enact(*survey, how);
    if (options.place == cli::replay::Place::to) between.report_reason(options, run);
    const std::optional<::replay::Recording> recording = watching.finish();
    const std::string error = run.error();
    // If no operation began, a table would be empty.
    if (!error.empty() && run.duration_ns() == 0 && !options.json) return failed(error);
    const int printed = print_results(options, *survey, run, recording ? &*recording : nullptr);
    if (!error.empty()) return failed(error);
    if (!watching.refused.empty()) return failed(fmt::format("--compare: {}", watching.refused));
    if (recording && !recording->error.empty()) return failed(recording->error);
    return printed;
}

}  // namespace cli::replay
