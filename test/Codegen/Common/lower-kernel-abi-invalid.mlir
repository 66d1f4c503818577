// RUN: not tilewright-opt %s --split-input-file --tw-host-lower-kernel-abi 2>&1 | FileCheck %s

// The dynamic sizes of an argument are computed from its attribute tw.sizes. It is an error if the attribute is absent,
// uses symbols for which the kernel has no index arguments, or does not have one result per dimension.
// CHECK: argument 1 is a 'memref<?xf32>': tw.sizes must be a map of at most 1 symbols, the kernel's index arguments, to 1 sizes
func.func private @without_sizes(%n: index, %out: memref<?xf32>, %begin: index, %end: index, %scratch: memref<?xi8>) attributes {tw.kernel} {
  return
}

// -----

// CHECK: argument 0 is a 'memref<?xf32>': tw.sizes must be a map of at most 0 symbols
func.func private @of_a_symbol_that_no_argument_gives(%out: memref<?xf32> {tw.sizes = affine_map<()[s0] -> (s0)>}, %begin: index, %end: index, %scratch: memref<?xi8>) attributes {tw.kernel} {
  return
}

// -----

// CHECK: argument 0 is a 'memref<?x?xf32>': tw.sizes must be a map of at most 0 symbols, the kernel's index arguments, to 2 sizes
func.func private @of_too_few_sizes(%out: memref<?x?xf32> {tw.sizes = affine_map<() -> (4)>}, %begin: index, %end: index, %scratch: memref<?xi8>) attributes {tw.kernel} {
  return
}

// -----

// CHECK: expects kernels whose last arguments are begin, end and scratch
func.func private @scratch_of_rank_2(%begin: index, %end: index, %scratch: memref<?x?xi8>) attributes {tw.kernel} {
  return
}
