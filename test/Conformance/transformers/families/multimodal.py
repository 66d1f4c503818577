"""Two kinds of input: images or sounds with text, and time series."""

from __future__ import annotations

from architectures import Architecture
from drawn import boxes, floats, given, integers

TEXT = {"vocab_size": 120, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "max_position_embeddings": 64}
VISION = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32,
    "patch_size": 8}
CLIP = {"text_config": TEXT, "vision_config": VISION, "projection_dim": 24}
LLAMA = TEXT | {"num_key_value_heads": 2, "model_type": "llama"}
# The tokens of an image of 32 x 32 (16 patches) with text before and after them.
IMAGE_TOKENS = {"input_ids": given(*[[1, *[119] * 16, 7 + i, 8, 9, 10] for i in range(2)]), "attention_mask": None}


def both(name, model, inputs=None, without=None, **arguments):
    return Architecture(name, model, arguments, inputs or {}, without=without or {})


ARCHITECTURES = [
    both("clip", "CLIPModel", **CLIP),
    both("siglip", "SiglipModel", text_config=TEXT | {"max_position_embeddings": 17}, vision_config=VISION),
    both("siglip2", "Siglip2Model", text_config=TEXT | {"max_position_embeddings": 17},
        vision_config=VISION | {"num_patches": 16}, inputs={"pixel_values": floats(2, 16, 192),
        "pixel_attention_mask": integers(2, 2, 16), "spatial_shapes": given([4, 4], [4, 4])}),
    both("chinese_clip", "ChineseCLIPModel", **CLIP),
    both("altclip", "AltCLIPModel", text_config=TEXT | {"project_dim": 24}, vision_config=VISION, projection_dim=24),
    both("clipseg", "CLIPSegForImageSegmentation", **CLIP, extract_layers=[0, 1], reduce_dim=16, decoder_num_attention_heads=4,
        decoder_intermediate_size=32),
    both("blip", "BlipForConditionalGeneration", text_config=TEXT | {"encoder_hidden_size": 32}, vision_config=VISION,
        image_text_hidden_size=24),
    both("blip_2", "Blip2ForConditionalGeneration", vision_config=VISION, qformer_config=TEXT | {"encoder_hidden_size": 32},
        num_query_tokens=4, text_config={"model_type": "opt", "vocab_size": 120, "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "ffn_dim": 48, "max_position_embeddings": 64, "word_embed_proj_dim": 32},
        image_token_index=119, inputs={"input_ids": given(*[[119] * 4 + [7 + i, 8, 9, 10] for i in range(2)]),
        "attention_mask": None}),
    both("vilt", "ViltModel", **(TEXT | VISION)),
    both("flava", "FlavaModel", text_config=TEXT, image_config=VISION,
        multimodal_config={k: TEXT[k] for k in TEXT if k != "vocab_size"}, projection_dim=24, hidden_size=32),
    both("owlvit", "OwlViTModel", text_config=TEXT | {"max_position_embeddings": 17}, vision_config=VISION, projection_dim=24),
    both("owlv2", "Owlv2Model", text_config=TEXT | {"max_position_embeddings": 17}, vision_config=VISION, projection_dim=24),
    both("groupvit", "GroupViTModel", text_config=TEXT, vision_config={"hidden_size": 32, "depths": [1, 1, 1],
        "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32, "patch_size": 8,
        "num_group_tokens": [4, 2, 0], "num_output_groups": [4, 2, 0]}, projection_dim=24, projection_intermediate_dim=48),
    both("align", "AlignModel", text_config=TEXT, vision_config={"image_size": 64, "width_coefficient": 0.25,
        "depth_coefficient": 0.2, "hidden_dim": 80}, projection_dim=80),
    both("bridgetower", "BridgeTowerModel", text_config=TEXT | {"hidden_size": 64}, vision_config=VISION | {"hidden_size": 64},
        hidden_size=64, num_hidden_layers=2, num_attention_heads=4, share_cross_modal_transformer_layers=True),
    both("llava", "LlavaForConditionalGeneration", text_config=LLAMA,
        vision_config=VISION | {"model_type": "clip_vision_model"}, image_token_index=119, inputs=IMAGE_TOKENS),
    both("paligemma", "PaliGemmaForConditionalGeneration", text_config=TEXT | {"num_key_value_heads": 1, "head_dim": 8,
        "model_type": "gemma"}, vision_config=VISION | {"model_type": "siglip_vision_model", "vision_use_head": False},
        image_token_index=119, projection_dim=32, inputs=IMAGE_TOKENS),
    both("git", "GitForCausalLM", **TEXT, vision_config=VISION),
    both("clap", "ClapModel", text_config=TEXT, projection_dim=24, audio_config={"patch_embeds_hidden_size": 16,
        "hidden_size": 32, "depths": [1, 1], "num_attention_heads": [2, 2], "num_mel_bins": 16, "spec_size": 64,
        "window_size": 4, "patch_size": 4, "patch_stride": [4, 4], "num_hidden_layers": 2, "enable_fusion": False},
        inputs={"input_features": floats(2, 1, 64, 16), "is_longer": given([False], [False])}),
    both("lxmert", "LxmertModel", vocab_size=120, hidden_size=32, num_attention_heads=4, l_layers=1, x_layers=1, r_layers=1,
        intermediate_size=48, visual_feat_dim=16, inputs={"visual_feats": floats(2, 6, 16), "visual_pos": floats(2, 6, 4)}),
    both("visual_bert", "VisualBertModel", **TEXT, visual_embedding_dim=16, inputs={"visual_embeds": floats(2, 6, 16)}),
    both("trocr", "TrOCRForCausalLM", vocab_size=120, d_model=32, decoder_layers=2, decoder_attention_heads=4,
        decoder_ffn_dim=48, max_position_embeddings=64),
    both("layoutlmv3", "LayoutLMv3ForTokenClassification", **TEXT, max_2d_position_embeddings=64, coordinate_size=6,
        shape_size=4, input_size=32, patch_size=8, num_labels=3, rel_pos_bins=8, max_rel_pos=16, rel_2d_pos_bins=8,
        max_rel_2d_pos=16, inputs={"bbox": boxes(30, 2, 17, 4), "pixel_values": floats(2, 3, 32, 32)}),
    both("perceiver", "PerceiverForMaskedLM", num_latents=8, d_latents=32, d_model=32, num_blocks=1,
        num_self_attends_per_block=2, num_self_attention_heads=4, num_cross_attention_heads=4, vocab_size=120,
        max_position_embeddings=17),
    both("patchtst", "PatchTSTForPrediction", num_input_channels=3, context_length=32, patch_length=8, patch_stride=8,
        num_hidden_layers=2, d_model=32, num_attention_heads=4, ffn_dim=48, prediction_length=8, loss="mse",
        inputs={"past_values": floats(2, 32, 3)}),
    both("patchtsmixer", "PatchTSMixerForPrediction", num_input_channels=3, context_length=32, patch_length=8, patch_stride=8,
        num_layers=2, d_model=32, prediction_length=8, loss="mse", inputs={"past_values": floats(2, 32, 3)}),
    both("decision_transformer", "DecisionTransformerModel", state_dim=5, act_dim=3, hidden_size=32, n_layer=2, n_head=4,
        max_ep_len=32, inputs={"states": floats(2, 8, 5), "actions": floats(2, 8, 3), "rewards": floats(2, 8, 1),
        "returns_to_go": floats(2, 8, 1), "timesteps": integers(32, 2, 8)}),
]
