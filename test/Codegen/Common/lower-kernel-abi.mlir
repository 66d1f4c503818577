// RUN: tilewright-opt %s --tw-host-lower-kernel-abi | FileCheck %s
// RUN: tilewright-opt %s --tw-host-lower-kernel-abi --expand-strided-metadata --lower-affine --convert-scf-to-cf --tw-host-lower-to-llvm | FileCheck %s --check-prefix=LLVM

// The kernel has the five arguments of lib/Interfaces/RuntimeABI.h. %n is the first entry of the array of sizes, and the
// sizes of the memrefs are computed from it.
// CHECK: func.func @kernel_0(%[[BUFFERS:.*]]: !llvm.ptr, %[[SIZES:.*]]: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[SIZES]][0]
// CHECK: llvm.load %[[AT]] invariant
// CHECK: llvm.getelementptr %[[BUFFERS]][0]
// CHECK: llvm.getelementptr %[[BUFFERS]][1]
// LLVM: llvm.func @kernel_0(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// LLVM-NOT: memref
// LLVM-NOT: unrealized_conversion_cast
// LLVM: llvm.return
func.func private @kernel_0(%n: index, %a: memref<?xf32> {tw.sizes = affine_map<()[s0] -> (s0)>},
                            %out: memref<?xf32> {tw.sizes = affine_map<()[s0] -> (s0)>}, %begin: index, %end: index,
                            %scratch: memref<?xi8>) attributes {tw.kernel} {
  %one = arith.constant 1 : index
  scf.for %i = %begin to %end step %one {
    %x = memref.load %a[%i] : memref<?xf32>
    %y = math.erf %x : f32
    memref.store %y, %out[%i] : memref<?xf32>
  }
  return
}
