#include "daemon/system_calls.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fmt/core.h>
#include <future>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <set>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "base/descriptor.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RDMASCOPE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define RDMASCOPE_SANITIZED 1
#endif
#endif

namespace service {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t own_architecture = 0;
#endif

/// The system calls of the daemon, from `strace -f` of a run with capture, history, recorder and clients. Calls of one
/// kind stand together, those of the packet path first. Calls that only older architectures have are within #ifdef.
constexpr std::array allowed{
    // Waiting, time and memory.
    __NR_ppoll,
    __NR_futex,
    __NR_read,
    __NR_write,
    __NR_epoll_pwait,
    __NR_clock_gettime,
    __NR_clock_nanosleep,
    __NR_nanosleep,
    __NR_clock_getres,
    __NR_gettimeofday,
    __NR_mmap,
    __NR_munmap,
    __NR_mremap,
    __NR_mprotect,
    __NR_madvise,
    __NR_mincore,
    __NR_brk,
    __NR_mlock,
    __NR_munlock,
    __NR_pselect6,
    __NR_sched_yield,
    __NR_membarrier,
    // Files.
    __NR_openat,
    __NR_openat2,
    __NR_close,
    __NR_readv,
    __NR_writev,
    __NR_pread64,
    __NR_pwrite64,
    __NR_lseek,
    __NR_fstat,
    __NR_newfstatat,
    __NR_statx,
    __NR_statfs,
    __NR_fstatfs,
    __NR_getdents64,
    __NR_readlinkat,
    __NR_faccessat,
    __NR_faccessat2,
    __NR_fcntl,
    __NR_dup,
    __NR_flock,
    __NR_ftruncate,
    __NR_fallocate,
    __NR_fadvise64,
    __NR_fsync,
    __NR_fdatasync,
    __NR_mkdirat,
    __NR_unlinkat,
    __NR_renameat,
    __NR_renameat2,
    __NR_umask,
    __NR_fchmod,
    __NR_getcwd,
    __NR_inotify_init1,
    __NR_inotify_add_watch,
    __NR_inotify_rm_watch,
    // Sockets, events and devices; socket() has a check of its own.
    __NR_socketpair,
    __NR_bind,
    __NR_connect,
    __NR_listen,
    __NR_accept4,
    __NR_accept,
    __NR_getsockname,
    __NR_getpeername,
    __NR_getsockopt,
    __NR_setsockopt,
    __NR_sendto,
    __NR_sendmsg,
    __NR_sendmmsg,
    __NR_recvfrom,
    __NR_recvmsg,
    __NR_recvmmsg,
    __NR_shutdown,
    __NR_pipe2,
    __NR_eventfd2,
    __NR_epoll_create1,
    __NR_epoll_ctl,
    __NR_timerfd_create,
    __NR_timerfd_settime,
    __NR_timerfd_gettime,
    __NR_signalfd4,
    __NR_ioctl,
    __NR_bpf,
    // Threads and signals; clone() has a check of its own.
    __NR_set_robust_list,
    __NR_get_robust_list,
    __NR_rseq,
    __NR_set_tid_address,
    __NR_rt_sigaction,
    __NR_rt_sigprocmask,
    __NR_rt_sigpending,
    __NR_rt_sigreturn,
    __NR_rt_sigtimedwait,
    __NR_sigaltstack,
    __NR_tgkill,
    __NR_restart_syscall,
    __NR_exit,
    __NR_exit_group,
    __NR_sched_getaffinity,
    __NR_sched_setaffinity,
    __NR_getcpu,
    // What the process reads of itself.
    __NR_getpid,
    __NR_gettid,
    __NR_getppid,
    __NR_getuid,
    __NR_geteuid,
    __NR_getgid,
    __NR_getegid,
    __NR_getresuid,
    __NR_getresgid,
    __NR_getgroups,
    __NR_getrandom,
    __NR_getrlimit,
    __NR_prlimit64,
    __NR_getrusage,
    __NR_sysinfo,
    __NR_uname,
    __NR_times,
    __NR_capget,
    __NR_prctl,
#ifdef __NR_poll
    __NR_poll,
    __NR_epoll_wait,
    __NR_select,
    __NR_time,
    __NR_open,
    __NR_stat,
    __NR_lstat,
    __NR_access,
    __NR_readlink,
    __NR_unlink,
    __NR_rename,
    __NR_mkdir,
    __NR_pipe,
    __NR_dup2,
    __NR_getdents,
    __NR_arch_prctl,
#endif
};

/// Names of calls that are not on the list, as far as all architectures have them.
struct NamedCall {
    long number;
    std::string_view name;
};
#define NAMED(call) \
    NamedCall { __NR_##call, #call }
constexpr std::array named_calls{
    NAMED(kill),
    NAMED(tkill),
    NAMED(execve),
    NAMED(execveat),
    NAMED(wait4),
    NAMED(waitid),
    NAMED(ptrace),
    NAMED(process_vm_readv),
    NAMED(process_vm_writev),
    NAMED(kcmp),
    NAMED(pidfd_open),
    NAMED(pidfd_send_signal),
    NAMED(pidfd_getfd),
    NAMED(setuid),
    NAMED(setgid),
    NAMED(setreuid),
    NAMED(setregid),
    NAMED(setresuid),
    NAMED(setresgid),
    NAMED(setfsuid),
    NAMED(setfsgid),
    NAMED(setgroups),
    NAMED(setsid),
    NAMED(setpgid),
    NAMED(getpgid),
    NAMED(getsid),
    NAMED(capset),
    NAMED(setpriority),
    NAMED(getpriority),
    NAMED(sched_setscheduler),
    NAMED(sched_getscheduler),
    NAMED(sched_setparam),
    NAMED(sched_getparam),
    NAMED(sched_setattr),
    NAMED(sched_getattr),
    NAMED(sched_get_priority_max),
    NAMED(sched_get_priority_min),
    NAMED(ioprio_set),
    NAMED(ioprio_get),
    NAMED(mount),
    NAMED(umount2),
    NAMED(pivot_root),
    NAMED(chroot),
    NAMED(move_mount),
    NAMED(open_tree),
    NAMED(fsopen),
    NAMED(fsconfig),
    NAMED(fsmount),
    NAMED(fspick),
    NAMED(mount_setattr),
    NAMED(swapon),
    NAMED(swapoff),
    NAMED(reboot),
    NAMED(sethostname),
    NAMED(setdomainname),
    NAMED(init_module),
    NAMED(finit_module),
    NAMED(delete_module),
    NAMED(kexec_load),
    NAMED(kexec_file_load),
    NAMED(perf_event_open),
    NAMED(syslog),
    NAMED(acct),
    NAMED(quotactl),
    NAMED(settimeofday),
    NAMED(clock_settime),
    NAMED(clock_adjtime),
    NAMED(adjtimex),
    NAMED(add_key),
    NAMED(request_key),
    NAMED(keyctl),
    NAMED(unshare),
    NAMED(setns),
    NAMED(personality),
    NAMED(symlinkat),
    NAMED(linkat),
    NAMED(mknodat),
    NAMED(fchmodat),
    NAMED(fchown),
    NAMED(fchownat),
    NAMED(truncate),
    NAMED(utimensat),
    NAMED(setxattr),
    NAMED(lsetxattr),
    NAMED(fsetxattr),
    NAMED(getxattr),
    NAMED(lgetxattr),
    NAMED(fgetxattr),
    NAMED(listxattr),
    NAMED(flistxattr),
    NAMED(removexattr),
    NAMED(chdir),
    NAMED(fchdir),
    NAMED(readahead),
    NAMED(sync),
    NAMED(syncfs),
    NAMED(sync_file_range),
    NAMED(sendfile),
    NAMED(splice),
    NAMED(tee),
    NAMED(vmsplice),
    NAMED(copy_file_range),
    NAMED(preadv),
    NAMED(pwritev),
    NAMED(preadv2),
    NAMED(pwritev2),
    NAMED(dup3),
    NAMED(close_range),
    NAMED(fanotify_init),
    NAMED(fanotify_mark),
    NAMED(io_setup),
    NAMED(io_submit),
    NAMED(io_uring_setup),
    NAMED(io_uring_enter),
    NAMED(io_uring_register),
    NAMED(memfd_create),
    NAMED(userfaultfd),
    NAMED(mlock2),
    NAMED(mlockall),
    NAMED(munlockall),
    NAMED(msync),
    NAMED(remap_file_pages),
    NAMED(mbind),
    NAMED(set_mempolicy),
    NAMED(get_mempolicy),
    NAMED(migrate_pages),
    NAMED(move_pages),
    NAMED(process_madvise),
    NAMED(shmget),
    NAMED(shmat),
    NAMED(shmctl),
    NAMED(shmdt),
    NAMED(semget),
    NAMED(semop),
    NAMED(semctl),
    NAMED(msgget),
    NAMED(msgsnd),
    NAMED(msgrcv),
    NAMED(msgctl),
    NAMED(mq_open),
    NAMED(timer_create),
    NAMED(timer_settime),
    NAMED(timer_delete),
    NAMED(setitimer),
    NAMED(getitimer),
    NAMED(rt_sigsuspend),
    NAMED(rt_sigqueueinfo),
    NAMED(rt_tgsigqueueinfo),
    NAMED(seccomp),
    NAMED(landlock_create_ruleset),
    NAMED(landlock_restrict_self),
    NAMED(name_to_handle_at),
    NAMED(open_by_handle_at),
    NAMED(lookup_dcookie),
#ifdef __NR_fork
    NAMED(fork),
    NAMED(vfork),
#endif
};
#undef NAMED

std::string name_of_call(int number) {
    for (const NamedCall& call : named_calls)
        if (call.number == number) return std::string(call.name);
    return fmt::format("number {}", number);
}

constexpr std::array families{AF_UNIX, AF_INET, AF_INET6, AF_PACKET, AF_NETLINK};

class FilterProgram {
public:
    /// `refusal`: what is done with a call that is not on the list.
    explicit FilterProgram(std::uint32_t refusal) {
        load(offsetof(seccomp_data, arch));
        fail_unless(own_architecture);
        load(offsetof(seccomp_data, nr));
#ifdef __x86_64__
        constexpr std::uint32_t x32_calls = 0x4000'0000;
        code_.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, x32_calls, 0, 1));
        fail(EPERM);
#endif
        for (const long call : allowed) allow_if(static_cast<std::uint32_t>(call));
        // glibc falls back to clone(), whose flags a filter can see.
        code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone3, 0, 1));
        fail(ENOSYS);
        allow_threads();
        allow_sockets();
        code_.push_back(BPF_STMT(BPF_RET | BPF_K, refusal));
    }
    sock_fprog program() { return {static_cast<unsigned short>(code_.size()), code_.data()}; }

    static constexpr std::uint32_t refused = SECCOMP_RET_ERRNO | EPERM;

private:
    static std::uint32_t argument(std::size_t index) {
        return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));  // low half
    }
    void load(std::size_t at) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at))); }
    void allow() { code_.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)); }
    void fail(int code) {
        code_.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(code)));
    }
    void allow_if(std::uint32_t value) {
        code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
        allow();
    }
    void fail_unless(std::uint32_t value) {
        code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
        fail(EPERM);
    }
    /// Not fork(), whose child would be a process.
    void allow_threads() {
        code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_clone, 0, 4));
        load(argument(0));
        code_.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
        allow();
        fail(EPERM);
    }
    void allow_sockets() {
        constexpr auto length = static_cast<std::uint8_t>(2 * families.size() + 2);
        code_.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_socket, 0, length));
        load(argument(0));
        for (const int family : families) allow_if(static_cast<std::uint32_t>(family));
        fail(EPERM);
    }

    std::vector<sock_filter> code_ = {};
};

}  // namespace

bool restricts_system_calls() {
#ifdef RDMASCOPE_SANITIZED
    return false;
#else
    return own_architecture != 0;
#endif
}

base::Result<void> restrict_system_calls() {
    if (!restricts_system_calls()) return {};
    FilterProgram filter(FilterProgram::refused);
    const sock_fprog program = filter.program();
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return {};
    return base::failure(
        fmt::format("the system calls of the daemon cannot be restricted: {}; set service.restrict_system_calls to "
                    "false if this kernel has no seccomp",
                    std::strerror(errno)));
}

/// The thread exists before the filter, which would hold its calls up too while nothing answers them. It restricts
/// itself.
struct SystemCallFilter::State {
    Report report;
    base::Descriptor stop;
    std::promise<base::Descriptor> listener = {};
    std::thread thread = {};

    void work();
    void answer(int listening, std::set<int>& reported) const;
};

void SystemCallFilter::State::work() {
    const base::Descriptor listening = listener.get_future().get();
    if (!listening || !restrict_system_calls()) return;
    std::set<int> reported;
    std::array<pollfd, 2> awaited{{{listening.number(), POLLIN, 0}, {stop.number(), POLLIN, 0}}};
    for (;;) {
        if (::poll(awaited.data(), awaited.size(), -1) < 0 && errno != EINTR) return;
        if (awaited[1].revents != 0 || (awaited[0].revents & (POLLHUP | POLLERR)) != 0) return;
        if ((awaited[0].revents & POLLIN) != 0) answer(listening.number(), reported);
    }
}

/// The caller waits: it is answered before anything else is done.
void SystemCallFilter::State::answer(int listening, std::set<int>& reported) const {
    seccomp_notif call{};
    if (::ioctl(listening, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
    seccomp_notif_resp response{};
    response.id = call.id;
    response.error = -EPERM;
    // A caller that a signal has taken away meanwhile needs no answer.
    static_cast<void>(::ioctl(listening, SECCOMP_IOCTL_NOTIF_SEND, &response));
    if (reported.insert(call.data.nr).second) report(name_of_call(call.data.nr));
}

SystemCallFilter::SystemCallFilter(std::unique_ptr<State> state) : state_(std::move(state)) {}

SystemCallFilter::~SystemCallFilter() {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(state_->stop.number(), &one, sizeof one));
    if (state_->thread.joinable()) state_->thread.join();
}

base::Result<std::unique_ptr<SystemCallFilter>> SystemCallFilter::install(Report report) {
    std::unique_ptr<SystemCallFilter> made(new SystemCallFilter(std::make_unique<State>()));
    if (!restricts_system_calls()) return made;
    State& state = *made->state_;
    state.report = std::move(report);
    state.stop = base::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!state.stop) return base::failure("no descriptors are left; raise `ulimit -n`");
    state.thread = std::thread([&state] { state.work(); });
    FilterProgram filter(SECCOMP_RET_USER_NOTIF);
    const sock_fprog program = filter.program();
    base::Descriptor listener(
        static_cast<int>(::syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program)));
    const bool listens = static_cast<bool>(listener);
    state.listener.set_value(std::move(listener));
    if (!listens)
        if (const auto restricted = restrict_system_calls(); !restricted) return base::Failure{restricted.error()};
    return made;
}

}  // namespace service
