//===- BfloatComparisons.cpp - every comparison of bf16 vectors can be compiled ------===//
#include "lib/Runtime/Jit/BfloatComparisons.h"
#include "lib/Runtime/Jit/Codegen.h"
#include "test/Unit/Runtime/Jit/ParsedFunction.h"

using namespace tilewright::runtime;

static std::string widened(const std::string &type) {
  return rewrittenFunction("define <4 x i1> @f(<4 x " + type + "> %a, <4 x " + type + "> %b) {\n  %c = fcmp olt <4 x " +
                               type + "> %a, %b\n  ret <4 x i1> %c\n}\n",
                           compareBfloatsAsFloats);
}

TEST(BfloatComparisons, OperandsAreExtended) {
  std::string text = widened("bfloat");
  EXPECT_NE(text.find("fcmp olt <4 x float>"), std::string::npos) << text;
}

TEST(BfloatComparisons, OtherTypesAreUnchanged) {
  for (const char *type : {"half", "float", "double"})
    EXPECT_EQ(widened(type).find("fpext"), std::string::npos) << type;
}

/// On znver4 and sapphirerapids, LLVM's instruction selection fails for some of these functions without the rewrite.
TEST(BfloatComparisons, ResultsOfAllWidthsCompileForCpusWithInstructionsForBfloat) {
  for (const char *cpu : {"x86-64-v3", "x86-64-v4", "znver4", "sapphirerapids"})
    for (int lanes : {1, 2, 3, 4, 8, 15, 16, 17, 32, 64})
      for (const char *extension : {"zext", "sext"})
        for (const char *integer : {"i8", "i16", "i32", "i64"}) {
          const std::string count = "<" + std::to_string(lanes) + " x ";
          llvm::LLVMContext context;
          auto module = parsedModule(context, "define void @f(ptr %p, ptr %q, ptr %o) {\n  %a = load " + count +
                                                  "bfloat>, ptr %p, align 2\n  %b = load " + count +
                                                  "bfloat>, ptr %q, align 2\n  %c = fcmp olt " + count +
                                                  "bfloat> %a, %b\n  %d = " + extension + " " + count + "i1> %c to " +
                                                  count + integer + ">\n  store " + count + integer +
                                                  "> %d, ptr %o, align 1\n  ret void\n}\n");
          MachineDescription machine;
          machine.native = false;
          machine.llvmCpu = cpu;
          CodegenOptions options;
          auto target = createTargetMachine(machine, options);
          ASSERT_TRUE(bool(target)) << llvm::toString(target.takeError());
          auto assembly = compileToAssembly(std::move(module), **target, options);
          ASSERT_TRUE(bool(assembly)) << cpu << " " << lanes << " " << integer << ": "
                                      << llvm::toString(assembly.takeError());
          EXPECT_TRUE(llvm::StringRef(*assembly).contains("cmp") || llvm::StringRef(*assembly).contains("comis"));
        }
}
