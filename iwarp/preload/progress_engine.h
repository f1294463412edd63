#pragma once
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

#include "iwarp/iwarp.h"
#include "iwarp/preload/environment_settings.h"
#include "iwarp/preload/lock.h"

/// libibverbs and librdmacm over this stack, for programs that are not written for it (LD_PRELOAD).
///
/// **Ownership.** The process has one ProgressEngine, never destroyed; it owns the iwarp::Device. The objects of
/// objects.h belong to the program, which makes and destroys them through the ABI; each holds the stack's object by a
/// shared_ptr. The connection manager's identifiers own listeners and connection requests. Back pointers (`Qp::of`,
/// `Cq::of`) are valid for as long as the program's object exists.
///
/// **Locks, in this order.** The ProgressEngine's lock: around every call of the stack or of the observer, and around
/// the lists of this library. Then the `mutex` within an ABI object, which guards only its count of acknowledged
/// events. No thread waits for anything with the ProgressEngine's lock held: not for events, not for acknowledgements,
/// not for a peer.
///
/// **The driving thread.** A thread that finds its completion queue empty drives the device itself (drive()). A service
/// thread sleeps on the device's descriptor and drives for programs that sleep or watch memory; while the program
/// polls, it makes room and checks again after a short while. It is started with the first open, with all signals
/// blocked, and does not survive fork(): in a child every call fails, and the first one reports the reason.
namespace iwarp::preload {

struct Qp;
struct Srq;
struct Cq;

/// What the device reports to the connection manager. Called with the lock held; must not block.
class ConnectionObserver {
public:
    virtual ~ConnectionObserver() = default;
    /// `event.request`; ConnectionRequest::listener() is its owner.
    virtual void connection_requested(const Event& event) = 0;
    /// established, rejected, connect_failed, disconnected, terminated, communication_established. The state of `qp` is
    /// up to date, and the completions that belong to the event can be polled.
    virtual void connection_changed(Qp& qp, const Event& event) = 0;
    /// The program destroys the queue pair; its `cm` is void from now on.
    virtual void queue_pair_destroyed(Qp& qp) = 0;
};

/// One line on standard error, with the library's name before it.
void say(const std::string& line);

/// The same, but once in the life of this object: programs repeat failing calls.
class Complaint {
public:
    void say(const std::string& line) {
        if (!said_.exchange(true, std::memory_order_relaxed)) preload::say(line);
    }

private:
    std::atomic<bool> said_{false};
};

class ProgressEngine {
public:
    /// The ABI has no place for a handle before a device is opened.
    static ProgressEngine& instance();
    ProgressEngine(const ProgressEngine&) = delete;
    ProgressEngine& operator=(const ProgressEngine&) = delete;

    Lock& lock() { return lock_; }
    /// Throws Error if the environment is invalid. May be called without the lock.
    const Settings& settings();
    /// The device's, once there is one: readable when it has something to do.
    int descriptor() const { return descriptor_; }
    /// False in the child of a fork. Reports the reason on standard error, once.
    bool usable();

    // With the lock held.

    /// Opens it, and starts the service thread, with the first call. Throws Error, std::system_error.
    Device& device();
    /// Sends, receives and handles timers without waiting, and passes on the events.
    void drive();
    /// The program polls, or posts receives.
    void called();
    /// It found completions.
    void found_something();
    /// The program found nothing, even after drive(): it will ask again.
    void found_nothing();
    /// The program has posted. A single request leaves at once; the requests of a burst leave together with one system
    /// call.
    void posted();
    /// Leaves the rest of the program's call to the service thread, unless the program is faster.
    void leave_work();
    /// Passes on the events that a call of the program itself has raised.
    void hand_out_events();
    /// Call this before a thread sleeps until an event comes: the service thread no longer makes room.
    void yield_driving();
    void observe(ConnectionObserver* observer) { observer_ = observer; }
    ConnectionObserver* observer() const { return observer_; }

private:
    class Service;
    ProgressEngine() = default;
    ~ProgressEngine() = default;
    bool turn();
    void drive_a_turn();
    void comes_back(std::int64_t now_ns);
    std::int64_t patience_ns() const;
    void hand_out(const Event& event);
    static void before_fork();
    static void after_fork();
    static void after_fork_in_child();

    Lock lock_;
    std::int64_t posted_ns_ = 0;  ///< when it last handled a post; 0: it has polled since
    unsigned burst_ = 0;          ///< posts that followed another closely
    std::int64_t found_ns_ = 0;   ///< 0: the program has called since it found something
    unsigned quick_returns_ = 0;  ///< consecutive calls soon after something was found
    std::shared_ptr<Device> device_;
    int descriptor_ = -1;
    std::unique_ptr<Service> service_;
    ConnectionObserver* observer_ = nullptr;
    std::atomic<bool> forked_{false};
    Complaint complaint_;
};

/// The errno for the exception being handled; writes the text of an Error to standard error.
int errno_of_exception(const char* function);

/// The body of an ABI function that returns 0 or an errno: with the lock held, no exception leaves it.
template <class Body>
int performed(const char* function, Body body) {
    ProgressEngine& engine = ProgressEngine::instance();
    if (!engine.usable()) return EPERM;
    const Lock::Hold hold(engine.lock());
    try {
        const int result = body(engine);
        engine.hand_out_events();
        engine.leave_work();
        return result;
    } catch (...) {
        return errno_of_exception(function);
    }
}

/// The body of an ABI function that returns a new object, or null with errno set.
template <class Body>
auto made(const char* function, Body body) -> decltype(body(ProgressEngine::instance())) {
    ProgressEngine& engine = ProgressEngine::instance();
    int failure = EPERM;
    if (engine.usable()) {
        const Lock::Hold hold(engine.lock());
        try {
            auto* const object = body(engine);  // if it made none, it has set errno
            engine.leave_work();
            return object;
        } catch (...) {
            failure = errno_of_exception(function);
        }
    }
    errno = failure;
    return nullptr;
}

}  // namespace iwarp::preload
