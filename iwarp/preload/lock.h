#pragma once
#include <atomic>
#include <mutex>

namespace iwarp::preload {

/// The one lock of this library: an iwarp::Device and all that is made from it belong to one thread at a time. A thread
/// that polls without a pause calls contended() and makes room, because a mutex is not fair.
class Lock {
public:
    class Hold {
    public:
        explicit Hold(Lock& lock) : lock_(lock) { lock_.acquire(); }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;
        ~Hold() { lock_.release(); }

    private:
        Lock& lock_;
    };

    /// For a lock that is held already.
    class Adopted {
    public:
        explicit Adopted(Lock& lock) : lock_(lock) {}
        Adopted(const Adopted&) = delete;
        Adopted& operator=(const Adopted&) = delete;
        ~Adopted() { lock_.release(); }

    private:
        Lock& lock_;
    };

    bool contended() const { return waiting_.load(std::memory_order_relaxed) != 0; }
    bool try_acquire() { return mutex_.try_lock(); }
    void acquire() {
        if (mutex_.try_lock()) return;
        waiting_.fetch_add(1, std::memory_order_relaxed);
        mutex_.lock();
        waiting_.fetch_sub(1, std::memory_order_relaxed);
    }
    void release() { mutex_.unlock(); }

private:
    std::mutex mutex_;
    std::atomic<int> waiting_{0};
};

}  // namespace iwarp::preload
