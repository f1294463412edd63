#include "daemon/system_calls.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fmt/core.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <span>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <vector>

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

constexpr std::array families{AF_UNIX, AF_INET, AF_INET6, AF_PACKET, AF_NETLINK};

class FilterProgram {
public:
    FilterProgram() {
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
        fail(EPERM);
    }
    std::span<sock_filter> code() { return code_; }

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
    FilterProgram program;
    const sock_fprog filter{static_cast<unsigned short>(program.code().size()), program.code().data()};
    if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0) return {};
    return base::failure(
        fmt::format("the system calls of the daemon cannot be restricted: {}; set service.restrict_system_calls to "
                    "false if this kernel has no seccomp",
                    std::strerror(errno)));
}

}  // namespace service
