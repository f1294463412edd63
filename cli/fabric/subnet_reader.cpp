#include "cli/fabric/subnet_reader.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/file.h"
#include "cli/console.h"
#include "cli/progress.h"
#include "fabric/discovery/read_counters.h"
#include "fabric/output/subnet_json.h"

namespace cli::fabric {

namespace {

using ::fabric::discovery::Pass;

base::Result<void> read_counters(LiveSubnet& live, const FabricOptions& options) {
    if (!options.read_counters) return {};
    if (auto first = ::fabric::discovery::read_counters(*live.pool, live.found.subnet, Pass::first); !first)
        return first;
    if (options.interval_ns == 0) return {};
    std::this_thread::sleep_for(std::chrono::nanoseconds(options.interval_ns));
    return ::fabric::discovery::read_counters(*live.pool, live.found.subnet, Pass::second);
}

}  // namespace

base::Result<LiveSubnet> read_live(const FabricOptions& options) {
    const ::fabric::umad::Patience patience{
        std::chrono::ceil<std::chrono::milliseconds>(std::chrono::nanoseconds(options.timeout_ns)), options.retries};
    auto opened = ::fabric::umad::open_port({options.adapter, options.port}, patience);
    if (!opened) return base::Failure{opened.error()};
    LiveSubnet live;
    live.port = std::move(opened).value();
    live.pool = std::make_unique<::fabric::discovery::QueryPool>(*live.port.transport, options.parallel);
    Progress progress(is_terminal(STDERR_FILENO));
    live.pool->report_progress([&progress](std::uint64_t asked, std::uint64_t known) {
        if (progress.due()) progress.draw(asked, known, "questions");
    });
    auto found = ::fabric::discovery::discover(*live.pool, live.port.local);
    if (!found) return base::Failure{found.error()};
    live.found = std::move(found).value();
    if (const auto read = read_counters(live, options); !read) return base::Failure{read.error()};
    live.pool->report_progress({});
    return live;
}

base::Result<::fabric::Subnet> read_file(const std::string& path) {
    constexpr std::size_t longest = std::size_t{1} << 30;
    std::error_code unknown;
    if (const auto size = std::filesystem::file_size(path, unknown); !unknown && size > longest)
        return base::failure("the file is larger than 1 GiB, more than \"rdmascope fabric --json\" writes", path);
    errno = 0;
    const auto text = base::read_file(path, longest);
    if (!text) return base::failure(std::strerror(errno != 0 ? errno : ENOENT), path);
    return ::fabric::output::parse_subnet(*text, path);
}

}  // namespace cli::fabric
