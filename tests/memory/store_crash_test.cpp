// What a kill, a torn log and a damaged file leave behind.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <set>

#include <doctest/doctest.h>

#include "child_process.hpp"
#include "memory/database.hpp"
#include "memory/keys.hpp"
#include "memory/store.hpp"
#include "sample_records.hpp"
#include "temporary_folder.hpp"

using namespace kernsmith;
using namespace kernsmith::memory;
using namespace kernsmith::test;

namespace {

std::unique_ptr<store> must_open(const std::filesystem::path& directory) {
  auto opened = store::open(directory);
  REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
  return *std::move(opened);
}

/// A batch over many families that belongs together: event number n, candidate n, evaluation n, blob n.
write_batch step(std::uint64_t n) {
  write_batch batch;
  const auto id = fmt::format("cand-{:08}", n);
  auto c = sample_candidate(id, "sess-1", static_cast<std::int64_t>(n));
  c.source_blob = batch.put_blob(fmt::format("source {} {}", n, std::string(2000, 's')));
  batch.put(c);
  batch.put(sample_evaluation(fmt::format("eval-{:08}", n), "sess-1", id, 1));
  batch.emit("candidate.evaluated", {{"n", n}});
  return batch;
}

/// Every event from 1 has its number, and the rest of its batch; nothing is there without its event.
void check_whole(const store& s) {
  const auto events = s.events(0, 1'000'000);
  REQUIRE(events.size() == s.last_seq());
  for (std::size_t i = 0; i < events.size(); ++i) {
    REQUIRE(events[i].seq == i + 1);
    REQUIRE(events[i].payload["n"] == i + 1);
  }
  const auto candidates = s.candidates_of("sess-1");
  REQUIRE(candidates.size() == events.size());
  REQUIRE(s.evaluations_of("sess-1").size() == events.size());
  for (const auto& c : candidates) REQUIRE(s.get_blob(c.source_blob));
  REQUIRE(s.unreadable_records() == 0);
}

std::vector<std::filesystem::path> files_ending(const std::filesystem::path& directory, const std::string& end) {
  std::vector<std::filesystem::path> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == end && entry.file_size() > 0) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void overwrite(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Path, content and time of change of everything below a directory.
std::set<std::string> state_of(const std::filesystem::path& directory) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const auto content = entry.is_regular_file() ? contents(entry.path()) : std::string();
    out.insert(fmt::format("{} {} {}", entry.path().string(), entry.last_write_time().time_since_epoch().count(), content));
  }
  return out;
}

}  // namespace

TEST_CASE("role: write until killed" * doctest::skip()) {
  auto s = must_open(role_directory());
  for (std::uint64_t n = s->last_seq() + 1;; ++n) {
    REQUIRE(s->commit(step(n), n % 3 == 0));
    std::printf("acknowledged %llu\n", static_cast<unsigned long long>(n));
    std::fflush(stdout);
  }
}

TEST_CASE("kill -9 loses no acknowledged batch, tears none and leaves no gap") {
  const temporary_folder folder;
  constexpr int kills = 12;
  std::uint64_t acknowledged = 0;
  for (int round = 0; round < kills; ++round) {
    child_process writer("role: write until killed", folder / "data");
    for (int line = 0; line < 1 + 7 * round; ++line) REQUIRE(writer.wait_for_line("acknowledged "));
    writer.kill();
    // Whatever it said before it died counts too.
    std::string line;
    while (writer.read_line(line)) acknowledged += line.starts_with("acknowledged ") ? 1U : 0U;
    acknowledged += static_cast<std::uint64_t>(1 + 7 * round);
    auto s = must_open(folder / "data");
    CHECK(s->last_seq() >= acknowledged);
    CHECK(s->last_seq() <= acknowledged + static_cast<std::uint64_t>(round) + 1);  // at most one unsaid batch per kill
    check_whole(*s);
  }
}

TEST_CASE("a torn end of the log loses the last batch whole and nothing else") {
  const temporary_folder folder;
  constexpr std::uint64_t batches = 5;
  {
    auto s = must_open(folder / "data");
    for (std::uint64_t n = 1; n <= batches; ++n) REQUIRE(s->commit(step(n)));
  }
  const auto logs = files_ending(folder / "data", ".log");
  REQUIRE(logs.size() == 1);
  const auto whole = contents(logs[0]);
  for (const std::size_t cut : {std::size_t{1}, std::size_t{100}, std::size_t{300}}) {
    const temporary_folder copy;
    std::filesystem::copy(folder / "data", copy / "data", std::filesystem::copy_options::recursive);
    overwrite(files_ending(copy / "data", ".log")[0], whole.substr(0, whole.size() - cut));
    auto s = must_open(copy / "data");
    CHECK(s->last_seq() == batches - 1);
    check_whole(*s);
    REQUIRE(s->commit(step(batches)));  // its number is free again: no one was told it was taken
    check_whole(*s);
  }
}

TEST_CASE("damage in the middle of the log is told, never skipped") {
  const temporary_folder folder;
  {
    auto s = must_open(folder / "data");
    for (std::uint64_t n = 1; n <= 20; ++n) REQUIRE(s->commit(step(n)));
  }
  const auto log = files_ending(folder / "data", ".log").at(0);
  auto bytes = contents(log);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  overwrite(log, bytes);
  const auto opened = store::open(folder / "data");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind == fault::corrupt);
  CHECK(opened.error().message.find((folder / "data").string()) != std::string::npos);
}

TEST_CASE("a newer schema is refused and nothing is touched") {
  const temporary_folder folder;
  { REQUIRE(must_open(folder / "data")->commit(step(1))); }
  {
    auto raw = database::open(folder / "data", false);
    REQUIRE(raw);
    REQUIRE((*raw)->rocks().Put(rocksdb::WriteOptions(), (*raw)->handle(family::meta), "schema", big_endian(schema_version + 1)).ok());
  }
  const auto before = state_of(folder / "data");
  REQUIRE(before.size() > 3);
  for (const bool read_only : {false, true}) {
    const auto opened = store::open(folder / "data", read_only);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().kind == fault::missing_here);
    CHECK(opened.error().message.find(fmt::format("schema {}", schema_version + 1)) != std::string::npos);
    CHECK(state_of(folder / "data") == before);
  }
}

TEST_CASE("a reader changes no file") {
  const temporary_folder folder;
  { REQUIRE(must_open(folder / "data")->commit(step(1))); }
  const auto before = state_of(folder / "data");
  {
    const auto reader = store::open(folder / "data", true);
    REQUIRE(reader);
    check_whole(**reader);
  }
  CHECK(state_of(folder / "data") == before);
}

TEST_CASE("many starts leave few logs") {
  const temporary_folder folder;
  for (std::uint64_t n = 1; n <= 40; ++n) REQUIRE(must_open(folder / "data")->commit(step(n), false));
  CHECK(files_ending(folder / "data", ".log").size() <= 12);
  check_whole(*must_open(folder / "data"));
}
