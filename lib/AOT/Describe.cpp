//===- Describe.cpp - the constants of a library as an LLVM module -----------------===//
//
//   @description = constant { abi, name, variants, inputs, outputs, weights, ... } (lib/Runtime/Library/Description.h)
//   define ptr @model_create(ptr %options, ptr %error, i64 %bytes) {
//     tail call @tilewright_library_create(@description, %options, %error, %bytes) }
//
//===----------------------------------------------------------------------===//
#include "lib/AOT/Describe.h"
#include "llvm/IR/IRBuilder.h"

namespace tilewright::library {
namespace {

using llvm::Constant;
using llvm::ConstantInt;

class Describer {
public:
  Describer(llvm::Module &module, const Interface &interface, const Contents &contents)
      : module(module), context(module.getContext()), interface(interface), contents(contents), builder(context),
        pointer(builder.getPtrTy()) {}

  void run() {
    Constant *description = record({
        number(TILEWRIGHT_ABI_VERSION),
        text(interface.model),
        variants(),
        number(contents.variants.size()),
        tensors(interface.inputs),
        number(interface.inputs.size()),
        tensors(interface.outputs),
        number(interface.outputs.size()),
        contents.weightsFile.empty() ? bytes(contents.weightData, 64) : null(),
        number(contents.weightData.size()),
        contents.weightsFile.empty() ? null() : text(contents.weightsFile),
        bytes(contents.weightsId, 1),
    });
    static_assert(sizeof(Description) == 12 * 8, "the list above is the struct's");
    Constant *global = constant(description, 8);
    llvm::Type *i32 = builder.getInt32Ty(), *i64 = builder.getInt64Ty();
    forward("create", pointer, {pointer, pointer, i64}, global);
    forward("destroy", builder.getVoidTy(), {pointer});
    forward("run", i32, {pointer, pointer, pointer});
    forward("shape", i32, {pointer, pointer, pointer});
    forward("profile", i32, {pointer, i32});
    forward("steps", i32, {pointer, pointer, i32});
    forward("error", pointer, {pointer});
    forward("cpu", pointer, {pointer});
    forward("num_inputs", i32, {}, global);
    forward("num_outputs", i32, {}, global);
    forward("input", pointer, {i32}, global);
    forward("output", pointer, {i32}, global);
  }

private:
  Constant *number(uint64_t value) { return builder.getInt64(value); }
  Constant *null() { return llvm::ConstantPointerNull::get(pointer); }

  Constant *record(llvm::ArrayRef<Constant *> fields) { return llvm::ConstantStruct::getAnon(context, fields); }

  /// Adds a constant to the object code.
  Constant *constant(Constant *value, unsigned alignment) {
    auto *global = new llvm::GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                            llvm::GlobalValue::PrivateLinkage, value);
    global->setAlignment(llvm::Align(alignment));
    return global;
  }

  Constant *text(llvm::StringRef value) { return constant(llvm::ConstantDataArray::getString(context, value), 1); }

  Constant *bytes(llvm::ArrayRef<uint8_t> value, unsigned alignment) {
    if (value.empty())
      return null();
    return constant(llvm::ConstantDataArray::get(context, value), alignment);
  }

  Constant *array(llvm::ArrayRef<Constant *> values) {
    if (values.empty())
      return null();
    return constant(llvm::ConstantArray::get(llvm::ArrayType::get(values[0]->getType(), values.size()), values), 8);
  }

  Constant *variants() {
    std::vector<Constant *> rows;
    for (const VariantContents &variant : contents.variants)
      rows.push_back(record({text(variant.cpu), number(variant.instructionSets), bytes(variant.plan, 8),
                             number(variant.plan.size()), kernels(variant), number(variant.kernels.size()),
                             weights(variant), number(variant.weights.size())}));
    static_assert(sizeof(Variant) == 8 * 8, "the list above is the struct's");
    return array(rows);
  }

  Constant *kernels(const VariantContents &variant) {
    std::vector<Constant *> functions;
    auto *type = llvm::FunctionType::get(builder.getVoidTy(), false);
    for (const LibraryManifest::Kernel &kernel : variant.kernels) {
      auto *function =
          llvm::cast<llvm::Function>(module.getOrInsertFunction(variant.prefix + kernel.name, type).getCallee());
      function->setVisibility(llvm::GlobalValue::HiddenVisibility);
      functions.push_back(function);
    }
    return array(functions);
  }

  Constant *weights(const VariantContents &variant) {
    std::vector<Constant *> rows;
    for (const Weight &weight : variant.weights)
      rows.push_back(record({number(weight.number), number(weight.offset), number(weight.bytes)}));
    return array(rows);
  }

  Constant *tensors(llvm::ArrayRef<InterfaceTensor> list) {
    std::vector<Constant *> rows;
    for (const InterfaceTensor &tensor : list) {
      std::vector<Constant *> sizes, exprs;
      for (int64_t size : tensor.fixedSizes)
        sizes.push_back(number(size));
      for (const plan::Expr &size : tensor.sizes) {
        std::vector<Constant *> items;
        for (const plan::Expr::Item &item : size.items)
          items.push_back(record({number(uint64_t(item.op)), number(item.value)}));
        exprs.push_back(record({array(items), number(items.size())}));
      }
      rows.push_back(
          record({text(tensor.name), builder.getInt32(int(tensor.dtype)), builder.getInt32(sizes.size()), array(sizes),
                  text(tensor.text()), array(exprs), number(tensor.number), number(tensor.inPlace)}));
    }
    static_assert(sizeof(Tensor) == 56 && sizeof(Weight) == 24 && sizeof(SizeExpr) == 16 && sizeof(SizeItem) == 16);
    return array(rows);
  }

  /// Defines the exported function <model>_<name>. It calls the runtime's function tilewright_library_<name> with
  /// `first` (if it is not null), followed by the arguments of the exported function.
  void forward(llvm::StringRef name, llvm::Type *result, std::vector<llvm::Type *> types, Constant *first = nullptr) {
    auto *function = llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                                            llvm::GlobalValue::ExternalLinkage, interface.model + "_" + name, module);
    std::vector<llvm::Value *> arguments;
    if (first) {
      types.insert(types.begin(), pointer);
      arguments.push_back(first);
    }
    for (llvm::Argument &argument : function->args())
      arguments.push_back(&argument);
    llvm::FunctionCallee callee =
        module.getOrInsertFunction(("tilewright_library_" + name).str(), llvm::FunctionType::get(result, types, false));
    llvm::cast<llvm::Function>(callee.getCallee())->setVisibility(llvm::GlobalValue::HiddenVisibility);
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
    llvm::CallInst *call = builder.CreateCall(callee, arguments);
    call->setTailCall();
    if (result->isVoidTy())
      builder.CreateRetVoid();
    else
      builder.CreateRet(call);
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
  const Interface &interface;
  const Contents &contents;
  llvm::IRBuilder<> builder;
  llvm::PointerType *pointer;
};

} // namespace

std::unique_ptr<llvm::Module> describeLibrary(llvm::LLVMContext &context, const Interface &interface,
                                              const Contents &contents) {
  auto module = std::make_unique<llvm::Module>(interface.model, context);
  Describer(*module, interface, contents).run();
  return module;
}

std::vector<std::string> exportedNames(const Interface &interface) {
  std::vector<std::string> names;
  for (llvm::StringRef suffix : functionSuffixes)
    names.push_back(interface.model + suffix.str());
  return names;
}

} // namespace tilewright::library
