// A target described by its owner: commands that build a kernel for a device and run it there, in a TOML file (kernsmith.target/1). Nothing
// about the device is known here beyond what the file says; docs/external-targets.md describes it for people.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/error.hpp"

namespace kernsmith {

/// Program and arguments; {placeholders} stand for what differs from call to call. Never a shell line.
using command_template = std::vector<std::string>;

/// What the candidates for a target are written in.
enum class target_language : std::uint8_t { c, cpp };

/// Instructions beyond plain C that the rules synthesizer may use.
enum class target_dialect : std::uint8_t {
  plain,  ///< loops for the target's compiler to vectorise
  rvv,    ///< RISC-V vector extension 1.0, intrinsics of <riscv_vector.h>
};

struct external_build {
  std::vector<command_template> steps;  ///< run one after the other; the last leaves {output}
  double timeout_s = 90;                ///< of each step
  command_template version;             ///< its first line of output names the compiler
  std::vector<std::filesystem::path> read_only;
};

struct external_run {
  command_template command;
  double timeout_s = 60;
  command_template version;                    ///< its first line of output names the driver or emulator
  std::string report = "report.txt";           ///< file in the call folder, or "stdout"
  std::int64_t memory_bytes = 256 << 20;       ///< of all buffers of one run
  std::int64_t alignment = 64;                 ///< of buffers, in bytes
  std::int64_t host_memory_bytes = 4ll << 30;  ///< that the command may take here
  std::int64_t max_calls = 64;                 ///< of launch in one run
  std::vector<std::filesystem::path> read_only;
  std::vector<std::filesystem::path> devices;  ///< device nodes that the command needs
  std::vector<std::pair<std::string, std::string>> environment;
};

/// What a target is judged by: one of the counters that its runs report. Less is better.
struct external_objective {
  std::string counter;
  std::string unit;
  bool deterministic = false;  ///< the same call always gives the same count
};

struct external_device {
  std::string name;
  double bytes_per_unit = 0;       ///< at most moved per unit of the objective; 0: not known
  double operations_per_unit = 0;  ///< at most done per unit
  std::int64_t vector_bytes = 0;   ///< of one vector register; 0: none
  std::int64_t max_group = 1;      ///< vector registers that one instruction can take together (RVV: LMUL)
};

struct external_target {
  std::string name;  ///< "riscv-vector"; the target is called "external/riscv-vector"
  std::filesystem::path path;
  std::filesystem::path folder;  ///< of the file: {target}, visible to every command
  std::string hash;              ///< over the file and everything else in its folder that commands can see
  std::string description;
  target_language language = target_language::c;
  target_dialect dialect = target_dialect::plain;
  std::string setup;  ///< what to do when a command is missing here
  external_build build;
  external_run run;
  external_objective objective;
  external_device device;
  command_template profile;  ///< empty: none
  std::filesystem::path knowledge;
};

/// Errors carry "file:line:column: what is wrong; what to do".
[[nodiscard]] result<external_target> load_external_target(const std::filesystem::path& file);
/// The same from memory; `file` is used for messages and for resolving relative paths.
[[nodiscard]] result<external_target> parse_external_target(const std::string& text, const std::filesystem::path& file);

/// Folders in which targets are looked for by name: those in $KERNSMITH_TARGETS (colons between them), then the ones that come with
/// Kernsmith. A target is a folder of its own in one of them: NAME/target.toml.
[[nodiscard]] std::vector<std::filesystem::path> external_target_folders();
/// Files of all targets in these folders, by name; the first folder wins.
[[nodiscard]] std::map<std::string, std::filesystem::path> registered_external_targets();

[[nodiscard]] std::string name_of(target_language language);  ///< "c", "cpp"
[[nodiscard]] std::string suffix_of(target_language language);

}  // namespace kernsmith
