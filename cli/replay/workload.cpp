// `rdmascope replay FILE --loopback|--serve|--to`: the capture's operations between endpoints.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/endpoint/server.h"
#include "cli/replay/parts.h"
#include "cli/replay/report.h"
#include "cli/signals.h"
#include "replay/endpoints/reenactment.h"
#include "replay/plan/survey.h"

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
    out.timeout_ns = options.timeout_ns;
    out.stopped = [] { return Signals::stop(); };
    if (options.place == cli::replay::Place::serve)
        out.listening = [](const std::string& address, std::uint16_t port) {
            tell("rdmascope replay: waiting for `replay --to` at {}", endpoint::text_of({address, port}));
            return port;
        };
    return out;
}

}  // namespace

int workload(const ReplayOptions& options, const Environment&) {
    auto survey = ::replay::survey(options.path, options.flows);
    if (!survey) return failed(survey.error().text());
    const Signals signals;
    const std::uint64_t wanted = 2 * options.copies * survey->connections.size() + 64;
    if (endpoint::raise_descriptor_limit() < wanted)
        return failed(fmt::format("{} connections need {} descriptors: raise `ulimit -n`, or choose flows with --flow",
                                  options.copies * survey->connections.size(), wanted));
    const ::replay::Reenactment run = ::replay::re_enact(*survey, reenactment_options(options));
    const int printed = print(options.json ? json_of(*survey, run).dump(2) + "\n" : text_of(*survey, run));
    if (const std::string error = run.error(); !error.empty()) return failed(error);
    return printed;
}

}  // namespace cli::replay
