// The sum of absolute differences of each of 20 rows of 16-bit integers from one pattern.
func.func @main(%x: tensor<20x16xi16> {tw.name = "x"}, %p: tensor<16xi16> {tw.name = "p"}) -> (tensor<20xi32> {tw.name = "y"}) {
  %a = tw.cast %x : (tensor<20x16xi16>) -> tensor<20x16xi32>
  %b = tw.cast %p : (tensor<16xi16>) -> tensor<16xi32>
  %d = tw.sub %a, %b : (tensor<20x16xi32>, tensor<16xi32>) -> tensor<20x16xi32>
  %e = tw.abs %d : (tensor<20x16xi32>) -> tensor<20x16xi32>
  %y = tw.reduce sum %e {dims = array<i64: 1>} : tensor<20x16xi32> -> tensor<20xi32>
  return %y : tensor<20xi32>
}
