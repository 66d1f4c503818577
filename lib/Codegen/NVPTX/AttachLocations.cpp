//===- AttachLocations.cpp - the user's source lines as debug locations of kernels ---------===//
//
//   llvm.fadd %a, %b loc(fused["model.py":12:0, ...])
//
// becomes, in a kernel whose scope belongs to another file,
//
//   llvm.fadd %a, %b loc(fused<#llvm.di_lexical_block_file<scope = #kernel, file = "model.py">>["model.py":12:0])
//
// LLVM prints this location as a directive such as `.loc 1 12 0` before the instructions. LLVM's passes ignore
// locations, so locations do not change the code.
//
// Tests: test/Codegen/NVPTX/locations.mlir, test/Python/test_cuda_locations.py
//
//===----------------------------------------------------------------------===//
#include "lib/Codegen/NVPTX/AttachLocations.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/BinaryFormat/Dwarf.h"

using namespace mlir;

namespace tilewright::cuda {
namespace {

FileLineColLoc fileOf(Location loc) { return loc->findInstanceOf<FileLineColLoc>(); }

class Attacher {
public:
  explicit Attacher(ModuleOp module)
      : context(module.getContext()),
        unit(LLVM::DICompileUnitAttr::get(DistinctAttr::create(UnitAttr::get(context)), llvm::dwarf::DW_LANG_C,
                                          file("tilewright"), StringAttr::get(context, "Tilewright"),
                                          /*isOptimized=*/true, LLVM::DIEmissionKind::DebugDirectivesOnly)) {}

  void attach(LLVM::LLVMFuncOp function) {
    FileLineColLoc first = fileOf(function.getLoc());
    LLVM::DIFileAttr mainFile = file(first ? first.getFilename().getValue() : "tilewright");
    unsigned line = first ? first.getLine() : 0;
    auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
    auto name = StringAttr::get(context, function.getName());
    auto scope = LLVM::DISubprogramAttr::get(
        context, DistinctAttr::create(UnitAttr::get(context)), unit, mainFile, name, name, mainFile, line, line,
        LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized, type, /*retainedNodes=*/{},
        /*annotations=*/{});
    auto none = FileLineColLoc::get(mainFile.getName(), 0, 0);
    function->walk([&](Operation *op) {
      FileLineColLoc at = fileOf(op->getLoc());
      LLVM::DIFileAttr own = at ? file(at.getFilename().getValue()) : mainFile;
      LLVM::DILocalScopeAttr block = scope;
      if (own != mainFile)
        block = LLVM::DILexicalBlockFileAttr::get(scope, own, /*discriminator=*/0);
      op->setLoc(FusedLoc::get(context, {at ? at : none}, op == function ? LLVM::DILocalScopeAttr(scope) : block));
    });
  }

private:
  LLVM::DIFileAttr file(StringRef path) { return LLVM::DIFileAttr::get(context, path, ""); }

  MLIRContext *context;
  LLVM::DICompileUnitAttr unit;
};

} // namespace

void attachLocations(ModuleOp module) {
  Attacher attacher(module);
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (!function.isExternal())
      attacher.attach(function);
}

} // namespace tilewright::cuda
