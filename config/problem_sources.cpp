// Source files that a problem names: reference, baselines, seed kernels.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "config/problem_tables.hpp"
#include "config/refusal.hpp"
#include "config/text.hpp"

namespace kernsmith {

namespace {

const std::vector<std::string> languages = {"c", "cpp", "cuda", "hip", "opencl", "python"};
const std::vector<std::string> builtins = {"naive", "openblas", "pytorch", "torch.compile", "cublas"};

std::string language_of(const std::filesystem::path& path, source_place place) {
  const std::string extension = path.extension().string();
  if (extension == ".cpp" || extension == ".cc" || extension == ".cxx") return "cpp";
  if (extension == ".c") return "c";
  if (extension == ".cu") return "cuda";
  if (extension == ".hip") return "hip";
  if (extension == ".cl") return "opencl";
  if (extension == ".py") return "python";
  refuse(place,
         fmt::format("the language of '{}' can't be told from its name; add language = \"cpp\", \"c\", \"cuda\", \"hip\" or \"python\"",
                     path.string()));
}

std::string read_language(const toml_value& value) {
  const std::string& name = as_text(value, "'language'");
  if (std::find(languages.begin(), languages.end(), name) == languages.end())
    refuse(value.place, fmt::format("unknown language '{}'{}; known: {}", name, did_you_mean(name, languages), fmt::join(languages, ", ")));
  return name;
}

void check_name(const std::string& name, const char* what, source_place place) {
  if (!is_valid_name(name)) refuse(place, fmt::format("'{}' can't name {}; use lower-case letters, digits, '_' and '-'", name, what));
}

}  // namespace

source_file read_source(const toml_value& path, const toml_value* language, const std::string& name, const std::filesystem::path& folder) {
  source_file source;
  source.name = name;
  const std::string& written = as_text(path, "'source'");
  source.path = std::filesystem::absolute(folder / written).lexically_normal();
  source.language = language != nullptr ? read_language(*language) : language_of(written, path.place);
  std::error_code code;
  if (!std::filesystem::exists(source.path, code))
    refuse(path.place, fmt::format("the source '{}' does not exist (looked for {}); paths are relative to the problem file", written,
                                   source.path.string()));
  if (!std::filesystem::is_regular_file(source.path, code))
    refuse(path.place, fmt::format("the source {} is no regular file", source.path.string()));
  std::ifstream stream(source.path, std::ios::binary);
  if (!stream) refuse(path.place, fmt::format("the source {} can't be read; check its permissions", source.path.string()));
  source.text.resize(max_source_bytes + 1);
  stream.read(source.text.data(), static_cast<std::streamsize>(source.text.size()));
  source.text.resize(static_cast<std::size_t>(stream.gcount()));
  source.text.shrink_to_fit();
  if (source.text.size() > max_source_bytes)
    refuse(path.place, fmt::format("the source {} is larger than {} bytes", source.path.string(), max_source_bytes));
  if (!is_valid_utf8(source.text)) refuse(path.place, fmt::format("the source {} is not UTF-8 text", source.path.string()));
  if (source.text.find_first_not_of(" \t\r\n") == std::string::npos)
    refuse(path.place, fmt::format("the source {} is empty", source.path.string()));
  return source;
}

std::string file_suffix_of(const std::string& language) {
  return language == "cuda"                                                      ? "cu"
         : language == "opencl"                                                  ? "cl"
         : language == "python" || language == "pytorch" || language == "triton" ? "py"
                                                                                 : language;
}

source_file read_reference(const toml_value& value, const std::filesystem::path& folder) {
  const table_reader table(value, "[reference]", {"language", "source"});
  return read_source(table.need("source", "source = \"ref.cpp\""), table.find("language"), "reference", folder);
}

void read_baselines(const toml_value* value, problem& p, const std::filesystem::path& folder) {
  if (value != nullptr) {
    require_table(*value, "[baselines]");
    if (value->items.size() > max_sources) refuse(value->place, fmt::format("more than {} baselines", max_sources));
    for (std::size_t i = 0; i < value->items.size(); ++i) {
      check_name(value->keys[i], "a baseline", value->key_places[i]);
      const table_reader table(value->items[i], fmt::format("[baselines.{}]", value->keys[i]), {"source", "builtin", "language", "mode"});
      baseline_spec baseline;
      baseline.name = value->keys[i];
      const toml_value* source = table.find("source");
      const toml_value* builtin = table.find("builtin");
      if ((source == nullptr) == (builtin == nullptr))
        refuse(value->key_places[i], fmt::format("{} needs either 'source' or 'builtin'", table.what()));
      if (source != nullptr) {
        baseline.source = read_source(*source, table.find("language"), baseline.name, folder);
      } else {
        baseline.builtin = as_text(*builtin, "'builtin'");
        if (std::find(builtins.begin(), builtins.end(), baseline.builtin) == builtins.end()) {
          const std::string hint = did_you_mean(baseline.builtin, builtins);
          refuse(builtin->place, fmt::format("unknown builtin baseline '{}'{}", baseline.builtin,
                                             hint.empty() ? fmt::format("; known: {}", fmt::join(builtins, ", ")) : hint));
        }
        if (baseline.builtin == "naive" && p.reference)
          refuse(builtin->place,
                 "the builtin 'naive' is made from a definition, and this problem has a reference instead; leave it out: the reference is "
                 "the baseline then");
        const std::string mode = table.text("mode", "");
        if (!mode.empty() && baseline.builtin != "torch.compile")
          refuse(table.place_of("mode"), "'mode' belongs to builtin \"torch.compile\"");
        if (!mode.empty()) baseline.builtin += ' ' + mode;
        if (table.find("language") != nullptr) refuse(table.place_of("language"), "'language' belongs to 'source'");
      }
      p.baselines.push_back(std::move(baseline));
    }
  }
  if (!p.baselines.empty()) return;
  if (p.reference) {
    p.baselines.push_back({"reference", "", p.reference});
  } else {
    p.baselines.push_back({"naive", "naive", std::nullopt});
  }
}

void read_seed_kernels(const toml_value& value, problem& p, const std::filesystem::path& folder) {
  require_table(value, "[seed_kernels]");
  if (value.items.size() > max_sources) refuse(value.place, fmt::format("more than {} seed kernels", max_sources));
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    check_name(value.keys[i], "a seed kernel", value.key_places[i]);
    const toml_value& item = value.items[i];
    if (item.which == toml_value::kind::text) {
      p.seed_kernels.push_back(read_source(item, nullptr, value.keys[i], folder));
      continue;
    }
    const table_reader table(item, fmt::format("[seed_kernels.{}]", value.keys[i]), {"source", "language"});
    p.seed_kernels.push_back(read_source(table.need("source", "source = \"kernel.cpp\""), table.find("language"), value.keys[i], folder));
  }
}

}  // namespace kernsmith
