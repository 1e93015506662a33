#!/usr/bin/env bash
# Snakemake runs this in the new environment: what requirements/vllm.overrides leaves out goes.
set -euo pipefail
python -m pip uninstall --yes torchvision torchaudio torchcodec triton
