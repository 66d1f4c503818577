//===- JitTest.cpp - compile, load, call ----------------------------------===//
#include "lib/Runtime/Jit/Jit.h"
#include "lib/Runtime/Jit/Codegen.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>
#include <sstream>
#include <unistd.h>

using namespace tilewright::runtime;

/// Builds the function float name(const float *data, i64 count), which returns the sum of function(x) over all elements
/// x. If `function` is null, it returns the sum of x.
static std::unique_ptr<llvm::Module> makeSumModule(llvm::LLVMContext &context, const std::string &name,
                                                   const char *function = nullptr) {
  auto module = std::make_unique<llvm::Module>(name, context);
  llvm::IRBuilder<> builder(context);
  llvm::Type *floatType = builder.getFloatTy(), *index = builder.getInt64Ty();
  auto *type = llvm::FunctionType::get(floatType, {builder.getPtrTy(), index}, false);
  auto *sum = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, *module);
  auto *entry = llvm::BasicBlock::Create(context, "entry", sum), *loop = llvm::BasicBlock::Create(context, "loop", sum),
       *exit = llvm::BasicBlock::Create(context, "exit", sum);
  builder.SetInsertPoint(entry);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  auto *i = builder.CreatePHI(index, 2), *total = builder.CreatePHI(floatType, 2);
  llvm::Value *value = builder.CreateLoad(floatType, builder.CreateGEP(floatType, sum->getArg(0), {i}));
  if (function)
    value = builder.CreateCall(module->getOrInsertFunction(function, floatType, floatType), {value});
  auto *next = builder.CreateFAdd(total, value);
  auto *following = builder.CreateAdd(i, builder.getInt64(1));
  builder.CreateCondBr(builder.CreateICmpSLT(following, sum->getArg(1)), loop, exit);
  i->addIncoming(builder.getInt64(0), entry);
  i->addIncoming(following, loop);
  total->addIncoming(llvm::ConstantFP::get(floatType, 0), entry);
  total->addIncoming(next, loop);
  builder.SetInsertPoint(exit);
  builder.CreateRet(next);
  return module;
}

static MachineDescription hostMachine() {
  MachineDescription machine;
  std::string error;
  EXPECT_TRUE(describeMachine("native", machine, error)) << error;
  completeNative(machine);
  return machine;
}

template <typename T> static T expectValue(llvm::Expected<T> value) {
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    exit(1);
  }
  return std::move(*value);
}

static std::unique_ptr<llvm::MemoryBuffer> compileSum(const std::string &name, const char *function = nullptr) {
  auto target = expectValue(createTargetMachine(hostMachine()));
  llvm::LLVMContext context;
  return expectValue(compileToObject(makeSumModule(context, name, function), *target));
}

using SumFunction = float (*)(const float *, int64_t);

TEST(Jit, CompilesLoadsAndCalls) {
  auto jit = expectValue(Jit::create());
  ASSERT_FALSE(jit->addObject(compileSum("sum")));
  auto sum = reinterpret_cast<SumFunction>(expectValue(jit->lookup("sum")));
  std::vector<float> data(100);
  std::iota(data.begin(), data.end(), 1.0f);
  EXPECT_EQ(sum(data.data(), 100), 5050.0f);
}

TEST(Jit, ResolvesMathAndGivenSymbols) {
  auto jit = expectValue(Jit::create(HostSymbol{"triple", reinterpret_cast<void *>(+[](float x) { return 3 * x; })}));
  ASSERT_FALSE(jit->addObject(compileSum("sum_exp", "expf")));
  ASSERT_FALSE(jit->addObject(compileSum("sum_triple", "triple")));
  float data[] = {1, 2};
  std::vector<std::string> names{"sum_triple", "sum_exp", "sum_triple"};
  auto found = expectValue(jit->lookupAll(names));
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(reinterpret_cast<SumFunction>(found[0])(data, 2), 9.0f);
  EXPECT_NEAR(reinterpret_cast<SumFunction>(found[1])(data, 2), std::exp(1.0f) + std::exp(2.0f), 1e-5);
}

TEST(Jit, TwoJitsMayUseTheSameNames) {
  auto first = expectValue(Jit::create()), second = expectValue(Jit::create());
  ASSERT_FALSE(first->addObject(compileSum("kernel_0")));
  ASSERT_FALSE(second->addObject(compileSum("kernel_0", "sqrtf")));
  float data[] = {4, 9};
  EXPECT_EQ(reinterpret_cast<SumFunction>(expectValue(first->lookup("kernel_0")))(data, 2), 13.0f);
  EXPECT_EQ(reinterpret_cast<SumFunction>(expectValue(second->lookup("kernel_0")))(data, 2), 5.0f);
}

TEST(Jit, ErrorsNameTheSymbol) {
  auto jit = expectValue(Jit::create());
  auto absent = jit->lookup("absent");
  ASSERT_FALSE(absent);
  EXPECT_NE(llvm::toString(absent.takeError()).find("absent"), std::string::npos);
  ASSERT_FALSE(jit->addObject(compileSum("sum", "no_such_function")));
  auto sum = jit->lookup("sum");
  ASSERT_FALSE(sum);
  std::string text = llvm::toString(sum.takeError());
  EXPECT_NE(text.find("no_such_function"), std::string::npos) << text;
}

TEST(Jit, ForeignObjectsAreRefused) {
  auto jit = expectValue(Jit::create());
  llvm::Error error = jit->addObject(llvm::MemoryBuffer::getMemBufferCopy("this is not an object file"));
  EXPECT_TRUE(bool(error));
  EXPECT_FALSE(llvm::toString(std::move(error)).empty());
}

TEST(Codegen, InvalidModulesAndPassesAreErrors) {
  auto target = expectValue(createTargetMachine(hostMachine()));
  llvm::LLVMContext context;
  auto broken = makeSumModule(context, "broken");
  broken->getFunction("broken")->back().getTerminator()->eraseFromParent();
  auto object = compileToObject(std::move(broken), *target);
  ASSERT_FALSE(object);
  EXPECT_NE(llvm::toString(object.takeError()).find("'broken' is invalid"), std::string::npos);
  CodegenOptions options;
  options.passes = "no-such-pass";
  object = compileToObject(makeSumModule(context, "sum"), *target, options);
  ASSERT_FALSE(object);
  EXPECT_NE(llvm::toString(object.takeError()).find("no-such-pass"), std::string::npos);
}

// By default, LLVM prints errors of the code generator and then ends the process.
TEST(Codegen, RefusedCodeIsAnError) {
  auto target = expectValue(createTargetMachine(hostMachine()));
  llvm::LLVMContext context;
  auto module = makeSumModule(context, "refused");
  llvm::Instruction *last = module->getFunction("refused")->back().getTerminator();
  auto *type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), false);
  llvm::CallInst::Create(type, llvm::InlineAsm::get(type, "", "={no-such-register}", /*hasSideEffects=*/true), "",
                         last->getIterator());
  auto object = compileToObject(std::move(module), *target);
  ASSERT_FALSE(object);
  std::string reason = llvm::toString(object.takeError());
  EXPECT_NE(reason.find("'refused'"), std::string::npos) << reason;
  EXPECT_NE(reason.find("no-such-register"), std::string::npos) << reason;
}

TEST(Codegen, ParallelEqualsSerial) {
  auto makers = [] {
    std::vector<ModuleMaker> result;
    for (int i = 0; i < 8; ++i)
      result.push_back([i](llvm::LLVMContext &context) -> llvm::Expected<std::unique_ptr<llvm::Module>> {
        return makeSumModule(context, "sum_" + std::to_string(i), i % 2 ? "expf" : nullptr);
      });
    return result;
  };
  auto serial = expectValue(compileInParallel(makers(), hostMachine(), 1));
  auto parallel = expectValue(compileInParallel(makers(), hostMachine(), 2));
  ASSERT_EQ(serial.size(), 8u);
  auto jit = expectValue(Jit::create());
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(serial[i]->getBuffer(), parallel[i]->getBuffer());
    ASSERT_FALSE(jit->addObject(std::move(parallel[i])));
  }
  float data[] = {1, 2, 3};
  for (int i = 0; i < 8; i += 2)
    EXPECT_EQ(reinterpret_cast<SumFunction>(expectValue(jit->lookup("sum_" + std::to_string(i))))(data, 3), 6.0f);
  auto failing = makers();
  failing.push_back([](llvm::LLVMContext &) -> llvm::Expected<std::unique_ptr<llvm::Module>> {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), "the maker failed");
  });
  auto failed = compileInParallel(std::move(failing), hostMachine(), 2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(llvm::toString(failed.takeError()), "the maker failed");
}

// Code is generated for each machine. It is not executed, because this machine may not have the same instructions.
TEST(Codegen, EveryNamedMachineCompiles) {
  for (const std::string &name : machineNames()) {
    MachineDescription machine;
    std::string error;
    ASSERT_TRUE(describeMachine(name.c_str(), machine, error)) << error;
    completeNative(machine);
    auto target = expectValue(createTargetMachine(machine));
    llvm::LLVMContext context;
    EXPECT_GT(expectValue(compileToObject(makeSumModule(context, "sum"), *target))->getBufferSize(), 0u);
  }
}

TEST(Jit, BfloatConversionRoundsToNearestEven) {
  // The function to_bf16(float x) returns the bits of x converted to bfloat. If the CPU has no instruction for the
  // conversion, a library function converts x.
  llvm::LLVMContext context;
  auto module = std::make_unique<llvm::Module>("to_bf16", context);
  llvm::IRBuilder<> builder(context);
  auto *type = llvm::FunctionType::get(builder.getInt16Ty(), {builder.getFloatTy()}, false);
  auto *function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "to_bf16", *module);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  auto *narrow = builder.CreateFPTrunc(function->getArg(0), builder.getBFloatTy());
  builder.CreateRet(builder.CreateBitCast(narrow, builder.getInt16Ty()));
  MachineDescription machine;
  std::string error;
  ASSERT_TRUE(describeMachine("x86-64-v3", machine, error));
  if (!machine.runsHere)
    GTEST_SKIP() << "needs AVX2";
  auto target = expectValue(createTargetMachine(machine));
  auto jit = expectValue(Jit::create());
  ASSERT_FALSE(jit->addObject(expectValue(compileToObject(std::move(module), *target))));
  auto convert = reinterpret_cast<uint16_t (*)(float)>(expectValue(jit->lookup("to_bf16")));
  EXPECT_EQ(convert(1.0f), 0x3F80);
  EXPECT_EQ(convert(-2.0f), 0xC000);
  EXPECT_EQ(convert(0x1.01p0f), 0x3F80);  // a tie, rounded to even
  EXPECT_EQ(convert(0x1.03p0f), 0x3F82);  // a tie, rounded to even
  EXPECT_EQ(convert(0x1.011p0f), 0x3F81); // above the tie
  EXPECT_EQ(convert(INFINITY), 0x7F80);
}

TEST(Jit, PerfMapNamesTheFunctions) {
  setenv("TILEWRIGHT_PERF_MAP", "1", 1);
  setenv("TILEWRIGHT_DEBUGGER", "1", 1);
  auto jit = expectValue(Jit::create());
  unsetenv("TILEWRIGHT_PERF_MAP");
  unsetenv("TILEWRIGHT_DEBUGGER");
  ASSERT_FALSE(jit->addObject(compileSum("sum_for_perf")));
  void *address = expectValue(jit->lookup("sum_for_perf"));
  std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ifstream file(path);
  std::stringstream text, expected;
  text << file.rdbuf();
  expected << std::hex << reinterpret_cast<uintptr_t>(address) << " ";
  EXPECT_NE(text.str().find(expected.str()), std::string::npos) << text.str();
  EXPECT_NE(text.str().find(" sum_for_perf\n"), std::string::npos);
  unlink(path.c_str());
}
