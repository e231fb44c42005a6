#include "backends/cuda/machine_code.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "config/hash.hpp"

namespace kernsmith::cuda {

namespace {

// The container of device code, after NVIDIA's fatbinary.h.
constexpr std::uint32_t container_magic = 0xBA55ED50u;
struct container_header {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  ///< of what follows the header
};
constexpr std::uint16_t image_is_elf = 2;
struct image_header {
  std::uint16_t kind, version;
  std::uint32_t header_bytes;
  std::uint64_t bytes;
};

template <class T>
bool read(std::string_view from, std::uint64_t offset, T& into) {
  if (offset > from.size() || from.size() - offset < sizeof(T)) return false;
  std::memcpy(&into, from.data() + offset, sizeof(T));
  return true;
}

struct section {
  std::string_view name, content;
  std::uint64_t bytes = 0, flags = 0;
  std::uint32_t type = 0;
};

/// Empty when the file doesn't hold together.
std::vector<section> sections_of(std::string_view file) {
  Elf64_Ehdr header{};
  if (!read(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return {};
  std::vector<section> sections;
  std::vector<std::uint32_t> names;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr one{};
    if (!read(file, header.e_shoff + i * sizeof one, one)) return {};
    section s{{}, {}, one.sh_size, one.sh_flags, one.sh_type};
    if (one.sh_type != SHT_NOBITS && one.sh_type != SHT_NULL) {
      if (one.sh_offset > file.size() || file.size() - one.sh_offset < one.sh_size) return {};
      s.content = file.substr(one.sh_offset, one.sh_size);
    }
    sections.push_back(s);
    names.push_back(one.sh_name);
  }
  if (header.e_shstrndx >= sections.size()) return {};
  const std::string_view table = sections[header.e_shstrndx].content;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    if (names[i] < table.size()) sections[i].name = table.substr(names[i], table.find('\0', names[i]) - names[i]);
  }
  return sections;
}

/// Code, constants, resource tables and what refers to them; not line tables and names.
bool decides_on_device(const section& s) {
  for (const char* prefix :
       {".text", ".nv.constant", ".nv.info", ".nv.shared", ".nv.global", ".nv.local", ".rel", ".nv.uft", ".nv.compat"}) {
    if (s.name.starts_with(prefix) && s.name.find("debug") == std::string_view::npos) return true;
  }
  return false;
}

bool decides_on_host(const section& s) {
  if ((s.flags & SHF_ALLOC) == 0 || s.name.starts_with(".nv") || s.name.starts_with(".eh_frame") || s.name.starts_with(".note"))
    return false;
  return s.type == SHT_PROGBITS || s.type == SHT_NOBITS || s.type == SHT_INIT_ARRAY || s.type == SHT_FINI_ARRAY;
}

/// Appends the device images in one section; false when they don't hold together.
bool add_images(std::string_view fat, std::string& behaviour, int& images) {
  std::uint64_t at = 0;
  while (at < fat.size()) {
    container_header container{};
    if (!read(fat, at, container)) return true;  // what is left is padding
    if (container.magic != container_magic) {
      at += sizeof(std::uint64_t);
      continue;
    }
    if (container.header_bytes < sizeof container || container.bytes > fat.size() - at) return false;
    std::uint64_t image_at = at + container.header_bytes;
    const std::uint64_t end = image_at + container.bytes;
    while (image_at < end) {
      image_header image{};
      if (!read(fat, image_at, image) || image.header_bytes < sizeof image || image.header_bytes + image.bytes > fat.size() - image_at)
        return false;
      const std::string_view code = fat.substr(image_at + image.header_bytes, image.bytes);
      const std::vector<section> sections = image.kind == image_is_elf ? sections_of(code) : std::vector<section>{};
      ++images;
      if (sections.empty()) behaviour += code;  // not ours to understand: its bytes then
      for (const section& s : sections) {
        if (!decides_on_device(s)) continue;
        behaviour += fmt::format("{} {}\n", s.type, s.bytes);
        behaviour += s.content;
      }
      image_at += image.header_bytes + image.bytes;
    }
    at = end;
  }
  return true;
}

}  // namespace

result<device_library_facts> inspect_device_library(const std::string& bytes) {
  const std::vector<section> sections = sections_of(bytes);
  if (sections.empty()) return fail(fault::corrupt, "the built library is no well-formed ELF shared object");
  device_library_facts facts;
  std::string behaviour;
  for (const section& s : sections) {
    if (s.name == ".nv_fatbin" && !add_images(s.content, behaviour, facts.device_images))
      return fail(fault::corrupt, "the device code in the built library doesn't hold together");
    if (!decides_on_host(s)) continue;
    behaviour += fmt::format("{} {}\n", s.name, s.bytes);
    behaviour += s.content;
  }
  facts.machine_code = content_hash(behaviour);
  return facts;
}

}  // namespace kernsmith::cuda
