#include "daemon/http/job_thread.h"

#include <exception>
#include <pthread.h>

#include "base/signal_block.h"

namespace service::http {

JobThread::JobThread() {
    const base::SignalBlock none_for_the_thread;
    thread_ = std::thread([this] { serve(); });
}

JobThread::~JobThread() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

void JobThread::run(std::function<void()> work) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(work));
    }
    changed_.notify_one();
}

void JobThread::serve() {
    pthread_setname_np(pthread_self(), "http-worker");
    while (true) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
        if (ends_) return;
        const std::function<void()> work = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        try {
            work();
        } catch (const std::exception&) {
            // There was no memory. Requests of clients handle this themselves: see http_server.cpp.
            continue;
        }
    }
}

}  // namespace service::http
