#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "plugins/extcap/arguments.h"
#include "plugins/extcap/choices.h"
#include "plugins/extcap/fifo.h"
#include "plugins/extcap/frames.h"

namespace {

/// The status, and on standard error what Wireshark shows in a box; once nobody waits for frames any more.
int fail(const std::string& why, int status, const std::string& fifo) {
    std::fprintf(stderr, "rdmascope-extcap: %s\n", why.c_str());
    extcap::let_go(fifo);
    return status;
}

int run(const extcap::Arguments& arguments) {
    const auto say = [](const std::string& text) {
        std::fputs(text.c_str(), stdout);
        return std::fflush(stdout) == 0 ? 0 : fail(std::string("standard output: ") + std::strerror(errno), 1, {});
    };
    switch (arguments.call) {
        case extcap::Call::help: return say(extcap::help());
        case extcap::Call::version: return say(extcap::version_sentence());
        case extcap::Call::interfaces: return say(extcap::interface_sentences());
        case extcap::Call::dlts: return say(extcap::dlt_sentences(arguments));
        case extcap::Call::config: return say(extcap::config_sentences(arguments));
        case extcap::Call::check_filter: {
            const std::string fault = extcap::filter_fault(arguments);
            const int said = say(fault);
            return fault.empty() ? said : 1;
        }
        case extcap::Call::capture: {
            const std::string fault = extcap::capture_into_fifo(arguments);
            return fault.empty() ? 0 : fail(fault, 1, arguments.fifo);
        }
    }
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words{argv + 1, argv + argc};
    const auto arguments = extcap::parse(words);
    if (!arguments) return fail(arguments.error(), 2, extcap::fifo_of(words));
    try {
        return run(*arguments);
    } catch (const std::exception& error) {
        return fail(error.what(), 1, arguments->fifo);
    }
}
