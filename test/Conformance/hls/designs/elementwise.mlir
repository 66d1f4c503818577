// A chain of elementwise ops and a sum. One input is read twice, the other input is reshaped, and one result has the
// name of a kernel.
func.func @main(%x: tensor<12x20xf32> {tw.name = "x"},
                %z: tensor<240xf32> {tw.name = "z"})
    -> (tensor<12x20xf32> {tw.name = "y"}, tensor<12xf32> {tw.name = "reduce"}) {
  %zz = tw.reshape %z : tensor<240xf32> -> tensor<12x20xf32>
  %a = tw.add %x, %zz : (tensor<12x20xf32>, tensor<12x20xf32>) -> tensor<12x20xf32>
  %e = tw.exp %a : (tensor<12x20xf32>) -> tensor<12x20xf32>
  %y = tw.sqrt %e : (tensor<12x20xf32>) -> tensor<12x20xf32>
  %s = tw.reduce sum %x {dims = array<i64: 1>} : tensor<12x20xf32> -> tensor<12xf32>
  return %y, %s : tensor<12x20xf32>, tensor<12xf32>
}
