#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/elf_file.h"
#include "base/error.h"
#include "trace/trace_source.h"
#include "trace/uprobe/probe_source.h"

/// What can be traced of a program that runs already, without a restart.
namespace trace::inline uprobe {

/// A file that a process has mapped as code.
struct MappedFile {
    std::string path;       ///< as the process sees it
    std::string open_path;  ///< by which we can open the very file, even where it was replaced or is in a container
};

/// The files with code in the text of /proc/PID/maps, each once, in their order. `process_folder` is /proc/PID.
std::vector<MappedFile> mapped_code(const std::string& maps, const std::string& process_folder);

/// What could be traced, and cannot.
struct NotTraced {
    std::string path;
    std::string what;  ///< "mlx5_post_send"
    std::string why;   ///< and what to do

    bool operator==(const NotTraced&) const = default;
};

/// One sentence for all that have the same reason: libibverbs loads every provider that is installed, and of a stripped
/// distribution none can be traced.
std::vector<std::string> sentences_of(const std::vector<NotTraced>& all);

struct AttachPlan {
    std::vector<ProbePoint> points = {};
    std::vector<NotTraced> not_traced = {};
    std::vector<std::string> libraries = {};  ///< of verbs, that the process has
};

/// The probes of one file: static trace points of our own stack (provider `rdmascope`), and, of a provider of
/// libibverbs (libmlx5.so.1, librxe-rdmav34.so), its functions that post work requests. These are static functions: a
/// file has them in its full symbol table, or in the debug symbols of `debug_root` by its build-id; Debian's have
/// neither unless the -dbgsym package is installed.
///
/// A function's probe sees the call: of a list of work requests the first alone, and of its pieces the first's length.
/// Completions have no such probe, since they are there only when the function returns.
void plan_file(const base::ElfFile& file, const std::string& path, AttachPlan& into,
               const std::string& debug_root = "/usr/lib/debug");

/// Of all files of a process. An error where it is not there, or may not be looked at.
base::Result<AttachPlan> plan_attach(int process, const std::string& debug_root = "/usr/lib/debug");

/// Traces a process until it ends. What cannot be traced is among the source's warnings; an error where nothing can.
base::Result<std::unique_ptr<TraceSource>> attach(int process, ProbeOptions options = {});

}  // namespace trace::uprobe
