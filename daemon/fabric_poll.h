#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/result.h"
#include "daemon/config/config.h"
#include "daemon/subnet_figures.h"
#include "fabric/node_names.h"
#include "fabric/umad/umad_port.h"

namespace service {

/// Reads the InfiniBand subnet again and again, in a thread of its own: neither capture nor clients wait for it. A
/// reading that fails is logged and counted, and the last one that succeeded stays.
class FabricPoll {
public:
    using LogLine = std::function<void(bool warning, const std::string& line)>;

    /// Reads the names of nodes from a file, if one is given; fails if that is impossible. `opens_now`: opens the port
    /// while this process still has the rights. If the port cannot be opened, each reading tries again.
    static base::Result<std::unique_ptr<FabricPoll>, base::Errors> open(const FabricConfig& config,
                                                                        const std::string& node_names, bool opens_now,
                                                                        LogLine log);
    ~FabricPoll() { stop(); }
    FabricPoll(const FabricPoll&) = delete;
    FabricPoll& operator=(const FabricPoll&) = delete;

    void start();
    /// Ends a reading under way: within half a second.
    void stop();
    SubnetPolling polling() const;

private:
    using Reading = SubnetReading;
    FabricPoll(FabricConfig config, fabric::NodeNames names, LogLine log)
        : config_(std::move(config)), names_(std::move(names)), log_(std::move(log)) {
        state_.max_ports = config_.max_ports;
    }
    base::Result<void> open_port();
    void run();
    base::Result<std::shared_ptr<const Reading>> read();
    void publish(const base::Result<std::shared_ptr<const Reading>>& read);

    FabricConfig config_;
    fabric::NodeNames names_;
    LogLine log_;
    fabric::umad::OpenPort port_ = {};  ///< of the thread, once it runs
    std::string last_reason_ = {};      ///< of the last reading's failure, which is logged once
    std::atomic<bool> stopping_ = false;
    std::thread thread_ = {};

    mutable std::mutex mutex_ = {};
    std::condition_variable wakes_ = {};
    SubnetPolling state_ = {};
};

}  // namespace service
