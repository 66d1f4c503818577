// Tests that a temporary folder is removed with its object, and that creating one removes folders of killed processes.
#include "lib/Driver/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tilewright;
namespace fs = std::filesystem;

namespace {

class TemporaryFolderTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/tilewright-folders-XXXXXX";
    parent = mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(parent); }

  std::unique_ptr<TemporaryFolder> make() { return llvm::cantFail(TemporaryFolder::make("work", parent)); }

  /// Sets the times of `path` to an hour ago.
  static void age(const fs::path &path) {
    timespec times[2] = {{time(nullptr) - 3600, 0}, {time(nullptr) - 3600, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }

  std::string parent;
};

TEST_F(TemporaryFolderTest, IsRemovedWithItsObject) {
  std::string path;
  {
    auto folder = make();
    path = folder->path();
    std::ofstream(folder->file("x")) << "y";
    EXPECT_TRUE(fs::exists(path + "/x"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(TemporaryFolderTest, OfAKilledProcessIsRemovedByTheNextProcess) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto folder = make();
    std::ofstream(folder->file("x")) << "y";
    const std::string path = folder->path();
    (void)!write(ends[1], path.data(), path.size());
    pause();
  }
  char text[512] = "";
  ASSERT_GT(read(ends[0], text, sizeof text - 1), 0);
  const fs::path left = text;
  age(left);
  auto first = make(); // the owner of `left` is still running
  EXPECT_TRUE(fs::exists(left / "x"));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  auto second = make();
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(first->path()));
}

TEST_F(TemporaryFolderTest, FoldersOfOthersAreKept) {
  for (const char *name : {"other-abc", "working-1"}) {
    fs::create_directory(fs::path(parent) / name);
    age(fs::path(parent) / name);
  }
  make();
  EXPECT_TRUE(fs::exists(fs::path(parent) / "other-abc"));
  EXPECT_TRUE(fs::exists(fs::path(parent) / "working-1"));
}

} // namespace
