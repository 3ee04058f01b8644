"""Megatron flags that change nothing here: neither what is gathered, nor when, nor how long a kernel takes.

Names are those of Megatron-LM's ``megatron/training/arguments.py`` about core 0.15, some older ones, and torchrun's,
grouped by theme and by how many values a flag takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Takes = Literal["none", "one", "any"]
"""How many values a flag takes."""

_BY_THEME: dict[str, dict[Takes, str]] = {
    "optimizer": {
        "one": """
            adam-beta1 adam-beta2 adam-eps clip-grad end-weight-decay exp-avg-dtype exp-avg-sq-dtype main-grads-dtype
            main-params-dtype optimizer-offload-fraction sgd-momentum start-weight-decay weight-decay
            weight-decay-incr-style dump-param-to-param-group-map
        """,
        "none": """
            no-pin-cpu-grads no-pin-cpu-params optimizer-cpu-offload overlap-cpu-optimizer-d2h-h2d
            use-precision-aware-optimizer use-torch-optimizer-for-cpu-offload
        """,
    },
    "learning rate": {
        "one": """
            decoupled-lr decoupled-min-lr lr lr-decay-iters lr-decay-samples lr-decay-style lr-warmup-fraction
            lr-warmup-init lr-warmup-iters lr-warmup-samples lr-wsd-decay-iters lr-wsd-decay-samples lr-wsd-decay-style
            min-lr
        """,
        "none": """
            override-opt_param-scheduler override-opt-param-scheduler use-checkpoint-opt_param-scheduler
            use-checkpoint-opt-param-scheduler
        """,
    },
    "loss scale and precision of reductions": {
        "one": "hysteresis initial-loss-scale loss-scale loss-scale-window min-loss-scale",
        "none": """
            accumulate-allreduce-grads-in-fp32 apply-query-key-layer-scaling attention-softmax-in-fp32
            calculate-per-token-loss disable-bf16-reduced-precision-matmul fp16-lm-cross-entropy
            fp32-residual-connection grad-reduce-in-bf16
        """,
    },
    "fp8 and fp4 settings": {
        "one": """
            fp4-recipe fp8-amax-compute-algo fp8-amax-history-len fp8-interval fp8-margin fp8-recipe
            num-layers-at-end-in-bf16 num-layers-at-start-in-bf16
        """,
        "none": "first-last-layers-bf16 no-fp8-wgrad",
    },
    "dropout and initialisation": {
        "one": "attention-dropout embedding-init-method-std hidden-dropout init-method-std seed",
        "none": """
            data-parallel-random-init init-method-xavier-uniform init-model-with-meta-device no-initialization
            te-rng-tracker inference-rng-tracker use-cpu-initialization
        """,
    },
    "kernels and functions without parameters": {
        "one": """
            activation-func-clamp-value attention-backend cross-entropy-fusion-impl glu-linear-offset no-rope-freq
            norm-epsilon onnx-safe relative-attention-max-distance relative-attention-num-buckets rope-scaling-factor
            rope-type rotary-base rotary-percent rotary-scaling-factor rotary-seq-len-interpolation-factor
        """,
        "none": """
            apply-layernorm-1p apply-residual-connection-post-layernorm cross-entropy-loss-fusion deterministic-mode
            no-bias-dropout-fusion no-bias-gelu-fusion no-bias-swiglu-fusion no-gradient-accumulation-fusion
            no-masked-softmax-fusion no-persist-layer-norm no-rope-fusion openai-gelu qk-l2-norm rotary-interleaved
            squared-relu use-flash-attn use-mcore-models use-rope-scaling use-te-activation-func
        """,
    },
    "length of training and validation": {
        "one": "eval-interval eval-iters exit-duration-in-mins exit-interval train-iters train-samples",
        "any": "iterations-to-skip",
        "none": "exit-signal-handler full-validation multiple-validation-sets test-mode",
    },
    "data": {
        "one": """
            data-args-path data-cache-path dataloader-type mid-level-dataset-surplus num-dataset-builder-threads
            num-workers object-storage-cache-path per-split-data-args-path sample-rate split
        """,
        "any": "data-path test-data-path train-data-path valid-data-path",
        "none": """
            allow-ambiguous-pad-tokens eod-mask-loss mock-data no-create-attention-mask-in-dataloader no-mmap-bin-files
            reset-attention-mask reset-position-ids
        """,
    },
    "tokenizer": {
        "one": """
            merge-file sft-tokenizer-prompt-format tiktoken-num-special-tokens tiktoken-pattern tokenizer-metadata
            tokenizer-model vocab-file
        """,
        "any": "tiktoken-special-tokens",
        "none": "legacy-tokenizer sft trust-remote-code",
    },
    "checkpoint": {
        "one": """
            ckpt-convert-format ckpt-convert-save ckpt-format ckpt-step dist-ckpt-format dist-ckpt-strictness load
            non-persistent-ckpt-type non-persistent-global-ckpt-dir non-persistent-local-ckpt-algo
            non-persistent-local-ckpt-dir non-persistent-save-interval persistent-save-interval pretrained-checkpoint
            replication-factor replication-jump save save-interval save-retain-interval
        """,
        "none": """
            async-save auto-detect-ckpt-format ckpt-assume-constant-structure ckpt-convert-update-legacy-dist-opt-format
            ckpt-fully-parallel-load ckpt-fully-parallel-save dist-ckpt-optim-fully-reshardable
            dist-ckpt-save-pre-mcore-014 distrib-optim-fully-reshardable-mem-efficient exit-on-missing-checkpoint
            finetune load-main-params-from-ckpt no-ckpt-fully-parallel-save no-load-optim no-load-rng no-save-optim
            no-save-rng no-strict-fsdp-dtensor-load no-use-tokenizer-model-from-checkpoint-args replication
            use-dist-ckpt use-persistent-ckpt-worker disable-msc
        """,
    },
    "logging and profiling": {
        "one": """
            app-tag-run-name app-tag-run-version config-logger-dir log-interval logging-level memory-snapshot-path
            one-logger-project one-logger-run-name profile-step-end profile-step-start straggler-ctrlr-port
            straggler-minmax-count tensorboard-dir tensorboard-log-interval tensorboard-queue-size timing-log-level
            timing-log-option wandb-entity wandb-exp-name wandb-project wandb-save-dir
        """,
        "any": "profile-ranks",
        "none": """
            check-for-large-grads check-for-spiky-loss disable-straggler-on-startup log-batch-size-to-tensorboard
            log-energy log-learning-rate-to-tensorboard log-memory-to-tensorboard log-num-zeros-in-grad log-params-norm
            log-progress log-straggler log-throughput log-timers-to-tensorboard log-validation-ppl-to-tensorboard
            log-world-size-to-tensorboard no-barrier-with-level-1-timing no-check-for-nan-in-loss-and-grad
            no-log-learnig-rate-to-tensorboard no-log-loss-scale-to-tensorboard no-one-logger one-logger-async profile
            record-memory-history run-workload-inspector-server use-pytorch-profiler
        """,
    },
    "resilience and memory": {
        "one": """
            adlr-autoresume-interval check-weight-hash-across-dp-replicas-interval empty-unused-memory-level
            error-injection-rate error-injection-type inprocess-active-world-size inprocess-barrier-timeout
            inprocess-completion-timeout inprocess-granularity inprocess-hard-timeout inprocess-heartbeat-interval
            inprocess-heartbeat-timeout inprocess-last-call-wait inprocess-max-iterations
            inprocess-monitor-process-interval inprocess-monitor-thread-interval inprocess-progress-watchdog-interval
            inprocess-soft-timeout inprocess-termination-grace-time manual-gc-interval rerun-mode
            result-rejected-tracker-filename train-sync-interval
        """,
        "none": """
            adlr-autoresume calc-ft-timeouts decrease-batch-size-if-needed enable-experimental enable-ft-package
            inprocess-empty-cuda-cache inprocess-restart manual-gc no-manual-gc-eval
        """,
    },
    "communication of one data-parallel group": {
        "one": """
            distributed-backend distributed-timeout-minutes distributed-timeout-seconds-after-init lazy-mpu-init
            local-rank nccl-communicator-config-path sharp-enabled-group
        """,
        "any": "high-priority-stream-groups",
        "none": """
            ddp-average-in-collective ddp-reduce-scatter-with-fp32-accumulation disable-gloo-process-groups
            disable-symmetric-registration no-gradient-reduce-div-fusion use-nccl-ub use-sharp
        """,
    },
    "parallelism of sizes that are one here": {
        "one": "pipeline-model-parallel-comm-backend tp-comm-bootstrap-backend tp-comm-overlap-cfg",
        "any": "cp-comm-type",
        "none": """
            align-grad-reduce disable-tp-comm-bulk-dgrad disable-tp-comm-bulk-wgrad disable-tp-comm-overlap-ag
            disable-tp-comm-overlap-rs disable-tp-comm-split-ag disable-tp-comm-split-rs delay-grad-reduce
            distribute-saved-activations no-align-grad-reduce no-align-param-gather
            no-async-tensor-model-parallel-allreduce no-clone-scatter-output-in-embedding no-delay-grad-reduce
            no-overlap-p2p-communication no-scatter-gather-tensors-in-pipeline
            overlap-p2p-communication-warmup-flush sequence-parallel tp-comm-overlap tp-comm-overlap-rs-dgrad
            use-ring-exchange-p2p use-tp-pp-dp-mapping
        """,
    },
    "latent attention settings without latent attention": {
        "one": "kv-lora-rank mscale mscale-all-dim q-lora-rank qk-head-dim qk-pos-emb-head-dim v-head-dim",
        "none": "cache-mla-latents",
    },
    "CUDA graph settings without a CUDA graph": {
        "one": "cuda-graph-warmup-steps",
        "any": "cuda-graph-scope",
    },
    "torchrun": {
        "one": """
            master-addr master-port master_addr master_port nnodes node-rank node_rank nproc-per-node nproc_per_node
            rdzv-backend rdzv-endpoint rdzv-id rdzv_backend rdzv_endpoint rdzv_id
        """,
    },
}

IGNORED: Mapping[str, Takes] = {
    name: takes for theme in _BY_THEME.values() for takes, names in theme.items() for name in names.split()
}
"""Flag (without dashes) to how many values it takes."""
