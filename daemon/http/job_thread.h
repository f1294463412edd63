#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace service::http {

/// A thread that does one thing after another. An exception ends what is being done, and not the thread.
class JobThread {
public:
    JobThread();
    ~JobThread();  ///< what has not begun is dropped
    JobThread(const JobThread&) = delete;
    JobThread& operator=(const JobThread&) = delete;

    void run(std::function<void()> work);

private:
    void serve();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace service::http
