#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/log.h"
#include "metrics/answers/answer.h"

namespace service {

struct ServiceOptions {
    Config config;
    /// Reads the configuration again, for SIGHUP and `reload`: what is wrong with it, a line a mistake, or nothing and
    /// `config` set.
    std::function<std::vector<std::string>(Config& config)> read_again;
    std::string version;
};

/// The daemon: a capture thread (capture_thread.h), the listener's threads, and this one, which works off intervals,
/// answers the control socket and heeds signals.
class Service {
public:
    /// `names` and `log` outlive it.
    Service(ServiceOptions options, const metrics::HostNames& names, Log& log);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// What only the parts can judge of a configuration (filters, triggers), a line a mistake; opens nothing.
    static std::vector<std::string> check(const Config& config);

    /// Opens all that needs rights or may be refused, then gives the rights up. Returns what is wrong, a line a
    /// mistake, each saying what to do; else empty. Signals are blocked from here on.
    std::vector<std::string> open();
    /// Until SIGINT or SIGTERM. `ready` is called once everything runs. Returns what was held at the end and could not
    /// be written, a line each; else empty.
    std::vector<std::string> run(const std::function<void()>& ready);
    /// The summary of a capture that ended: packets, what was dropped.
    std::string summary() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace service
