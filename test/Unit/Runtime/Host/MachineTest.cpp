//===- MachineTest.cpp - the machine description --------------------------===//
#include "lib/Runtime/Host/Machine.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace tilewright::runtime;

TEST(Machine, NativeIsPlausible) {
  MachineDescription machine;
  std::string error;
  ASSERT_TRUE(describeMachine(nullptr, machine, error)) << error;
  EXPECT_TRUE(machine.native && machine.runsHere);
  EXPECT_GE(machine.l1dBytes, 8 << 10);
  EXPECT_EQ(machine.l1dBytes % (machine.l1dWays * machine.lineBytes), 0);
  EXPECT_GE(machine.lineBytes, 16);
  EXPECT_GE(machine.l2Bytes, machine.l1dBytes);
  EXPECT_GE(machine.logicalCpus, machine.physicalCores);
  EXPECT_GE(machine.physicalCores, 1);
  EXPECT_EQ(machine.sets.avx2, bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(machine.sets.avx512f, bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(machine.vectorBytes, machine.sets.avx512f ? 64 : machine.sets.avx2 ? 32 : 16);
  EXPECT_EQ(machine.features.find("+avx2") != std::string::npos, machine.sets.avx2);
  if (!machine.sets.avx512bf16)
    EXPECT_FALSE(machine.bf16DotFullRate);
}

TEST(Machine, OverridesDescribeTheNamedCpu) {
  std::string error;
  MachineDescription v3, v4, zen5, rapids, granite;
  ASSERT_TRUE(describeMachine("x86-64-v3", v3, error));
  ASSERT_TRUE(describeMachine("x86-64-v4", v4, error));
  ASSERT_TRUE(describeMachine("znver5", zen5, error));
  ASSERT_TRUE(describeMachine("sapphirerapids", rapids, error));
  EXPECT_EQ(v3.vectorBytes, 32);
  EXPECT_FALSE(v3.sets.avx512f);
  EXPECT_EQ(v4.vectorBytes, 64);
  EXPECT_FALSE(v4.sets.avx512bf16);
  EXPECT_TRUE(zen5.bf16DotFullRate && !zen5.sets.amxTile);
  EXPECT_NE(zen5.features.find("-sse4a"), std::string::npos); // covers() does not check sse4a
  EXPECT_TRUE(!rapids.bf16DotFullRate && rapids.sets.amxTile && rapids.sets.amxBf16 && rapids.sets.amxInt8);
  EXPECT_EQ(rapids.llvmCpu, "sapphirerapids");
  EXPECT_FALSE(rapids.sets.amxFp16);
  ASSERT_TRUE(describeMachine("graniterapids", granite, error));
  EXPECT_TRUE(granite.sets.amxFp16 && granite.sets.amxBf16);
  EXPECT_NE(granite.features.find("+amx-fp16"), std::string::npos);
  EXPECT_FALSE(v3.native);
}

TEST(Machine, UnknownNameListsTheNames) {
  MachineDescription machine;
  std::string error;
  EXPECT_FALSE(describeMachine("pentium", machine, error));
  for (const std::string &name : machineNames())
    EXPECT_NE(error.find(name), std::string::npos) << error;
}

TEST(Machine, EnvironmentOverrides) {
  setenv("TILEWRIGHT_CPU", "x86-64-v3", 1);
  MachineDescription machine;
  std::string error;
  EXPECT_TRUE(describeMachineFromEnvironment(machine, error));
  EXPECT_EQ(machine.llvmCpu, "x86-64-v3");
  unsetenv("TILEWRIGHT_CPU");
}

TEST(Machine, AmxPermissionOnlyWithAmx) {
  if (!hostInstructionSets().amxTile)
    EXPECT_FALSE(requestAmxPermission());
  else
    requestAmxPermission(); // an old kernel or a sandbox may deny the permission
}
