// Reading code objects: a recorded one (hipcc 5.2, gfx90a, of fixtures/row_sum.hip), and bytes that don't hold together.
#include "backends/hip/code_object.hpp"

#include <doctest/doctest.h>
#include <elf.h>

#include <cstring>
#include <fstream>

namespace kernsmith::hip {
namespace {

std::string recorded() {
  std::ifstream in(KERNSMITH_SOURCE_DIR "/tests/hip/fixtures/row_sum.gfx90a.bin", std::ios::binary);
  REQUIRE(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_CASE("a recorded code object") {
  const std::string library = recorded();
  const auto object = find_code_object(library, "gfx90a");
  REQUIRE(object.has_value());
  const auto kernels = read_resources(*object);
  REQUIRE(kernels.has_value());
  REQUIRE(kernels->size() == 1);
  const kernel_resources& k = kernels->front();
  CHECK(k.name == "_Z14row_sum_kernelPKfPfl");
  CHECK(k.vgprs == 7);
  CHECK(k.agprs == 0);
  CHECK(k.sgprs == 14);
  CHECK(k.lds_bytes == 1024);
  CHECK(k.scratch_bytes == 0);
  CHECK(k.wave_size == 64);
  CHECK(k.most_threads == 256);
  CHECK(!find_code_object(library, "gfx908").has_value());
  CHECK(!find_code_object(library, "90a").has_value());
  CHECK(!find_code_object(library, "x90a").has_value());
}

TEST_CASE("the report and back") {
  const std::vector<kernel_resources> kernels = {{"_Z1aPf", 40, 8, 30, 1024, 0, 0, 0, 64, 256},
                                                 {"_Z1bPf", 12, 0, 96, 0, 64, 3, 1, 64, 1024}};
  const std::string log = "warning: something\n" + report_of("gfx90a", kernels) + "gfx908 kernel _Z1c: vgprs=1\n";
  const auto read = parse_report("gfx90a", log);
  REQUIRE(read.size() == 2);
  CHECK(report_of("gfx90a", read) == report_of("gfx90a", kernels));
  const kernel_resources most = largest_resources(read);
  CHECK(most.vgprs == 40);
  CHECK(most.sgprs == 96);
  CHECK(most.scratch_bytes == 64);
  CHECK(parse_report("gfx90a", "gfx90a kernel\ngfx90a kernel x vgprs=4\n\n").empty());
}

TEST_CASE("limits and waves of CDNA 2 and 3") {
  const device_limits* limits = limits_of("gfx90a");
  REQUIRE(limits != nullptr);
  CHECK(limits_of("gfx942") != nullptr);
  CHECK(limits_of("gfx1030") == nullptr);
  kernel_resources k;
  k.vgprs = 64;
  k.most_threads = 1024;
  k.lds_bytes = 65536;
  CHECK(over_limit(k, *limits) == "");
  CHECK(waves_by_registers(k, *limits) == 8);
  k.vgprs = 65;
  CHECK(waves_by_registers(k, *limits) == 7);
  k.vgprs = 128;
  CHECK(waves_by_registers(k, *limits) == 4);
  k.vgprs = 512;
  CHECK(waves_by_registers(k, *limits) == 1);
  k.vgprs = 0;
  CHECK(waves_by_registers(k, *limits) == 8);
  k.lds_bytes = 65540;
  CHECK(over_limit(k, *limits) == "65540 bytes of LDS of 65536");
}

TEST_CASE("damaged libraries are refused, wherever the damage is") {
  const std::string whole = recorded();
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    const std::string cut = whole.substr(0, size);
    if (const auto object = find_code_object(cut, "gfx90a")) (void)read_resources(*object);
  }
  std::uint32_t random = 12345;
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (int n = 0; n < 8; ++n) {
      random = random * 1664525u + 1013904223u;
      bytes[random % bytes.size()] = static_cast<char>(random >> 24);
    }
    if (const auto object = find_code_object(bytes, "gfx90a")) (void)read_resources(*object);
  }
  CHECK(find_code_object("", "gfx90a")->empty());
  CHECK(!read_resources("").has_value());
}

/// An ELF file with one section of notes that holds `metadata`.
std::string code_object_with(const std::string& metadata) {
  const std::string names("\0.note\0.shstrtab\0", 17);
  Elf64_Nhdr note{7, static_cast<Elf64_Word>(metadata.size()), 32};
  std::string notes(reinterpret_cast<const char*>(&note), sizeof(note));
  notes += std::string("AMDGPU\0\0", 8) + metadata;
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  header.e_shoff = sizeof(header);
  Elf64_Shdr sections[3] = {};
  const std::size_t data = sizeof(header) + sizeof(sections);
  sections[1] = {1, SHT_NOTE, 0, 0, data, notes.size(), 0, 0, 4, 0};
  sections[2] = {7, SHT_STRTAB, 0, 0, data + notes.size(), names.size(), 0, 0, 1, 0};
  std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
  file.append(reinterpret_cast<const char*>(sections), sizeof(sections));
  return file + notes + names;
}

TEST_CASE("metadata that would exhaust the reader") {
  CHECK(read_resources(code_object_with(std::string("\x81\xae"
                                                    "amdhsa.kernels"
                                                    "\x90",
                                                    17)))
            ->empty());
  CHECK(!read_resources(code_object_with(std::string(1 << 20, '\x91'))).has_value());            // a million arrays, one in the other
  CHECK(!read_resources(code_object_with(std::string("\xdd\xff\xff\xff\xff", 5))).has_value());  // an array of four billion
  CHECK(!read_resources(code_object_with("")).has_value());
  CHECK(!read_resources(code_object_with(std::string("\x81\xae"
                                                     "amdhsa.kernels"
                                                     "\x91\x01",
                                                     18)))
             .has_value());
}

}  // namespace
}  // namespace kernsmith::hip
