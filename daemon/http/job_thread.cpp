#include "daemon/http/job_thread.h"

#include <csignal>
#include <pthread.h>

namespace service::http {

JobThread::JobThread() {
    // The thread inherits the mask: other threads wait for signals.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { serve(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
        work();
    }
}

}  // namespace service::http
