// flags: --port x=stream --port gain=axi_lite --port bias=stream --port y=stream --port sums=stream
// Four ports are streams, and one is a register. Queues pass each element of x to two consumers, one of which reads row
// by row.
func.func @main(%x: tensor<24x16xf32> {tw.name = "x"}, %gain: tensor<f32> {tw.name = "gain"},
                %bias: tensor<16xf32> {tw.name = "bias"}, %w: tensor<16x8xf32> {tw.name = "w"})
    -> (tensor<24x16xf32> {tw.name = "y"}, tensor<24x8xf32> {tw.name = "sums"}) {
  %s = tw.mul %x, %gain : (tensor<24x16xf32>, tensor<f32>) -> tensor<24x16xf32>
  %b = tw.add %s, %bias : (tensor<24x16xf32>, tensor<16xf32>) -> tensor<24x16xf32>
  %y = tw.relu %b : (tensor<24x16xf32>) -> tensor<24x16xf32>
  %sums = tw.matmul %x, %w : (tensor<24x16xf32>, tensor<16x8xf32>) -> tensor<24x8xf32>
  return %y, %sums : tensor<24x16xf32>, tensor<24x8xf32>
}
