#include "backends/external/targets.hpp"

#include <fmt/format.h>

#include <map>
#include <mutex>

namespace kernsmith::external {

namespace {

constexpr std::string_view prefix = "external/";

std::mutex remembered_mutex;

/// Files of targets that were given by path, by name.
std::map<std::string, std::filesystem::path>& remembered() {
  static std::map<std::string, std::filesystem::path> files;
  return files;
}

std::optional<std::filesystem::path> file_of(const std::string& name) {
  const std::lock_guard lock(remembered_mutex);
  if (const auto known = remembered().find(name); known != remembered().end()) return known->second;
  const auto registered = registered_external_targets();
  const auto known = registered.find(name);
  return known == registered.end() ? std::nullopt : std::optional(known->second);
}

}  // namespace

std::string target_name(const external_target& target) {
  return std::string(prefix) + target.name;
}

std::optional<result<external_target>> find_target(const std::string& name) {
  if (name.ends_with(".toml")) {
    auto loaded = load_external_target(name);
    if (loaded) {
      const std::lock_guard lock(remembered_mutex);
      remembered()[loaded->name] = loaded->path;
    }
    return loaded;
  }
  const std::string plain = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  const auto file = file_of(plain);
  if (!file) return std::nullopt;
  auto loaded = load_external_target(*file);
  if (loaded && loaded->name != plain) {
    return result<external_target>(fail(
        fault::bad_request,
        fmt::format("{}: lies in a folder called '{}' and calls itself '{}'; give both one name", file->string(), plain, loaded->name)));
  }
  return loaded;
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const auto& [name, file] : registered_external_targets()) names.push_back(name);
  return names;
}

}  // namespace kernsmith::external
