#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "plugins/extcap/arguments.h"
#include "plugins/extcap/capture_options.h"
#include "plugins/extcap/fifo.h"
#include "plugins/extcap/fifo_capture.h"

namespace {

/// The status, and on standard error what Wireshark shows in a box; once no reader waits for frames.
int fail(const std::string& why, int status, const std::string& fifo) {
    std::fprintf(stderr, "rdmascope-extcap: %s\n", why.c_str());
    plugins::extcap::let_go(fifo);
    return status;
}

int run(const plugins::extcap::Arguments& arguments) {
    const auto say = [](const std::string& text) {
        std::fputs(text.c_str(), stdout);
        return std::fflush(stdout) == 0 ? 0 : fail(std::string("standard output: ") + std::strerror(errno), 1, {});
    };
    switch (arguments.call) {
        case plugins::extcap::Call::help: return say(plugins::extcap::help());
        case plugins::extcap::Call::version: return say(plugins::extcap::version_sentence());
        case plugins::extcap::Call::interfaces: return say(plugins::extcap::interface_sentences());
        case plugins::extcap::Call::dlts: return say(plugins::extcap::dlt_sentences(arguments));
        case plugins::extcap::Call::config: return say(plugins::extcap::config_sentences(arguments));
        case plugins::extcap::Call::check_filter: {
            const std::string fault = plugins::extcap::filter_fault(arguments);
            const int said = say(fault);
            return fault.empty() ? said : 1;
        }
        case plugins::extcap::Call::capture: {
            const std::string fault = plugins::extcap::capture_into_fifo(arguments);
            return fault.empty() ? 0 : fail(fault, 1, arguments.fifo);
        }
    }
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words{argv + 1, argv + argc};
    const auto arguments = plugins::extcap::parse(words);
    if (!arguments) return fail(arguments.error(), 2, plugins::extcap::fifo_of(words));
    try {
        return run(*arguments);
    } catch (const std::exception& error) {
        return fail(error.what(), 1, arguments->fifo);
    }
}
