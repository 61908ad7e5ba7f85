"""Models of optimum-graphcore through its IPUTrainer, tiny, with random weights and generated data.

    python benchmarks/optimum_models.py FOLDER [MODEL ...]

FOLDER holds a checkout of optimum-graphcore, which is used unchanged. The interpreter needs what it requires:
transformers 4.29.2, optimum 1.6.1, diffusers 0.12.1, accelerate 0.20.3, peft 0.3.0, typeguard, and a setuptools that
still has pkg_resources. Each model trains in a process of its own: float32, no dropout, two IPUs, eight samples per
weight update, eight updates. Printed are the loss of plain PyTorch on these samples, the first loss of the training
and the last. Exit code 1 if a first loss differs in its fourth digit, or if a loss does not fall.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

SAMPLES, UPDATES, WORDS, LENGTH, ANSWER = 8, 8, 96, 16, 8
DIGITS = 5e-5  # relative: four digits

#: sizes of a transformer, as most configurations call them
SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
ENCODER = SIZES | {
    "vocab_size": WORDS,
    "max_position_embeddings": 40,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
ENCODER_DECODER = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": WORDS, "dropout": 0.0, "attention_dropout": 0.0,
    "activation_dropout": 0.0,
}  # fmt: skip
#: name -> class of the model, class of its configuration, what is configured, kind of data, layers of each IPU
MODELS: dict[str, tuple[str, str, dict[str, Any], str, tuple[int, int]]] = {
    "BERT": ("BertForSequenceClassification", "BertConfig", ENCODER, "text", (1, 1)),
    "RoBERTa": ("RobertaForSequenceClassification", "RobertaConfig", ENCODER, "text", (1, 1)),
    "DistilBERT": (
        "DistilBertForSequenceClassification", "DistilBertConfig",
        {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": WORDS, "max_position_embeddings": 32,
         "dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0},
        "text", (1, 1),
    ),
    "DeBERTa": (
        "DebertaForSequenceClassification", "DebertaConfig",
        # without a problem type its loss has a shape that depends on data
        ENCODER | {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 32,
         "position_biased_input": False, "pooler_dropout": 0.0, "type_vocab_size": 0,
         "problem_type": "single_label_classification"},
        "text", (1, 1),
    ),
    "GPT-2": (
        "GPT2LMHeadModel", "GPT2Config",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": WORDS, "n_positions": 32, "resid_pdrop": 0.0,
         "embd_pdrop": 0.0, "attn_pdrop": 0.0},
        "same text", (1, 1),
    ),
    "T5": (
        "T5ForConditionalGeneration", "T5Config",
        {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_decoder_layers": 2, "num_heads": 4,
         "vocab_size": WORDS, "dropout_rate": 0.0, "decoder_start_token_id": 0},
        "text to text", (2, 2),
    ),
    "BART": (
        "BartForConditionalGeneration", "BartConfig", ENCODER_DECODER | {"max_position_embeddings": 32},
        "text to text", (2, 2),
    ),
    "ViT": (
        "ViTForImageClassification", "ViTConfig",
        SIZES | {"image_size": 32, "patch_size": 8, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
        "image", (1, 1),
    ),
    "ConvNeXt": (
        "ConvNextForImageClassification", "ConvNextConfig",
        {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1], "image_size": 32, "drop_path_rate": 0.0},
        "image", (2, 2),
    ),
    "Whisper": (
        "WhisperForConditionalGeneration", "WhisperConfig",
        ENCODER_DECODER | {"max_source_positions": 20, "max_target_positions": 16, "num_mel_bins": 16,
         "pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 2, "decoder_start_token_id": 3,
         "suppress_tokens": None, "begin_suppress_tokens": None},
        "spectrum", (2, 2),
    ),
    "Wav2Vec2": (
        "Wav2Vec2ForCTC", "Wav2Vec2Config",
        SIZES | {"vocab_size": 32, "conv_dim": (16, 16, 16), "conv_stride": (5, 4, 2), "conv_kernel": (10, 8, 4),
         "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2,
         "hidden_dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0, "feat_proj_dropout": 0.0,
         "final_dropout": 0.0, "layerdrop": 0.0, "mask_time_prob": 0.0, "mask_feature_prob": 0.0,
         "ctc_loss_reduction": "mean", "pad_token_id": 0},
        "sound", (4, 3),
    ),
}  # fmt: skip


def data(kind: str) -> dict[str, Any]:
    """Eight samples of that kind with their labels."""
    import torch

    generator = torch.Generator().manual_seed(7)

    def words(length: int, low: int = 5, high: int = WORDS) -> Any:
        return torch.randint(low, high, (SAMPLES, length), generator=generator)

    def noise(*shape: int) -> Any:
        return torch.randn(SAMPLES, *shape, generator=generator)

    classes = torch.tensor([0, 1, 1, 0] * (SAMPLES // 4))
    if kind == "image":
        return {"pixel_values": noise(3, 32, 32), "labels": classes}
    if kind == "sound":
        return {"input_values": noise(1600), "labels": words(5, 1, 32)}
    if kind == "spectrum":
        return {"input_features": noise(16, 40), "labels": words(ANSWER), "decoder_input_ids": words(ANSWER)}
    text = words(LENGTH)
    given = {"input_ids": text, "attention_mask": torch.ones_like(text)}
    if kind == "text to text":
        return given | {"labels": words(ANSWER), "decoder_input_ids": words(ANSWER)}
    return given | {"labels": text.clone() if kind == "same text" else classes}


def train(name: str) -> bool:
    """Train one model in this process and print its row of the table."""
    import torch
    import transformers
    from optimum.graphcore import IPUConfig, IPUTrainer, IPUTrainingArguments

    kind_of_model, kind_of_config, sizes, kind_of_data, layers = MODELS[name]
    torch.manual_seed(3)
    model = getattr(transformers, kind_of_model)(getattr(transformers, kind_of_config)(**sizes)).train()
    batch = data(kind_of_data)
    with torch.no_grad():
        plain = model(**batch).loss.item()
    machine = IPUConfig(
        layers_per_ipu=list(layers),
        ipus_per_replica=2,
        gradient_accumulation_steps=SAMPLES,
        output_mode="all",  # the loss of an update is the mean over its micro-batches
        executable_cache_dir="disabled",
        enable_half_partials=False,
        optimizer_state_offchip=False,
    )
    losses: list[float] = []

    class Trainer(IPUTrainer):
        def training_step(self, *args: Any, **named: Any) -> Any:
            loss = super().training_step(*args, **named)
            losses.append(float(torch.as_tensor(loss).mean()))
            return loss

    with tempfile.TemporaryDirectory() as folder:
        arguments = IPUTrainingArguments(
            output_dir=folder,
            num_train_epochs=UPDATES,
            per_device_train_batch_size=1,
            learning_rate=5e-3,
            lr_scheduler_type="constant",
            fp32=True,
            report_to=[],
            disable_tqdm=True,
            save_strategy="no",
        )
        rows = [{key: values[i] for key, values in batch.items()} for i in range(SAMPLES)]
        Trainer(
            model=model,
            ipu_config=machine,
            args=arguments,
            train_dataset=rows,
            data_collator=transformers.default_data_collator,
        ).train()
    print(f"| {name} | {plain:.6g} | {losses[0]:.6g} | {losses[-1]:.4g} |", flush=True)
    return abs(losses[0] - plain) <= DIGITS * abs(plain) and losses[-1] < losses[0]


def main(words: list[str] | None = None) -> int:
    """Train each model in a process of its own; 0 if all are as they should be."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="a checkout of optimum-graphcore")
    parser.add_argument("models", nargs="*", help=f"which; all by default: {', '.join(MODELS)}")
    parser.add_argument(
        "--here", action="store_true", help="in this process, with optimum-graphcore on its path"
    )
    options = parser.parse_args(words)
    if options.here:
        return 0 if all(train(name) for name in options.models) else 1
    print("| model | plain PyTorch | first update | last update |\n|---|---:|---:|---:|", flush=True)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(options.folder), *sys.path[1:]])}
    failed = False
    for name in options.models or MODELS:
        command = [sys.executable, __file__, str(options.folder), name, "--here"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        rows = [line for line in done.stdout.splitlines() if line.startswith(f"| {name} ")]
        print(
            rows[0] if rows else f"| {name} | fails: {(done.stderr.splitlines() or [''])[-1]} | | |",
            flush=True,
        )
        failed = failed or done.returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
