/// Runs scripts against the stack: iwarp_script [-v] FILE... ; README.md in tests/script describes their language.
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "tests/script/runner/steps.h"

namespace {

script::Steps all_steps() {
    script::Steps steps;
    script::add_setup_steps(steps);
    script::add_connection_steps(steps);
    script::add_peer_steps(steps);
    script::add_stack_steps(steps);
    script::add_posting_steps(steps);
    script::add_expect_steps(steps);
    return steps;
}

void perform(const script::Steps& steps, script::World& world, script::Words& words) {
    const std::string name = words.next("a step");
    const auto step = steps.find(name);
    if (step == steps.end()) throw script::Failure("there is no step '" + name + "'");
    step->second(world, words);
    words.finish();
}

/// `refused STEP…`: the set-up call must not succeed, and must say why.
void perform_refused(const script::Steps& steps, script::World& world, script::Words& words) {
    try {
        perform(steps, world, words);
    } catch (const iwarp::Error& error) {
        if (std::string_view(error.what()).empty()) throw script::Failure("the refusal does not say why");
        return;
    }
    throw script::Failure("it was not refused");
}

/// A script is one or more conversations, each beginning with a line `again` but the first; each in a world of its own.
class Script {
public:
    Script(const char* path, bool verbose) : path_(path), verbose_(verbose) {}

    bool run(const script::Steps& steps) {
        std::ifstream file(path_);
        if (!file) {
            std::printf("%s: cannot be read\n", path_);
            return false;
        }
        auto world = std::make_unique<script::World>();
        std::string line;
        bool begun = false;
        while (std::getline(file, line)) {
            ++number_;
            if (verbose_) std::printf("%4d  %s\n", number_, line.c_str());
            try {
                script::Words words(line);
                if (words.empty()) continue;
                if (words.peek() == "again") {
                    world->check_end();
                    world = std::make_unique<script::World>();
                    continue;
                }
                begun = true;
                if (words.peek() == "refused" && words.flag("refused"))
                    perform_refused(steps, *world, words);
                else
                    perform(steps, *world, words);
            } catch (const std::exception& error) {
                return complain(line, error.what());
            }
        }
        try {
            if (begun) world->check_end();
        } catch (const std::exception& error) {
            return complain("", error.what());
        }
        if (!begun) std::printf("%s: has no steps\n", path_);
        return begun;
    }

private:
    bool complain(const std::string& line, const char* why) const {
        std::printf("%s:%d: %s\n    %s\n", path_, number_, line.c_str(), why);
        return false;
    }

    const char* path_;
    bool verbose_;
    int number_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
    bool verbose = false;
    int failed = 0;
    int run = 0;
    const script::Steps steps = all_steps();
    for (int i = 1; i < count; ++i) {
        if (std::string_view(arguments[i]) == "-v") {
            verbose = true;
            continue;
        }
        ++run;
        if (!Script(arguments[i], verbose).run(steps)) ++failed;
    }
    if (run == 0) return std::fputs("usage: iwarp_script [-v] FILE...\n", stderr), 2;
    if (run > 1) std::printf("%d of %d scripts passed\n", run - failed, run);
    return failed == 0 ? 0 : 1;
}
