// The ops after a product read its result from on-chip memory.
func.func @main(%x: tensor<12x20xi8> {tw.name = "x"}, %w: tensor<20x16xi8> {tw.name = "w"}, %b: tensor<16xi32> {tw.name = "b"}) -> (tensor<12x16xi32> {tw.name = "y"}) {
  %m = tw.matmul %x, %w : (tensor<12x20xi8>, tensor<20x16xi8>) -> tensor<12x16xi32>
  %s = tw.add %m, %b : (tensor<12x16xi32>, tensor<16xi32>) -> tensor<12x16xi32>
  %y = tw.relu %s : (tensor<12x16xi32>) -> tensor<12x16xi32>
  return %y : tensor<12x16xi32>
}
