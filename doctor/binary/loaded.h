#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/elf_image.h"
#include "base/error.h"
#include "base/result.h"
#include "doctor/inventory/loader_path.h"
#include "doctor/root.h"

namespace doctor::inline binary {

/// A program and every library that the loader would load with it, in its order.
class Loaded {
public:
    static constexpr std::size_t most_objects = 512;
    static constexpr std::size_t longest_object = std::size_t{256} << 20;
    static constexpr std::size_t most_octets = std::size_t{1} << 30;  ///< of all objects

    struct Object {
        std::string name;  ///< the name by which it was requested
        std::string path;
        std::unique_ptr<base::ElfImage> file;
        const Object* loader = nullptr;  ///< who asked first
        std::vector<std::string> missing = {};
    };

    Loaded(const Root& root, const LoaderPath& path) : root_(root), path_(path) {}

    /// Loads the program and what it needs.
    base::Result<void> load(const std::string& path);
    /// Adds a library that a program may load while it runs (dlopen(3)), and what that needs; null if absent.
    const Object* add(const std::string& name);

    const std::vector<std::unique_ptr<Object>>& objects() const { return objects_; }
    const Object* find(std::string_view name) const;
    bool is_missing(std::string_view name) const;
    /// Whether any object has this symbol; of this version if one is named, or of none.
    bool has_symbol(std::string_view name, std::string_view version) const;

private:
    struct Definition {
        std::string_view version;
        bool versioned;  ///< its library has versions at all
    };

    struct Located {
        std::string path;
        std::unique_ptr<base::ElfImage> file;
    };

    base::Result<std::unique_ptr<base::ElfImage>> open(const std::string& path) const;
    /// The file that the loader chooses for a name that `asker` needs; no value if it finds none.
    std::optional<Located> locate(std::string_view name, const Object& asker) const;
    std::vector<std::string> folders(const Object& object, std::string_view list) const;
    void add_needed(std::size_t from);
    const Object* add_object(std::string name, Located located, const Object* loader);

    const Root& root_;
    const LoaderPath& path_;
    std::size_t octets_ = 0;
    std::vector<std::unique_ptr<Object>> objects_ = {};
    std::unordered_multimap<std::string_view, Definition> symbols_ = {};
};

}  // namespace doctor::binary
