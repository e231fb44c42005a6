// The parts of a problem file, each read from its table. Internal to config/; everything throws refusal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/definition_resolver.hpp"
#include "config/problem.hpp"
#include "config/table_reader.hpp"

namespace kernsmith {

inline constexpr std::size_t max_problem_bytes = 1024 * 1024;
inline constexpr std::size_t max_source_bytes = 4 * 1024 * 1024;
inline constexpr std::size_t max_problem_name_length = 64;
inline constexpr std::size_t max_axes = 64;
inline constexpr std::size_t max_tensors = 128;
inline constexpr std::size_t max_rank = 8;
inline constexpr std::size_t max_workloads = 1024;
inline constexpr std::size_t max_sources = 64;

void read_axes(const toml_value& value, problem& p);
[[nodiscard]] std::vector<dim> read_shape(const toml_value& value, const std::string& what, const problem& p);
/// [inputs.NAME] or [outputs.NAME], in file order. Inits are read as written; defaults are settled by settle_inits.
void read_tensors(const toml_value& value, tensor_role role, problem& p, const std::filesystem::path& folder);
[[nodiscard]] std::vector<intermediate_declaration> read_intermediates(const toml_value& value, const problem& p);
void read_workloads(const toml_value& value, problem& p);
[[nodiscard]] compare_spec read_compare(const toml_value& value);
[[nodiscard]] precision_contract read_precision(const toml_value& value);
/// Vendors' libraries that candidates may call, sorted.
[[nodiscard]] std::vector<std::string> read_libraries(const toml_value& value);
[[nodiscard]] metric read_objective(const toml_value& value);
[[nodiscard]] replay_mode read_timing(const toml_value& value);
[[nodiscard]] dtype read_dtype(const toml_value& value, std::string_view what);

[[nodiscard]] init_spec read_init(const toml_value& value, const tensor_declaration& tensor, const std::filesystem::path& folder);
/// Default inits, once the definition has told which inputs are indices; refuses inits that leave the index range in a workload.
void settle_inits(problem& p);

[[nodiscard]] source_file read_reference(const toml_value& value, const std::filesystem::path& folder);
void read_baselines(const toml_value* value, problem& p, const std::filesystem::path& folder);
[[nodiscard]] source_file read_source(const toml_value& path, const toml_value* language, const std::string& name,
                                      const std::filesystem::path& folder);
/// [module], once inputs, outputs and axes are known.
[[nodiscard]] module_spec read_module(const toml_value& value, const problem& p, const std::filesystem::path& folder);
void read_seed_kernels(const toml_value& value, problem& p, const std::filesystem::path& folder);

}  // namespace kernsmith
