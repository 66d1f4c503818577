"""PyTorch Geometric: networks and convolutions on graphs of 40 nodes and 120 edges."""

from __future__ import annotations

import functools

import torch
from drawn import floats, integers
from library_models import LibraryModel, made

NETWORKS = {
    "GCN": {}, "GraphSAGE": {}, "GIN": {}, "GAT": {}, "EdgeCNN": {},
    "PNA": {"aggregators": ["mean", "max", "std"], "scalers": ["identity", "amplification"], "deg": torch.ones(8, dtype=torch.int64)},
}  # fmt: skip
CONVOLUTIONS = {
    "GATv2Conv": ((16, 8), {"heads": 2}), "TransformerConv": ((16, 8), {"heads": 2}), "ChebConv": ((16, 8, 3), {}), "SGConv": ((16, 8), {"K": 2}), "TAGConv": ((16, 8), {}),
    "ARMAConv": ((16, 8), {}), "GraphConv": ((16, 8), {}), "GatedGraphConv": ((16, 2), {}), "ResGatedGraphConv": ((16, 8), {}), "FiLMConv": ((16, 8), {}),
    "GENConv": ((16, 8), {}), "LEConv": ((16, 8), {}), "MFConv": ((16, 8), {"max_degree": 4}), "ClusterGCNConv": ((16, 8), {}), "SuperGATConv": ((16, 8), {"heads": 2}),
    "FeaStConv": ((16, 8), {"heads": 2}), "AGNNConv": ((), {}), "EGConv": ((16, 8), {}),
}  # fmt: skip


DECLARED = {name: ((16, 32, 2, 8), keywords) for name, keywords in NETWORKS.items()} | CONVOLUTIONS
MODELS = [LibraryModel(f"torch_geometric/{name}", functools.partial(made, "torch_geometric.nn", name, *arguments, **keywords), (floats(40, 16), integers(40, 2, 120)))
          for name, (arguments, keywords) in DECLARED.items()]  # fmt: skip
