"""Audio: waveforms and spectrograms."""

from __future__ import annotations

from architectures import Architecture
from drawn import floats

WAVE = {"vocab_size": 32, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48,
    "conv_dim": [16, 16, 16], "conv_stride": [4, 4, 4], "conv_kernel": [8, 8, 8], "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2, "mask_time_prob": 0.0, "mask_feature_prob": 0.0, "num_labels": 5,
    "classifier_proj_size": 16}
SAMPLES = {"input_values": floats(2, 1600)}


def wave(name, model, inputs=None, without=None, **arguments):
    return Architecture(name, model, WAVE | arguments, inputs or SAMPLES, without=without or {})


SPEECH = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 96, "decoder_ffn_dim": 96, "vocab_size": 120}

ARCHITECTURES = [
    wave("wav2vec2", "Wav2Vec2ForCTC"),
    wave("wav2vec2_conformer", "Wav2Vec2ConformerForSequenceClassification", conv_depthwise_kernel_size=7),
    wave("hubert", "HubertForCTC"),
    wave("wavlm", "WavLMForSequenceClassification"),
    wave("sew", "SEWForSequenceClassification", squeeze_factor=2),
    wave("sew_d", "SEWDForSequenceClassification", squeeze_factor=2, max_position_embeddings=64, position_buckets=8),
    wave("unispeech", "UniSpeechForSequenceClassification"),
    wave("unispeech_sat", "UniSpeechSatForSequenceClassification"),
    wave("data2vec_audio", "Data2VecAudioForSequenceClassification", conv_pos_kernel_size=5, num_conv_pos_embeddings=2),
    wave("wav2vec2_bert", "Wav2Vec2BertForSequenceClassification", inputs={"input_features": floats(2, 40, 16)},
        feature_projection_input_dim=16, conv_depthwise_kernel_size=7),
    Architecture("whisper", "WhisperForConditionalGeneration", SPEECH | {"num_mel_bins": 16, "max_source_positions": 30,
        "max_target_positions": 64}, {"input_features": floats(2, 16, 60)}, ("inference", "generate", "training")),
    Architecture("speech_to_text", "Speech2TextForConditionalGeneration", SPEECH | {"input_feat_per_channel": 16,
        "conv_channels": 32, "max_source_positions": 64, "max_target_positions": 64}, {"input_features": floats(2, 40, 16)}),
    Architecture("moonshine", "MoonshineForConditionalGeneration", {"vocab_size": 120, "hidden_size": 32,
        "intermediate_size": 64, "encoder_num_hidden_layers": 2, "decoder_num_hidden_layers": 2,
        "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4}, {"input_values": floats(2, 3200)}),
    Architecture("audio_spectrogram_transformer", "ASTForAudioClassification", {"hidden_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 96, "max_length": 48, "num_mel_bins": 32, "num_labels": 5},
        {"input_values": floats(2, 48, 32)}),
    Architecture("encodec", "EncodecModel", {"num_filters": 4, "hidden_size": 16, "codebook_size": 16, "codebook_dim": 16,
        "upsampling_ratios": [4, 2]}, {"input_values": floats(2, 1, 640)}),
    Architecture("speecht5", "SpeechT5ForSpeechToText", WAVE | {"vocab_size": 120, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48,
        "max_text_positions": 64}, SAMPLES),
    Architecture("univnet", "UnivNetModel", {"model_in_channels": 8, "model_hidden_channels": 8, "num_mel_bins": 16,
        "resblock_kernel_sizes": [3], "resblock_stride_sizes": [4], "resblock_dilation_sizes": [[1, 3]],
        "kernel_predictor_num_blocks": 1, "kernel_predictor_hidden_channels": 8}, {"input_features": floats(2, 20, 16),
        "noise_sequence": floats(2, 20, 8)}),
]
