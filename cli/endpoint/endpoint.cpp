#include "cli/endpoint/endpoint.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <string_view>

#include "base/similar.h"
#include "cli/console.h"
#include "cli/endpoint/subcommands.h"
#include "iwarp/iwarp.h"

namespace cli::endpoint {

namespace {

struct Part {
    std::string_view name;
    std::string_view summary;
    std::string_view full_name;
    int (*run)(const std::vector<std::string>& arguments, const Environment& environment);
    std::string (*help)();
    std::vector<options::ListedOption> (*option_list)();
};
constexpr std::array endpoint_parts{
    Part{"serve", "lend memory to be read and written, take messages, answer pings", "endpoint serve", serve,
         serve_help, serve_options},
    Part{"ping", "send data there and back by Send, Read and Write, as rping does, and time it", "endpoint ping", ping,
         ping_help, ping_options},
    Part{"bench", "measure bandwidth, message rate, latency and processor time", "endpoint bench", bench, bench_help,
         bench_options},
    Part{"listen", "accept anything that speaks iWARP, and print what comes", "endpoint listen", listen, listen_help,
         listen_options},
};

int refuse(const std::string& reason) {
    print_message("rdmascope endpoint: {}\nrdmascope endpoint: `rdmascope help endpoint` lists the parts", reason);
    return exit_usage;
}

int unknown(const std::string& word) {
    std::vector<std::string_view> known;
    known.reserve(endpoint_parts.size());
    for (const Part& part : endpoint_parts) known.push_back(part.name);
    return refuse(fmt::format("there is no part '{}'{}", word, base::did_you_mean(word, known)));
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    if (arguments.empty()) return refuse("what shall it do? serve, ping, bench or listen");
    const std::string& name = arguments.front();
    if (name == "--help" || name == "-h") return print(help());
    if (name == "--version") return print(version_text(environment.version));
    const auto part =
        std::find_if(endpoint_parts.begin(), endpoint_parts.end(), [&](const Part& each) { return each.name == name; });
    if (name == "help") {
        const auto topic = std::find_if(endpoint_parts.begin(), endpoint_parts.end(), [&](const Part& each) {
            return arguments.size() > 1 && each.name == arguments[1];
        });
        return print(topic == endpoint_parts.end() ? help() : topic->help());
    }
    if (part == endpoint_parts.end()) return unknown(name);
    try {
        return part->run({arguments.begin() + 1, arguments.end()}, environment);
    } catch (const iwarp::Error& error) {
        return failed(part->name, error.what());
    }
}

std::string help() {
    std::string out =
        "Usage: rdmascope endpoint PART [OPTION]...\n\n"
        "A complete iWARP endpoint in software: RDMA over TCP without an adapter. Speaks with any iWARP peer, Linux\n"
        "siw among them.\n\nParts:\n";
    for (const Part& part : endpoint_parts) out += fmt::format("  {:<12}{}\n", part.name, part.summary);
    out +=
        "\n`rdmascope endpoint PART --help` lists the options of a part.\n\nExamples:\n"
        "  rdmascope endpoint serve\n"
        "      serve on 127.0.0.1, port 7174\n"
        "  rdmascope endpoint ping -c 5\n"
        "      five round trips to it; `rping -c -a ADDRESS` of another machine does the same\n"
        "  rdmascope endpoint bench read --size 64K --depth 16 --seconds 5\n"
        "      pull data out of it for five seconds\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-endpoint(1).\n";
    return out;
}

int failed(std::string_view part, const std::string& what) {
    print_message("rdmascope endpoint {}: {}", part, what);
    return exit_failed;
}

std::vector<options::CommandOptions> option_lists() {
    std::vector<options::CommandOptions> lists;
    for (const Part& part : endpoint_parts) lists.push_back({part.full_name, part.option_list()});
    return lists;
}

}  // namespace cli::endpoint
