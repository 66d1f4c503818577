// RUN: tilewright-opt %s --tw-keep-roundings | FileCheck %s

// CHECK-LABEL: func @flags
// CHECK: arith.extf %arg0 : bf16 to f32
// CHECK: arith.addf %{{.*}} fastmath<contract> : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @flags(%x: bf16) -> bf16 {
  %0 = arith.extf %x fastmath<contract> : bf16 to f32
  %1 = arith.addf %0, %0 fastmath<contract> : f32
  %2 = arith.truncf %1 fastmath<contract> : f32 to bf16
  return %2 : bf16
}
