"""Text encoders and encoder-decoder models."""

from __future__ import annotations

from architectures import Architecture
from drawn import boxes, integers

SMALL = {"vocab_size": 120, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
    "max_position_embeddings": 64}
PAIR = {"vocab_size": 120, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "max_position_embeddings": 64}
T5 = {"vocab_size": 120, "d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4}
GENERATES = ("inference", "generate", "training")


def encoder(name, model, inputs=None, without=None, **arguments):
    return Architecture(name, model, SMALL | arguments, inputs or {}, without=without or {})


def pair(name, model, base=None, inputs=None, modes=("inference", "training"), without=None, **arguments):
    return Architecture(name, model, (base or PAIR) | arguments, inputs or {}, modes, without or {})


ARCHITECTURES = [
    encoder("bert", "BertForMaskedLM"),
    encoder("roberta", "RobertaForSequenceClassification", num_labels=3),
    encoder("xlm_roberta", "XLMRobertaForTokenClassification", num_labels=3),
    encoder("albert", "AlbertForMaskedLM", embedding_size=32),
    Architecture("distilbert", "DistilBertForSequenceClassification", {"vocab_size": 120, "dim": 64, "n_layers": 2,
        "n_heads": 4, "hidden_dim": 96}),
    encoder("electra", "ElectraForPreTraining", inputs={"labels": integers(2, 2, 17)}, embedding_size=32),
    encoder("deberta", "DebertaForMaskedLM", relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=16),
    encoder("deberta_v2", "DebertaV2ForSequenceClassification", relative_attention=True, pos_att_type=["c2p", "p2c"],
        position_buckets=8, conv_kernel_size=3, norm_rel_ebd="layer_norm", share_att_key=True),
    encoder("mpnet", "MPNetForMaskedLM"),
    encoder("modernbert", "ModernBertForMaskedLM", num_hidden_layers=3, local_attention=8, global_attn_every_n_layers=2),
    Architecture("xlnet", "XLNetLMHeadModel", {"vocab_size": 120, "d_model": 64, "n_layer": 2, "n_head": 4, "d_inner": 96}),
    Architecture("funnel", "FunnelForMaskedLM", {"vocab_size": 120, "block_sizes": [1, 1], "num_decoder_layers": 1,
        "d_model": 64, "n_head": 4, "d_head": 16, "d_inner": 96}),
    encoder("camembert", "CamembertForMaskedLM"),
    encoder("ernie", "ErnieForMaskedLM"),
    encoder("roformer", "RoFormerForMaskedLM", embedding_size=64),
    encoder("nystromformer", "NystromformerForMaskedLM", num_landmarks=4, segment_means_seq_len=16,
        inputs={"input_ids": integers(120, 2, 16), "attention_mask": None}),
    encoder("squeezebert", "SqueezeBertForMaskedLM", embedding_size=64, q_groups=2, k_groups=2, v_groups=2),
    encoder("mobilebert", "MobileBertForMaskedLM", embedding_size=32, true_hidden_size=32, intra_bottleneck_size=32),
    encoder("convbert", "ConvBertForMaskedLM", embedding_size=64, head_ratio=2, conv_kernel_size=5),
    Architecture("fnet", "FNetForMaskedLM", {"vocab_size": 120, "hidden_size": 64, "num_hidden_layers": 2,
        "intermediate_size": 96, "max_position_embeddings": 64}),
    encoder("esm", "EsmForMaskedLM", position_embedding_type="rotary", pad_token_id=1, mask_token_id=2),
    encoder("megatron_bert", "MegatronBertForMaskedLM"),
    encoder("layoutlm", "LayoutLMForMaskedLM", inputs={"bbox": boxes(60, 2, 17, 4)}, max_2d_position_embeddings=64),
    encoder("rembert", "RemBertForMaskedLM", input_embedding_size=32, output_embedding_size=48),
    Architecture("flaubert", "FlaubertWithLMHeadModel", {"vocab_size": 120, "emb_dim": 64, "n_layers": 2, "n_heads": 4}),
    Architecture("longformer", "LongformerForMaskedLM", SMALL | {"attention_window": 8}),
    encoder("big_bird", "BigBirdForMaskedLM", attention_type="original_full"),
    encoder("splinter", "SplinterModel"),
    encoder("nomic_bert", "NomicBertForMaskedLM"),
    pair("t5", "T5ForConditionalGeneration", T5, modes=GENERATES),
    pair("mt5", "MT5ForConditionalGeneration", T5),
    pair("umt5", "UMT5ForConditionalGeneration", T5),
    pair("longt5", "LongT5ForConditionalGeneration", T5, local_radius=4, encoder_attention_type="local"),
    pair("switch_transformers", "SwitchTransformersForConditionalGeneration", T5, num_decoder_layers=2, num_experts=4,
        num_sparse_encoder_layers=1, num_sparse_decoder_layers=1),
    pair("bart", "BartForConditionalGeneration", modes=GENERATES),
    pair("pegasus", "PegasusForConditionalGeneration", modes=GENERATES),
    pair("marian", "MarianMTModel", modes=GENERATES),
    pair("mbart", "MBartForConditionalGeneration", modes=GENERATES),
    pair("blenderbot", "BlenderbotForConditionalGeneration", modes=GENERATES),
    pair("m2m_100", "M2M100ForConditionalGeneration"),
    pair("plbart", "PLBartForConditionalGeneration"),
    pair("led", "LEDForConditionalGeneration", attention_window=8, max_encoder_position_embeddings=64,
        max_decoder_position_embeddings=64),
    pair("prophetnet", "ProphetNetForConditionalGeneration", {"vocab_size": 120, "hidden_size": 64, "num_encoder_layers": 2,
        "num_decoder_layers": 2, "num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4, "encoder_ffn_dim": 96,
        "decoder_ffn_dim": 96, "max_position_embeddings": 64}),
]
