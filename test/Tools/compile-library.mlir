// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: tilewright compile %s --emit=shared -o out/
// RUN: FileCheck %s --check-prefix=HEADER < out/compile-library.h
// RUN: FileCheck %s --check-prefix=MANIFEST < out/compile-library.json
// RUN: llvm-readelf --dyn-syms out/compile-library.so | FileCheck %s --check-prefix=SYMBOLS
// RUN: tilewright compile %s -o two.layers.a && llvm-nm --defined-only --extern-only two.layers.a | FileCheck %s --check-prefix=ARCHIVE
// RUN: tilewright compile %s --emit=obj -o net --weights=external && ls net.o net.h net.json net.weights
// RUN: tilewright compile %s --emit=static --target=reference -o slow.a && FileCheck %s --check-prefix=REFERENCE < slow.json
// RUN: not tilewright compile %s --emit=share 2>&1 | FileCheck %s --check-prefix=NEAR
// RUN: not tilewright compile %s -o net.so --weights=inside 2>&1 | FileCheck %s --check-prefix=WEIGHTS

// HEADER: input  0  x: float32 [rows, 2]
// HEADER: output 0  output0: float32 [rows, 3]
// HEADER: rows: 1 to 64
// HEADER: #ifndef TILEWRIGHT_MODEL_COMPILE_LIBRARY_H
// HEADER: typedef struct compile_library compile_library;
// HEADER: int32_t compile_library_run(
// MANIFEST: "weights_packed": true,
// MANIFEST: "weight_bytes": {{[1-9][0-9]*}},
// SYMBOLS-NOT: {{matmul|softmax}}
// SYMBOLS: compile_library_create
// SYMBOLS-NOT: {{matmul|softmax}}
// ARCHIVE-NOT: tilewright
// ARCHIVE: T two_layers_create
// ARCHIVE-NOT: tilewright
// REFERENCE: "target": "reference"
// NEAR: unknown stage 'share' (did you mean 'shared'?); --emit accepts graph, {{.*}}asm, obj, static, shared
// WEIGHTS: --weights must be embedded or external, not 'inside'
#in = affine_map<()[s0] -> (s0, 2)>
#out = affine_map<()[s0] -> (s0, 3)>
func.func @main(%n: index {tw.symbol = "rows", tw.min = 1 : i64, tw.max = 64 : i64},
                %x: tensor<?x2xf32, #in> {tw.name = "x"}) -> tensor<?x3xf32, #out> {
  %w = tw.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %y = tw.matmul %x, %w : (tensor<?x2xf32, #in>, tensor<2x3xf32>) -> tensor<?x3xf32, #out>
  return %y : tensor<?x3xf32, #out>
}
