#include "memory/store.hpp"

#include <doctest/doctest.h>

#include "memory/batch.hpp"
#include "memory/blob.hpp"
#include "sample_records.hpp"
#include "temporary_folder.hpp"

using namespace kernsmith;
using namespace kernsmith::memory;
using namespace kernsmith::test;

namespace {

std::unique_ptr<store> must_open(const std::filesystem::path& directory, bool read_only = false) {
  auto opened = store::open(directory, read_only);
  REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message));
  return *std::move(opened);
}

std::vector<event> must_commit(store& s, write_batch batch) {
  auto events = s.commit(std::move(batch));
  REQUIRE_MESSAGE(events, (events ? "" : events.error().message));
  return *std::move(events);
}

bool mentions(const error& e, std::string_view text) {
  return e.message.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("what was committed is there, also after a new start") {
  const temporary_folder folder;
  std::string blob, stream;
  {
    auto s = must_open(folder / "data");
    stream = s->stream_id();
    CHECK(stream.starts_with("stream-"));
    CHECK(s->last_seq() == 0);
    write_batch batch;
    batch.put(sample_session("sess-1"));
    batch.put(sample_candidate("cand-a", "sess-1", 0));
    batch.put(sample_evaluation("eval-a", "sess-1", "cand-a", 1.5));
    batch.put_problem("problem-hash", "softmax", "name = \"softmax\"\n");
    blob = batch.put_blob("int main() {}\n");
    batch.emit("session.started", {{"session", "sess-1"}});
    batch.emit("candidate.evaluated", {{"candidate", "cand-a"}});
    const auto events = must_commit(*s, std::move(batch));
    REQUIRE(events.size() == 2);
    CHECK(events[0].seq == 1);
    CHECK(events[1].seq == 2);
    CHECK(events[1].stream == stream);
    CHECK(events[1].time.size() == std::string("2026-01-02T03:04:05.006Z").size());
  }
  for (const bool read_only : {false, true}) {
    auto s = must_open(folder / "data", read_only);
    CHECK(s->stream_id() == stream);
    CHECK(s->last_seq() == 2);
    CHECK(s->get_session("sess-1")->seed == 7);
    CHECK(s->get_candidate("cand-a")->parameters.at("unroll") == 4);
    CHECK(nlohmann::json(*s->get_evaluation("eval-a")) == nlohmann::json(sample_evaluation("eval-a", "sess-1", "cand-a", 1.5)));
    CHECK(s->get_problem("problem-hash")->text == "name = \"softmax\"\n");
    CHECK(*s->get_blob(blob) == "int main() {}\n");
    const auto events = s->events(2, 10);
    REQUIRE(events.size() == 1);
    CHECK(events[0].topic == "candidate.evaluated");
    CHECK(events[0].payload["candidate"] == "cand-a");
    CHECK(s->unreadable_records() == 0);
  }
}

TEST_CASE("event numbers have no gaps over batches and starts, and a refused batch takes none") {
  const temporary_folder folder;
  for (std::uint64_t start = 0; start < 3; ++start) {
    auto s = must_open(folder / "data");
    write_batch good;
    good.emit("session.started", nlohmann::json::object());
    CHECK(must_commit(*s, std::move(good)).front().seq == start + 1);
    write_batch bad;
    bad.emit("session.started", nlohmann::json::object());
    bad.put(sample_session(""));
    const auto refused = s->commit(std::move(bad));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == fault::bug);
    CHECK(s->last_seq() == start + 1);
  }
}

TEST_CASE("ids are found by unique prefix") {
  const temporary_folder folder;
  auto s = must_open(folder / "data");
  write_batch batch;
  for (const auto* id : {"sess-aa11", "sess-aa12", "sess-bb", "sess-bbb"}) batch.put(sample_session(id));
  must_commit(*s, std::move(batch));
  CHECK(s->get_session("sess-aa11")->id == "sess-aa11");
  CHECK(s->get_session("aa12")->id == "sess-aa12");
  CHECK(s->get_session("bb")->id == "sess-bb");  // whole, although it begins another
  CHECK(s->get_session("bbb")->id == "sess-bbb");
  const auto several = s->get_session("aa");
  REQUIRE_FALSE(several);
  CHECK(several.error().kind == fault::bad_request);
  CHECK(mentions(several.error(), "sess-aa11, sess-aa12"));
  const auto none = s->get_session("zz");
  REQUIRE_FALSE(none);
  CHECK(none.error().kind == fault::bad_request);
  CHECK(mentions(none.error(), "'zz'"));
  CHECK_FALSE(s->get_session(""));
}

TEST_CASE("candidates come by move number, evaluations in the order in which they were made") {
  const temporary_folder folder;
  auto s = must_open(folder / "data");
  for (const int move : {300, 2, 1, 0}) {
    write_batch batch;
    const auto id = fmt::format("cand-{}", move);
    batch.put(sample_candidate(id, "sess-1", move));
    batch.put(sample_evaluation(fmt::format("eval-{}", move), "sess-1", id, move + 1));
    batch.put(sample_candidate(id, "sess-10", move));  // another session, whose id begins with the same letters
    must_commit(*s, std::move(batch));
  }
  std::vector<std::int64_t> moves;
  for (const auto& c : s->candidates_of("sess-1")) moves.push_back(c.move);
  CHECK(moves == std::vector<std::int64_t>{0, 1, 2, 300});
  write_batch again;  // written a second time: in its old place
  auto changed = sample_evaluation("eval-2", "sess-1", "cand-2", 3);
  changed.evidence = "evidence/2";
  again.put(changed);
  must_commit(*s, std::move(again));
  const auto evaluations = s->evaluations_of("sess-1");
  REQUIRE(evaluations.size() == 4);
  CHECK(evaluations[0].id == "eval-300");
  CHECK(evaluations[1].id == "eval-2");
  CHECK(evaluations[1].evidence == "evidence/2");
  CHECK(evaluations[3].id == "eval-0");
  CHECK(s->evaluations_for_candidate("cand-2").size() == 1);
}

TEST_CASE("a candidate made in two sessions is one id with two records") {
  const temporary_folder folder;
  auto s = must_open(folder / "data");
  write_batch batch;
  auto first = sample_candidate("cand-a", "sess-1", 3);
  first.created = "2026-01-01T00:00:00.000Z";
  auto second = sample_candidate("cand-a", "sess-2", 5);
  second.created = "2026-01-02T00:00:00.000Z";
  batch.put(second);
  batch.put(first);
  batch.put(sample_evaluation("eval-1", "sess-1", "cand-a", 2));
  batch.put(sample_evaluation("eval-2", "sess-2", "cand-a", 3));
  must_commit(*s, std::move(batch));
  CHECK(s->get_candidate("cand-a")->session == "sess-2");
  CHECK(s->candidates_of("sess-1").front().move == 3);
  const auto both = s->evaluations_for_candidate("cand-a");
  REQUIRE(both.size() == 2);
  CHECK(both[0].speedup == 2);
}

TEST_CASE("sessions are listed oldest first, and the newest unfinished one is resumed") {
  const temporary_folder folder;
  auto s = must_open(folder / "data");
  for (const auto* id : {"sess-c", "sess-a", "sess-b"}) {
    write_batch batch;
    auto r = sample_session(id);
    r.seed = id[5];
    batch.put(r);
    must_commit(*s, std::move(batch));
  }
  std::vector<std::string> ids;
  for (const auto& r : s->sessions()) ids.push_back(r.id);
  CHECK(ids == std::vector<std::string>{"sess-c", "sess-a", "sess-b"});
  CHECK(s->resumable("problem-hash", "cpp/x86-64-v4")->id == "sess-b");
  CHECK(s->resumable("problem-hash", "cpp/x86-64-v4", [](const session& r) { return r.seed == 'a'; })->id == "sess-a");
  write_batch finish;
  auto done = sample_session("sess-b");
  done.state = "finished";
  finish.put(done);
  must_commit(*s, std::move(finish));
  CHECK(s->sessions().size() == 3);
  CHECK(s->resumable("problem-hash", "cpp/x86-64-v4")->id == "sess-a");
  const auto none = s->resumable("other", "cpp/x86-64-v4");
  REQUIRE_FALSE(none);
  CHECK(none.error().kind == fault::bad_request);
}

TEST_CASE("champions are one per problem, target and device") {
  const temporary_folder folder;
  auto s = must_open(folder / "data");
  CHECK(s->get_champion("p", "t", "d").error().kind == fault::bad_request);
  write_batch batch;
  batch.put(champion{"p", "t", "d", "cand-a", "eval-a", "sess-a", "softmax", 2, ""});
  batch.put(champion{"p", "t", "d2", "cand-b", "eval-b", "sess-a", "softmax", 3, ""});
  batch.put(champion{"p", "t", "d", "cand-c", "eval-c", "sess-b", "softmax", 4, ""});
  must_commit(*s, std::move(batch));
  CHECK(s->get_champion("p", "t", "d")->candidate == "cand-c");
  CHECK(s->champions().size() == 2);
}

TEST_CASE("blobs are stored once, whatever they hold, and checked when read") {
  const temporary_folder folder;
  auto s = must_open(folder / "data");
  const std::string binary("\0\xff\x80 text\n", 9);
  const std::string repeated(1 << 20, 'x');
  write_batch batch;
  const auto a = batch.put_blob(binary);
  CHECK(batch.put_blob(binary) == a);
  const auto b = batch.put_blob(repeated);
  const auto empty = batch.put_blob("");
  must_commit(*s, std::move(batch));
  CHECK(*s->get_blob(a) == binary);
  CHECK(*s->get_blob(b) == repeated);
  CHECK(s->get_blob(empty)->empty());
  CHECK(s->get_blob("0123").error().kind == fault::bad_request);

  auto packed = *pack_blob(repeated);
  CHECK(packed.size() < 1000);
  CHECK(unpack_blob(packed, b));
  CHECK(unpack_blob(packed, a).error().kind == fault::corrupt);  // intact, but not what the name says
  for (std::size_t i = 0; i < packed.size(); ++i) {
    auto damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    const auto read = unpack_blob(damaged, b);
    CHECK((!read || *read == repeated));  // never other bytes
  }
}

TEST_CASE("a blob beyond the limit refuses its whole batch") {
  const temporary_folder folder;
  auto s = must_open(folder / "data");
  write_batch batch;
  batch.put(sample_session("sess-1"));
  batch.put_blob(std::string(max_blob_bytes + 1, 'x'));
  const auto refused = s->commit(std::move(batch));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == fault::bad_request);
  CHECK(s->sessions().empty());
}

TEST_CASE("vectors keep their kind, and their version moves with each write") {
  const temporary_folder folder;
  auto s = must_open(folder / "data");
  CHECK(s->vector_version("problem") == 0);
  write_batch batch;
  batch.put_vector("problem", "p1", {1, 0});
  batch.put_vector("candidate", "c1", {0, 1});
  must_commit(*s, std::move(batch));
  const auto before = s->vector_version("problem");
  CHECK(before > 0);
  REQUIRE(s->vectors("problem").size() == 1);
  CHECK(s->vectors("problem")[0].first == "p1");
  CHECK(s->vectors("problem")[0].second == std::vector<float>{1, 0});
  write_batch again;
  again.put_vector("candidate", "c2", {1, 0});
  must_commit(*s, std::move(again));
  CHECK(s->vector_version("problem") == before);
  write_batch third;
  third.put_vector("problem", "p1", {0, 1});
  must_commit(*s, std::move(third));
  CHECK(s->vector_version("problem") > before);
  write_batch bad;
  bad.put_vector("problem", "p2", {1, std::numeric_limits<float>::quiet_NaN()});
  CHECK_FALSE(s->commit(std::move(bad)));
}

TEST_CASE("a reader works beside a writer and sees what was committed before it opened") {
  const temporary_folder folder;
  CHECK(store::open(folder / "data", true).error().kind == fault::missing_here);
  CHECK_FALSE(std::filesystem::exists(folder / "data"));
  auto writer = must_open(folder / "data");
  write_batch batch;
  batch.put(sample_session("sess-1"));
  must_commit(*writer, std::move(batch));
  auto reader = must_open(folder / "data", true);
  CHECK(reader->get_session("sess-1"));
  write_batch refused;
  refused.put(sample_session("sess-2"));
  CHECK(reader->commit(std::move(refused)).error().kind == fault::missing_here);
  write_batch more;
  more.put(sample_session("sess-3"));
  must_commit(*writer, std::move(more));
  CHECK(reader->sessions().size() == 1);
  CHECK(must_open(folder / "data", true)->sessions().size() == 2);
}
