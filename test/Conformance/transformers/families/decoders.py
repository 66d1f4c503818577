"""Decoders: attention, mixtures of experts, and state-space models."""

from __future__ import annotations

from architectures import Architecture

SMALL = {"vocab_size": 120, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
    "max_position_embeddings": 64}
GROUPED = SMALL | {"num_key_value_heads": 2}
EXPERTS = GROUPED | {"num_experts_per_tok": 2, "moe_intermediate_size": 32}
GENERATES = ("inference", "generate", "training")


def decoder(name, model, base=None, without=None, inputs=None, **arguments):
    return Architecture(name, model, (GROUPED if base is None else base) | arguments, inputs or {}, GENERATES, without or {})


GPT = {"vocab_size": 120, "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64}
MAMBA = {"vocab_size": 120, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}

ARCHITECTURES = [
    decoder("gpt2", "GPT2LMHeadModel", GPT),
    decoder("gpt_neo", "GPTNeoForCausalLM", {"vocab_size": 120, "hidden_size": 64, "num_layers": 2, "num_heads": 4,
        "window_size": 8, "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64}),
    decoder("gpt_neox", "GPTNeoXForCausalLM", SMALL),
    decoder("gptj", "GPTJForCausalLM", GPT, rotary_dim=8),
    decoder("gpt_bigcode", "GPTBigCodeForCausalLM", GPT),
    decoder("codegen", "CodeGenForCausalLM", GPT, rotary_dim=8),
    decoder("opt", "OPTForCausalLM", {"vocab_size": 120, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "ffn_dim": 96, "max_position_embeddings": 64, "word_embed_proj_dim": 32}),
    decoder("bloom", "BloomForCausalLM", {"vocab_size": 120, "hidden_size": 64, "n_layer": 2, "n_head": 4}),
    decoder("mpt", "MptForCausalLM", {"vocab_size": 120, "d_model": 64, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}),
    decoder("falcon", "FalconForCausalLM", SMALL, new_decoder_architecture=True, num_kv_heads=2),
    decoder("llama", "LlamaForCausalLM"),
    decoder("mistral", "MistralForCausalLM", sliding_window=8),
    decoder("qwen2", "Qwen2ForCausalLM"),
    decoder("qwen3", "Qwen3ForCausalLM", head_dim=16),
    decoder("phi", "PhiForCausalLM"),
    decoder("phi3", "Phi3ForCausalLM"),
    decoder("gemma", "GemmaForCausalLM", head_dim=16),
    decoder("gemma2", "Gemma2ForCausalLM", head_dim=16, sliding_window=8, query_pre_attn_scalar=16),
    decoder("gemma3", "Gemma3ForCausalLM", head_dim=16, sliding_window=8, query_pre_attn_scalar=16),
    decoder("olmo", "OlmoForCausalLM", clip_qkv=5.0),
    decoder("olmo2", "Olmo2ForCausalLM"),
    decoder("stablelm", "StableLmForCausalLM", qk_layernorm=True, use_parallel_residual=True),
    decoder("starcoder2", "Starcoder2ForCausalLM", sliding_window=8),
    decoder("cohere", "CohereForCausalLM"),
    decoder("cohere2", "Cohere2ForCausalLM", sliding_window=8),
    decoder("granite", "GraniteForCausalLM"),
    decoder("glm", "GlmForCausalLM", head_dim=16),
    decoder("glm4", "Glm4ForCausalLM", head_dim=16),
    decoder("nemotron", "NemotronForCausalLM"),
    decoder("persimmon", "PersimmonForCausalLM", SMALL),
    decoder("smollm3", "SmolLM3ForCausalLM", no_rope_layer_interval=2),
    decoder("helium", "HeliumForCausalLM", head_dim=16),
    decoder("exaone4", "Exaone4ForCausalLM", sliding_window=8, layer_types=["sliding_attention", "full_attention"]),
    decoder("arcee", "ArceeForCausalLM"),
    decoder("ministral", "MinistralForCausalLM", head_dim=16, sliding_window=8),
    decoder("xglm", "XGLMForCausalLM", {"vocab_size": 120, "d_model": 64, "num_layers": 2, "attention_heads": 4, "ffn_dim": 96,
        "max_position_embeddings": 64}),
    decoder("biogpt", "BioGptForCausalLM", SMALL),
    decoder("ctrl", "CTRLLMHeadModel", {"vocab_size": 120, "n_embd": 64, "n_layer": 2, "n_head": 4, "dff": 96,
        "n_positions": 64}),
    decoder("openai_gpt", "OpenAIGPTLMHeadModel", GPT),
    decoder("diffllama", "DiffLlamaForCausalLM"),
    decoder("bitnet", "BitNetForCausalLM"),
    decoder("mixtral", "MixtralForCausalLM", num_local_experts=4, num_experts_per_tok=2),
    decoder("qwen2_moe", "Qwen2MoeForCausalLM", EXPERTS, num_experts=4, shared_expert_intermediate_size=48),
    decoder("qwen3_moe", "Qwen3MoeForCausalLM", EXPERTS, num_experts=4, head_dim=16),
    decoder("olmoe", "OlmoeForCausalLM", num_experts=4, num_experts_per_tok=2),
    decoder("phimoe", "PhimoeForCausalLM", num_local_experts=4),
    decoder("granitemoe", "GraniteMoeForCausalLM", num_local_experts=4, num_experts_per_tok=2),
    decoder("jetmoe", "JetMoeForCausalLM", {"vocab_size": 120, "hidden_size": 64, "num_hidden_layers": 2,
        "num_key_value_heads": 2, "kv_channels": 16, "intermediate_size": 96, "num_local_experts": 4, "num_experts_per_tok": 2,
        "max_position_embeddings": 64}),
    decoder("dbrx", "DbrxForCausalLM", {"vocab_size": 120, "d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 64,
        "attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8.0}, "ffn_config": {"ffn_hidden_size": 64,
        "moe_num_experts": 4, "moe_top_k": 2}}),
    decoder("deepseek_v3", "DeepseekV3ForCausalLM", EXPERTS, num_key_value_heads=4, n_routed_experts=4, n_group=2, topk_group=1,
        first_k_dense_replace=1, q_lora_rank=24, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=16,
        n_shared_experts=1),
    decoder("gpt_oss", "GptOssForCausalLM", num_local_experts=4, num_experts_per_tok=2, head_dim=16, sliding_window=8),
    decoder("mamba", "MambaForCausalLM", MAMBA, inputs={"attention_mask": None}),
    decoder("mamba2", "Mamba2ForCausalLM", MAMBA, num_heads=8, head_dim=8, n_groups=2, chunk_size=8,
        inputs={"attention_mask": None}),
    decoder("falcon_mamba", "FalconMambaForCausalLM", MAMBA, inputs={"attention_mask": None}),
    decoder("jamba", "JambaForCausalLM", num_experts=4, num_experts_per_tok=2, attn_layer_period=2, attn_layer_offset=1,
        expert_layer_period=2, expert_layer_offset=1, mamba_d_state=8, mamba_dt_rank=4, use_mamba_kernels=False),
    decoder("bamba", "BambaForCausalLM", attn_layer_indices=[1], mamba_n_heads=8, mamba_d_head=16, mamba_d_state=8,
        mamba_chunk_size=8),
    decoder("rwkv", "RwkvForCausalLM", {"vocab_size": 120, "hidden_size": 64, "num_hidden_layers": 2,
        "attention_hidden_size": 64, "intermediate_size": 96}),
    decoder("zamba", "ZambaForCausalLM", GROUPED, num_hidden_layers=4, layers_block_type=["mamba", "hybrid", "mamba", "hybrid"],
        mamba_d_state=8, mamba_dt_rank=4, n_mamba_heads=2, use_mamba_kernels=False, num_key_value_heads=4),
    decoder("zamba2", "Zamba2ForCausalLM", GROUPED, num_key_value_heads=4, mamba_d_state=8, n_mamba_heads=8, mamba_headdim=16,
        chunk_size=8, layers_block_type=["mamba", "hybrid"], use_mamba_kernels=False),
    decoder("recurrent_gemma", "RecurrentGemmaForCausalLM", {"vocab_size": 120, "hidden_size": 64, "num_hidden_layers": 3,
        "num_attention_heads": 4, "num_key_value_heads": 1, "intermediate_size": 96, "lru_width": 64,
        "attention_window_size": 8}),
    decoder("lfm2", "Lfm2ForCausalLM", layer_types=["conv", "full_attention"]),
    decoder("qwen3_next", "Qwen3NextForCausalLM", EXPERTS, num_experts=4, head_dim=16, shared_expert_intermediate_size=32,
        linear_num_value_heads=4, linear_num_key_heads=2, linear_key_head_dim=16, linear_value_head_dim=16,
        layer_types=["linear_attention", "full_attention"]),
]
