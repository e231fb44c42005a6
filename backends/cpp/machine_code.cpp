#include "backends/cpp/machine_code.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "config/hash.hpp"

namespace kernsmith::cpp {

namespace {

/// A view of the file that never reads outside it. `bad` remembers that something did not fit.
class elf_view {
 public:
  explicit elf_view(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  [[nodiscard]] T at(std::uint64_t offset) {
    T record{};
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) {
      bad = true;
    } else {
      std::memcpy(&record, bytes_.data() + offset, sizeof(T));
    }
    return record;
  }
  [[nodiscard]] std::string_view range(std::uint64_t offset, std::uint64_t size) {
    if (offset > bytes_.size() || bytes_.size() - offset < size) {
      bad = true;
      return {};
    }
    return bytes_.substr(offset, size);
  }

  bool bad = false;

 private:
  std::string_view bytes_;
};

struct section {
  Elf64_Shdr header{};
  std::string_view name;
  std::string_view content;  ///< empty for sections without bytes in the file
};

std::string_view text_at(std::string_view table, std::uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

std::vector<section> read_sections(elf_view& file) {
  const auto header = file.at<Elf64_Ehdr>(0);
  std::vector<section> sections;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN || header.e_shentsize != sizeof(Elf64_Shdr)) {
    file.bad = true;
    return sections;
  }
  for (std::uint64_t i = 0; i < header.e_shnum && !file.bad; ++i) {
    section one;
    one.header = file.at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
    if (one.header.sh_type != SHT_NOBITS && one.header.sh_type != SHT_NULL)
      one.content = file.range(one.header.sh_offset, one.header.sh_size);
    sections.push_back(one);
  }
  if (header.e_shstrndx >= sections.size()) {
    file.bad = true;
    return sections;
  }
  const std::string_view names = sections[header.e_shstrndx].content;
  for (section& one : sections) one.name = text_at(names, one.header.sh_name);
  return sections;
}

/// "section+offset" for an address, so that a shift of whole segments (longer symbol names) changes nothing.
std::string place_of(const std::vector<section>& sections, std::uint64_t address) {
  for (const section& one : sections) {
    if ((one.header.sh_flags & SHF_ALLOC) != 0 && address >= one.header.sh_addr && address - one.header.sh_addr < one.header.sh_size) {
      return fmt::format("{}+{:x}", one.name, address - one.header.sh_addr);
    }
  }
  return fmt::format("{:x}", address);
}

/// The references that the loader fills in. Which functions are called from outside stands only here: the code of sinf and cosf callers is
/// the same.
std::vector<std::string> references(elf_view& file, const std::vector<section>& sections) {
  std::vector<std::string> found;
  for (const section& table : sections) {
    if (table.header.sh_type != SHT_RELA || (table.header.sh_flags & SHF_ALLOC) == 0 || table.header.sh_link >= sections.size()) continue;
    const section& symbols = sections[table.header.sh_link];
    const std::string_view names = symbols.header.sh_link < sections.size() ? sections[symbols.header.sh_link].content : std::string_view{};
    for (std::uint64_t at = 0; at + sizeof(Elf64_Rela) <= table.header.sh_size && !file.bad; at += sizeof(Elf64_Rela)) {
      const auto entry = file.at<Elf64_Rela>(table.header.sh_offset + at);
      const std::uint64_t index = ELF64_R_SYM(entry.r_info);
      std::string target;
      if (index == 0) {
        target = place_of(sections, static_cast<std::uint64_t>(entry.r_addend));
      } else {
        const auto symbol = file.at<Elf64_Sym>(symbols.header.sh_offset + index * sizeof(Elf64_Sym));
        target = symbol.st_shndx == SHN_UNDEF ? std::string(text_at(names, symbol.st_name)) : place_of(sections, symbol.st_value);
        target += fmt::format("{:+}", entry.r_addend);
      }
      found.push_back(fmt::format("{} {} {}\n", ELF64_R_TYPE(entry.r_info), place_of(sections, entry.r_offset), target));
    }
  }
  std::sort(found.begin(), found.end());  // the linker orders them by symbol names
  return found;
}

/// Sections whose bytes decide what the code does. Left out: names, notes, unwind tables, and the tables that only say again what the
/// references say.
bool decides_behaviour(const section& one) {
  if ((one.header.sh_flags & SHF_ALLOC) == 0) return false;
  const auto type = one.header.sh_type;
  if (type != SHT_PROGBITS && type != SHT_NOBITS && type != SHT_INIT_ARRAY && type != SHT_FINI_ARRAY && type != SHT_PREINIT_ARRAY)
    return false;
  if (one.name == ".kernsmith_source") return false;  // a device program's text; its own machine code decides
  return !one.name.starts_with(".eh_frame") && !one.name.starts_with(".got") && !one.name.starts_with(".plt") && one.name != ".interp";
}

bool exports(elf_view& file, const std::vector<section>& sections, std::string_view wanted) {
  for (const section& table : sections) {
    if (table.header.sh_type != SHT_DYNSYM || table.header.sh_link >= sections.size()) continue;
    const std::string_view names = sections[table.header.sh_link].content;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.header.sh_size && !file.bad; at += sizeof(Elf64_Sym)) {
      const auto symbol = file.at<Elf64_Sym>(table.header.sh_offset + at);
      if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && text_at(names, symbol.st_name) == wanted)
        return true;
    }
  }
  return false;
}

std::string build_id_of(const std::vector<section>& sections) {
  for (const section& one : sections) {
    if (one.name != ".note.gnu.build-id" || one.content.size() < sizeof(Elf64_Nhdr) + 4) continue;
    std::string hex;
    for (const char byte : one.content.substr(sizeof(Elf64_Nhdr) + 4)) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return hex;
  }
  return {};
}

}  // namespace

result<library_facts> inspect_library(const std::string& bytes) {
  elf_view file(bytes);
  const std::vector<section> sections = read_sections(file);
  std::string behaviour;
  for (const section& one : sections) {
    if (!decides_behaviour(one)) continue;
    behaviour += fmt::format("{} {}\n", one.name, one.header.sh_size);
    behaviour += one.content;
  }
  for (const std::string& reference : references(file, sections)) behaviour += reference;
  library_facts facts;
  facts.exports_launch = exports(file, sections, "launch");
  facts.build_id = build_id_of(sections);
  if (file.bad) return fail(fault::corrupt, "the built library is no well-formed ELF shared object");
  facts.machine_code = content_hash(behaviour);
  return facts;
}

result<std::string> read_library(const std::filesystem::path& path) {
  const auto failed = [&](int why) {
    return fail(fault::infrastructure, fmt::format("reading {}: {}", path.string(), std::generic_category().message(why)));
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return failed(errno);
  struct stat facts {};
  std::string bytes;
  int why = 0;
  if (::fstat(file, &facts) != 0) {
    why = errno;
  } else if (!S_ISREG(facts.st_mode) || static_cast<std::size_t>(facts.st_size) > max_library_bytes) {
    why = EFBIG;
  } else {
    bytes.resize(static_cast<std::size_t>(facts.st_size));
    std::size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t got = ::read(file, bytes.data() + have, bytes.size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        why = got < 0 ? errno : EIO;
        break;
      }
      have += static_cast<std::size_t>(got);
    }
  }
  ::close(file);
  if (why != 0) return failed(why);
  return bytes;
}

}  // namespace kernsmith::cpp
