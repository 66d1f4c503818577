//===- ObjectCacheTest.cpp - cache of compiled code on disk ---------------===//
#include "lib/Driver/ObjectCache.h"

#include "llvm/Support/FileSystem.h"

#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;

static const std::string someKey(64, 'a'), otherKey(64, 'b');

struct ObjectCacheTest : testing::Test {
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("tilewright-cache-test", path));
    root = path.str().str();
    folder = root + "/cache";
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }
  ObjectCacheOptions options() {
    ObjectCacheOptions result;
    result.folder = folder;
    result.warn = [this](const std::string &text) { warnings.push_back(text); };
    return result;
  }
  std::string entry(const std::string &key = someKey) { return folder + "/" + key.substr(0, 2) + "/" + key; }
  std::string contents(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void overwrite(const std::string &path, const std::string &text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  static std::string loaded(ObjectCache &cache, const std::string &key = someKey) {
    auto bytes = cache.load(key);
    return bytes ? bytes->getBuffer().str() : "<miss>";
  }
  std::string root, folder;
  std::vector<std::string> warnings;
};

TEST(CacheKey, PartsAreDelimited) {
  auto key = [](auto... parts) {
    CacheKey result;
    (result.add("part", llvm::StringRef(parts)), ...);
    return result.hex();
  };
  EXPECT_EQ(key("ab", "c").size(), 64u);
  EXPECT_EQ(key("ab", "c"), key("ab", "c"));
  EXPECT_NE(key("ab", "c"), key("a", "bc"));
  EXPECT_NE(key("ab"), key("ab", ""));
  EXPECT_NE(CacheKey().add("a", uint64_t(1)).hex(), CacheKey().add("a", uint64_t(2)).hex());
}

TEST_F(ObjectCacheTest, StoresAndLoads) {
  ObjectCache cache(options());
  ASSERT_TRUE(cache.enabled()) << cache.whyDisabled();
  EXPECT_EQ(loaded(cache), "<miss>");
  EXPECT_NE(cache.explain(someKey).find("miss"), std::string::npos);
  EXPECT_TRUE(cache.store(someKey, "machine code"));
  EXPECT_TRUE(cache.store(otherKey, ""));
  EXPECT_EQ(loaded(cache), "machine code");
  EXPECT_EQ(loaded(cache, otherKey), "");
  EXPECT_EQ(cache.explain(someKey).find("hit: 12 bytes"), 0u) << cache.explain(someKey);
  EXPECT_TRUE(cache.store(someKey, "newer"));
  EXPECT_EQ(loaded(cache), "newer");
  struct stat status;
  ASSERT_EQ(stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(ObjectCacheTest, KeysWithOtherCharactersTouchNoFile) {
  ObjectCache cache(options());
  for (const char *key : {"", "../../../../etc/passwd", "aa", "0123456789abcdeg"}) {
    EXPECT_FALSE(cache.store(key, "x"));
    EXPECT_FALSE(cache.load(key));
  }
}

TEST_F(ObjectCacheTest, TruncationAtEveryByteIsAMiss) {
  ObjectCache cache(options());
  ASSERT_TRUE(cache.store(someKey, "machine code"));
  std::string whole = contents(entry());
  for (size_t size = 0; size < whole.size(); ++size) {
    overwrite(entry(), whole.substr(0, size));
    EXPECT_EQ(loaded(cache), "<miss>") << size;
    EXPECT_FALSE(llvm::sys::fs::exists(entry()));
    EXPECT_TRUE(llvm::sys::fs::exists(folder + "/quarantine/" + someKey));
  }
  EXPECT_EQ(warnings.size(), 1u); // only the first of these loads warns
  EXPECT_NE(cache.explain(someKey).find("truncated"), std::string::npos) << cache.explain(someKey);
  EXPECT_TRUE(cache.store(someKey, "machine code"));
  EXPECT_EQ(loaded(cache), "machine code");
}

TEST_F(ObjectCacheTest, AlteredForeignAndSwappedEntriesAreMisses) {
  ObjectCache cache(options());
  ASSERT_TRUE(cache.store(someKey, "machine code") && cache.store(otherKey, "other code"));
  std::string whole = contents(entry());
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string altered = whole;
    altered[i] ^= 4;
    overwrite(entry(), altered);
    EXPECT_EQ(loaded(cache), "<miss>") << i;
    overwrite(entry(), whole);
  }
  overwrite(entry(), std::string(1000, 'x'));
  EXPECT_EQ(loaded(cache), "<miss>");
  overwrite(entry(), contents(entry(otherKey))); // a valid entry of another key
  EXPECT_EQ(loaded(cache), "<miss>");
  ASSERT_EQ(symlink(entry(otherKey).c_str(), entry().c_str()), 0);
  EXPECT_EQ(loaded(cache), "<miss>");
  overwrite(entry(), whole);
  ASSERT_EQ(chmod(entry().c_str(), 0666), 0);
  EXPECT_EQ(loaded(cache), "<miss>");
}

TEST_F(ObjectCacheTest, FoldersThatOthersCanWriteAreRefused) {
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  ObjectCache cache(options());
  EXPECT_FALSE(cache.enabled());
  EXPECT_NE(cache.whyDisabled().find("chmod go-w"), std::string::npos) << cache.whyDisabled();
  EXPECT_FALSE(cache.store(someKey, "x"));
  EXPECT_FALSE(cache.load(someKey));
  EXPECT_NE(cache.explain(someKey).find("can be written by others"), std::string::npos);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(ObjectCacheTest, UncreatableFoldersDisableTheCache) {
  overwrite(root + "/file", "");
  folder = root + "/file/cache";
  ObjectCache cache(options());
  EXPECT_FALSE(cache.enabled());
  EXPECT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("TILEWRIGHT_CACHE_DIR"), std::string::npos) << warnings[0];
}

TEST_F(ObjectCacheTest, FolderThatVanishesOnlyWarns) {
  ObjectCache cache(options());
  llvm::sys::fs::remove_directories(folder);
  EXPECT_FALSE(cache.store(someKey, "x"));
  EXPECT_FALSE(cache.store(someKey, "x"));
  EXPECT_EQ(warnings.size(), 1u);
}

TEST_F(ObjectCacheTest, DefaultFolderFollowsTheEnvironment) {
  std::string error;
  setenv("TILEWRIGHT_CACHE_DIR", "/some/where", 1);
  EXPECT_EQ(defaultCacheFolder(error), "/some/where");
  unsetenv("TILEWRIGHT_CACHE_DIR");
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(defaultCacheFolder(error), "/xdg/tilewright");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/nobody", 1);
  EXPECT_EQ(defaultCacheFolder(error), "/nobody/.cache/tilewright");
}

TEST_F(ObjectCacheTest, PruneDropsTheLeastRecentlyUsed) {
  ObjectCache cache(options());
  std::string value(1000, 'v');
  for (char digit : {'1', '2', '3'}) {
    std::string key(64, digit);
    ASSERT_TRUE(cache.store(key, value));
    timespec times[2] = {{1000000 + digit, 0}, {1000000 + digit, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, entry(key).c_str(), times, 0), 0);
  }
  EXPECT_EQ(loaded(cache, std::string(64, '1')), value); // this entry is now the most recently used one
  EXPECT_GT(cache.prune(2500), 0);
  EXPECT_EQ(loaded(cache, std::string(64, '2')), "<miss>");
  EXPECT_EQ(loaded(cache, std::string(64, '1')), value);
  EXPECT_EQ(loaded(cache, std::string(64, '3')), value);
  int64_t bytes = 0, entries = 0;
  cache.measure(bytes, entries);
  EXPECT_EQ(entries, 2);
}

// Two processes store and load the same keys. Each load returns a complete value, or reports a miss.
TEST_F(ObjectCacheTest, TwoProcessesAtOnce) {
  auto work = [&](char mine) {
    ObjectCache cache(options());
    for (int i = 0; i < 150; ++i) {
      std::string key(64, "0123"[i % 4]);
      if (!cache.store(key, std::string(20000, mine)))
        return false;
      std::string value = loaded(cache, key);
      if (value != std::string(20000, 'p') && value != std::string(20000, 'c'))
        return false;
    }
    return warnings.empty();
  };
  pid_t child = fork();
  if (child == 0)
    _exit(work('c') ? 0 : 1);
  EXPECT_TRUE(work('p'));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
