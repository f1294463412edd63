#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/config/config.h"
#include "daemon/config/config_file.h"
#include "daemon/log.h"
#include "metrics/answers/answer.h"

namespace service {

struct ServiceOptions {
    Config config;
    /// Reads the configuration again, for SIGHUP and `reload`.
    std::function<base::Result<Config, ConfigErrors>()> read_again;
    std::string version;
};

/// The daemon: a capture thread (capture_thread.h), the listener's threads, and this thread, which handles intervals,
/// the control socket and signals.
class Service {
public:
    /// `names` and `log` outlive it.
    Service(ServiceOptions options, metrics::HostNames& names, Log& log);
    ~Service();
    Service(const Service&) = delete;
    Service& operator=(const Service&) = delete;

    /// Checks the parts of a configuration that only other folders can judge (filters, triggers). Fails with all
    /// mistakes; opens nothing.
    static base::Result<void, base::Errors> check(const Config& config);

    /// Opens everything that needs rights or may be refused, then gives the rights up. Fails with all errors. Signals
    /// are blocked from here on.
    base::Result<void, base::Errors> open();
    /// Runs until SIGINT or SIGTERM. `ready` is called once everything runs. Fails if data that was held at the end
    /// could not be written.
    base::Result<void, base::Errors> run(const std::function<void()>& ready);
    /// The summary of a capture that ended: packets, what was dropped.
    std::string summary() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace service
