"""Writes resnet50.pt2 with a symbolic batch size and random weights. An optional argument names a checkpoint on the
Hugging Face Hub with trained weights, such as microsoft/resnet-50."""

import sys

import torch
from transformers import ResNetConfig, ResNetForImageClassification

import tilewright


class Classifier(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, images):
        return self.network(images).logits


torch.manual_seed(0)
if len(sys.argv) > 1:
    network = ResNetForImageClassification.from_pretrained(sys.argv[1])
else:
    network = ResNetForImageClassification(ResNetConfig(num_labels=1000))
batch = torch.export.Dim("batch", min=1, max=64)
tilewright.export(Classifier(network).eval(), (torch.rand(2, 3, 224, 224),), "resnet50.pt2", dynamic_shapes=({0: batch},))
