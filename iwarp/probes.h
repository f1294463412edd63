#pragma once
/// Static trace points of the stack (USDT, provider `rdmascope`): a `nop` each until a tracer (perf, bpftrace,
/// SystemTap) enables it. docs/man/rdmascope-iwarp.7 lists arguments. Built in if <sys/sdt.h> exists.
#if __has_include(<sys/sdt.h>)
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define IWARP_PROBE(name, ...) STAP_PROBEV(rdmascope, name, __VA_ARGS__)
#else
#define IWARP_PROBE(name, ...) static_cast<void>(0)
#endif
