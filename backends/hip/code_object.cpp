#include "backends/hip/code_object.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

namespace kernsmith::hip {

namespace {

constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::uint32_t metadata_note = 32;  // NT_AMDGPU_METADATA: a MessagePack map
constexpr std::uint64_t most_bundle_entries = 64;
constexpr std::size_t max_metadata_bytes = std::size_t{4} << 20;
constexpr int max_metadata_depth = 16;

error broken(const std::string& what) {
  return error{fault::corrupt, fmt::format("the code object does not hold together: {}", what)};
}

std::optional<std::string_view> part_of(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || size > bytes.size() - at) return std::nullopt;
  return bytes.substr(at, size);
}

template <class T>
std::optional<T> read_at(std::string_view bytes, std::uint64_t at) {
  const auto part = part_of(bytes, at, sizeof(T));
  if (!part) return std::nullopt;
  T value;
  std::memcpy(&value, part->data(), sizeof(T));
  return value;
}

/// The sections of a 64-bit little-endian ELF file with their names; empty when there is something wrong with it.
struct section {
  std::string_view name, bytes;
  std::uint32_t type = 0;
};
std::vector<section> sections_of(std::string_view elf) {
  const auto header = read_at<Elf64_Ehdr>(elf, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) return {};
  std::vector<Elf64_Shdr> headers;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto one = read_at<Elf64_Shdr>(elf, header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!one) return {};
    headers.push_back(*one);
  }
  if (header->e_shstrndx >= headers.size()) return {};
  const auto names = part_of(elf, headers[header->e_shstrndx].sh_offset, headers[header->e_shstrndx].sh_size);
  if (!names) return {};
  std::vector<section> all;
  for (const Elf64_Shdr& one : headers) {
    if (one.sh_type == SHT_NOBITS || one.sh_name >= names->size()) continue;
    const auto bytes = part_of(elf, one.sh_offset, one.sh_size);
    const std::size_t end = names->find('\0', one.sh_name);
    if (bytes && end != std::string_view::npos) all.push_back({names->substr(one.sh_name, end - one.sh_name), *bytes, one.sh_type});
  }
  return all;
}

/// Turns away nesting that would exhaust the stack of a recursive reader.
class depth_check final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= max_metadata_depth; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return ++depth_ <= max_metadata_depth; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  int depth_ = 0;
};

std::optional<nlohmann::json> read_metadata(std::string_view bytes) {
  depth_check shallow;
  if (bytes.size() > max_metadata_bytes ||
      !nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &shallow, nlohmann::json::input_format_t::msgpack))
    return std::nullopt;
  nlohmann::json read = nlohmann::json::from_msgpack(bytes.begin(), bytes.end(), true, false);
  return read.is_object() ? std::optional(std::move(read)) : std::nullopt;
}

/// The description of the metadata note among a section's notes.
std::optional<std::string_view> find_metadata(std::string_view notes) {
  constexpr std::uint64_t alignment = 4;
  const auto padded = [](std::uint64_t size) { return (size + alignment - 1) / alignment * alignment; };
  for (std::uint64_t at = 0; at < notes.size();) {
    const auto header = read_at<Elf64_Nhdr>(notes, at);
    if (!header) return std::nullopt;
    const std::uint64_t name_at = at + sizeof(Elf64_Nhdr), text_at = name_at + padded(header->n_namesz);
    const auto name = part_of(notes, name_at, header->n_namesz), text = part_of(notes, text_at, header->n_descsz);
    if (!name || !text) return std::nullopt;
    if (header->n_type == metadata_note && name->substr(0, name->find('\0')) == "AMDGPU") return text;
    at = text_at + padded(header->n_descsz);
  }
  return std::nullopt;
}

std::int64_t number(const nlohmann::json& kernel, const char* key) {
  const auto found = kernel.find(key);
  return found != kernel.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

/// The numbers of a kernel by the names that reports give them.
struct named_number {
  const char* name;
  std::int64_t kernel_resources::*value;
};
constexpr std::array<named_number, 9> numbers = {{{"vgprs", &kernel_resources::vgprs},
                                                  {"agprs", &kernel_resources::agprs},
                                                  {"sgprs", &kernel_resources::sgprs},
                                                  {"lds_bytes", &kernel_resources::lds_bytes},
                                                  {"scratch_bytes", &kernel_resources::scratch_bytes},
                                                  {"spilled_vgprs", &kernel_resources::spilled_vgprs},
                                                  {"spilled_sgprs", &kernel_resources::spilled_sgprs},
                                                  {"wave_size", &kernel_resources::wave_size},
                                                  {"most_threads", &kernel_resources::most_threads}}};

}  // namespace

result<std::string_view> find_code_object(std::string_view library, std::string_view architecture) {
  bool any = false;
  for (const section& s : sections_of(library)) {
    if (s.name != ".hip_fatbin") continue;
    any = true;
    if (!s.bytes.starts_with(bundle_magic)) continue;
    const auto count = read_at<std::uint64_t>(s.bytes, bundle_magic.size());
    if (!count || *count > most_bundle_entries) return tl::unexpected(broken("the table of the fat binary"));
    std::uint64_t at = bundle_magic.size() + sizeof(std::uint64_t);
    for (std::uint64_t i = 0; i < *count; ++i) {
      const auto entry = read_at<std::array<std::uint64_t, 3>>(s.bytes, at);  // offset, size, length of the name
      const auto name = entry ? part_of(s.bytes, at + sizeof(*entry), (*entry)[2]) : std::nullopt;
      if (!name) return tl::unexpected(broken("the table of the fat binary"));
      at += sizeof(*entry) + name->size();
      // "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-": a target, then settings.
      const std::string_view target = name->substr(0, name->find(':'));
      if (name->find("amdgcn") == std::string_view::npos || !target.ends_with(fmt::format("-{}", architecture))) continue;
      const auto object = part_of(s.bytes, (*entry)[0], (*entry)[1]);
      if (!object) return tl::unexpected(broken("an entry of the fat binary"));
      return *object;
    }
  }
  if (!any) return std::string_view();
  return fail(fault::corrupt, fmt::format("the library holds no code object for {}", architecture));
}

result<std::vector<kernel_resources>> read_resources(std::string_view code_object) {
  for (const section& s : sections_of(code_object)) {
    if (s.type != SHT_NOTE) continue;
    const auto text = find_metadata(s.bytes);
    if (!text) continue;
    const auto metadata = read_metadata(*text);
    if (!metadata || !metadata->contains("amdhsa.kernels") || !metadata->at("amdhsa.kernels").is_array())
      return tl::unexpected(broken("its metadata"));
    std::vector<kernel_resources> kernels;
    for (const nlohmann::json& k : metadata->at("amdhsa.kernels")) {
      if (!k.is_object() || !k.contains(".name") || !k.at(".name").is_string()) return tl::unexpected(broken("a kernel's metadata"));
      kernels.push_back({k.at(".name").get<std::string>(), number(k, ".vgpr_count"), number(k, ".agpr_count"), number(k, ".sgpr_count"),
                         number(k, ".group_segment_fixed_size"), number(k, ".private_segment_fixed_size"), number(k, ".vgpr_spill_count"),
                         number(k, ".sgpr_spill_count"), number(k, ".wavefront_size"), number(k, ".max_flat_workgroup_size")});
    }
    return kernels;
  }
  return tl::unexpected(broken("no metadata notes"));
}

kernel_resources largest_resources(const std::vector<kernel_resources>& kernels) {
  kernel_resources most;
  for (const kernel_resources& k : kernels)
    for (const named_number& n : numbers) most.*n.value = std::max(most.*n.value, k.*n.value);
  return most;
}

const device_limits* limits_of(std::string_view architecture) {
  static constexpr device_limits cdna;  // "AMD Instinct MI200" and "MI300 Instruction Set Architecture": registers, LDS, waves
  return architecture == "gfx90a" || architecture.starts_with("gfx94") ? &cdna : nullptr;
}

std::string over_limit(const kernel_resources& kernel, const device_limits& limits) {
  if (kernel.lds_bytes > limits.lds_bytes) return fmt::format("{} bytes of LDS of {}", kernel.lds_bytes, limits.lds_bytes);
  if (kernel.vgprs > limits.vgprs) return fmt::format("{} vector registers of {}", kernel.vgprs, limits.vgprs);
  if (kernel.most_threads > limits.most_threads)
    return fmt::format("work-groups of {} threads of {}", kernel.most_threads, limits.most_threads);
  return {};
}

std::int64_t waves_by_registers(const kernel_resources& kernel, const device_limits& limits) {
  const std::int64_t granule = limits.register_granule;
  const std::int64_t taken = std::max<std::int64_t>(granule, (kernel.vgprs + granule - 1) / granule * granule);
  return std::min(limits.most_waves, limits.vgprs / taken);
}

std::string report_of(std::string_view architecture, const std::vector<kernel_resources>& kernels) {
  std::string text;
  for (const kernel_resources& k : kernels) {
    text += fmt::format("{} kernel {}:", architecture, k.name);
    for (const named_number& n : numbers) text += fmt::format(" {}={}", n.name, k.*n.value);
    text += '\n';
  }
  return text;
}

std::vector<kernel_resources> parse_report(std::string_view architecture, std::string_view log) {
  std::vector<kernel_resources> kernels;
  std::istringstream lines{std::string(log)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string device, kind, word;
    kernel_resources k;
    if (!(words >> device >> kind >> k.name) || device != architecture || kind != "kernel" || !k.name.ends_with(':')) continue;
    k.name.pop_back();
    while (words >> word)
      for (const named_number& n : numbers)
        if (const std::string key = std::string(n.name) + '='; word.starts_with(key)) {
          std::istringstream digits(word.substr(key.size()));
          digits >> k.*n.value;
        }
    kernels.push_back(std::move(k));
  }
  return kernels;
}

}  // namespace kernsmith::hip
