"""What a logged value is shown as: the concept and the unit of its name, and the value with that unit.

Names are those that frameworks write, or that people choose for the same quantities.
"""

from __future__ import annotations

from tuimon.draw.numbers import format_value
from tuimon.vocabulary import classify, unit_text

TABLE = """
# verl
timing_s/gen                              42.5       time.phase                 s             42.50 s
timing_s/step                             101.25     time.step                  s             101.2 s
timing_s/update_actor                     31         time.phase                 s             31 s
timing_per_token_ms/gen                   0.25       time.per_token             ms            0.2500 ms
perf/max_memory_allocated_gb              61.3       gpu.peak                   GB            61.30 GB
perf/max_memory_reserved_gb               70.25      gpu.peak                   GB            70.25 GB
perf/gpu3/max_memory_allocated_gb         61.3       gpu.peak                   GB            61.30 GB
gpu.0.max_memory_reserved                 61.3       gpu.peak                   1             61.30
perf/cpu_memory_used_gb                   112        cpu.memory                 GB            112 GB
perf/time_per_step                        101.25     time.step                  s             101.2 s
perf/throughput                           812.5      throughput.tokens_per_gpu  tokens/s/gpu  812.5 tokens/s/gpu
perf/mfu/actor                            0.41       throughput.mfu             frac          0.4100
# TRL, Transformers
train_runtime                             3600       progress.elapsed           s             3600 s
train_samples_per_second                  12.5       throughput.samples         samples/s     12.50 samples/s
train_steps_per_second                    0.5        throughput.steps           steps/s       0.5000 steps/s
train_tokens_per_second                   12500      throughput.tokens          tokens/s      12.5k tokens/s
eval_runtime                              12.5       known.other                s             12.50 s
step_time                                 2.5        time.step                  s             2.500 s
# ROLL, RLinf
time/step_total                           90.5       time.step                  s             90.50 s
time/rollout                              40.5       time.phase                 s             40.50 s
memory/generate/end/onload/allocated/0    31.5       gpu.allocated              GiB           31.50 GiB
memory/cpu/generate/end/rss               5.5        cpu.memory                 GiB           5.500 GiB
system/tps                                1250       throughput.tokens          tokens/s      1250 tokens/s
time/step                                 12.25      time.step                  s             12.25 s
# Megatron, DeepSpeed, torchtitan
elapsed time per iteration (ms)           1250.5     time.step                  ms            1250 ms
throughput per GPU (TFLOP/s/GPU)          312.5      throughput.mfu             TFLOP/s       312.5 TFLOP/s
iteration-time                            1.25       time.step                  s             1.250 s
Train/Samples/elapsed_time_ms_forward     35.5       known.other                ms            35.50 ms
fwd_microstep_ms                          35.5       other                      ms            35.50 ms
memory/max_active(GiB)                    61.5       gpu.peak                   GiB           61.50 GiB
memory/max_reserved(%)                    80         gpu.frac                   pct           80 %
time_metrics/data_loading(s)              0.5        time.phase                 s             0.5000 s
# Lightning, Keras, RLlib
time_this_iter_s                          4.5        time.step                  s             4.500 s
epoch_time_seconds                        61         other                      s             61 s
ms/step                                   35         time.step                  ms            35 ms
s/it                                      1.25       time.step                  s             1.250 s
sec/it                                    1.25       time.step                  s             1.250 s
it/s                                      2.5        throughput.steps           steps/s       2.500 steps/s
tokens/s                                  12500      throughput.tokens          tokens/s      12.5k tokens/s
tok/s/gpu                                 12500      throughput.tokens_per_gpu  tokens/s/gpu  12.5k tokens/s/gpu
# nvidia-smi, SLURM, trackers
memory.used [MiB]                         61500      memory.used                MiB           61500 MiB
memory.total [MiB]                        81559      gpu.total                  MiB           81559 MiB
gpu/0/memory_used_mib                     6150       gpu.used                   MiB           6150 MiB
MaxRSS_MB                                 512        other                      MB            512 MB
rss_gb                                    3.5        cpu.memory                 GB            3.500 GB
system/proc.memory.rssMB                  512        machine                    MB            512 MB
system/gpu.0.powerWatts                   350        machine                    W             350 W
# a unit in the middle
train_step_ms/total                       350        time.step                  ms            350 ms
time_ms/step                              350        time.step                  ms            350 ms
step_time_ms_mean                         350        time.step                  ms            350 ms
# timers of home-grown loops, beside a step_time
data_time                                 0.25       time.phase                 s             0.2500 s
train/forward_time                        0.75       time.phase                 s             0.7500 s
timing/optimizer_step_time                1.5        time.phase                 s             1.500 s
comm_time_ms                              85.5       time.phase                 ms            85.50 ms
# what a rank writes about itself
rank                                      3          drop                       1             3
world_size                                16         drop                       1             16
perf/step_ms/avg                          350        time.step                  ms            350 ms
ms_per_step                               350        time.step                  ms            350 ms
seconds_per_step                          1.25       time.step                  s             1.250 s
latency_us/p50                            125        other                      us            125 us
latency_ms/p99                            12.5       other                      ms            12.50 ms
ttft_ms/mean                              12.5       other                      ms            12.50 ms
fwd_ms                                    12.5       other                      ms            12.50 ms
elapsed_time_ms                           1250       other                      ms            1250 ms
time_us/fwd                               125        time.phase                 us            125 us
mem_mb/peak                               512        memory.used                MB            512 MB
mem_gb/0                                  61.5       other                      GB            61.50 GB
gpu_mem_mb_peak                           512        gpu.peak                   MB            512 MB
# memory of devices
gpu/memory_allocated_gb                   64.04      gpu.allocated              GB            64.04 GB
gpu/memory_reserved_gb                    70         gpu.reserved               GB            70 GB
gpu/memory_total_gb                       80         gpu.total                  GB            80 GB
gpu_mem_total                             80         gpu.total                  1             80
system/gpu.0.memory_total                 80         gpu.total                  1             80
vram_total_gb                             24         gpu.total                  GB            24 GB
memory/capacity                           80         gpu.total                  1             80
gpu_memory_used_bytes                     64000000000  gpu.used                 B             64.0 GB
gpu_3_memory_allocated_gib                64         gpu.allocated              GiB           64 GiB
gpu_mem                                   61.3       gpu.used                   1             61.30
VRAM                                      9.8        gpu.used                   1             9.800
mem                                       61.3       memory.used                1             61.30
# ratios and counts beside measures
agent/tool_call_success                   0.95    success.tool              frac      0.9500
rollout/tool_success_rate                 0.95    success.tool              frac      0.9500
tools/failure_frequency                   0.05    success.tool              frac      0.0500
train_tool_stats/tool_success_rate        95      success.tool_rate_pct     pct       95 %
env/success_rate                          0.5     success.train             frac      0.5000
prompt_length/clip_ratio                  0.5     truncation.prompt         frac      0.5000
response_length_non_aborted/clip_ratio    0.5     truncation                frac      0.5000
timing_s/loop/slowest/response_length     150     known.other               tokens    150 tokens
timing_s/cache_hit_rate                   0.5     other                     1         0.5000
turns_ratio                               0.5     other                     1         0.5000
env/sokoban/action_is_valid               0.9     turns                     frac      0.9000
agent/num_turns/mean                      5       turns                     count     5
training/rollout_probs_diff_mean          0.01    kl.mismatch               1         0.0100
token_mult_prob_error                     1.01    kl.mismatch               1         1.010
rollout_corr/training_ppl                 5       known.other               1         5
scheduler/group_filter_count              12      reward.zero_std_frac      count     12
baseline_reward/pct_mixed                 0.5     known.other               1         0.5000
eval/aime-pass@8                          0.5     success.val               frac      0.5000
val_accuracy_pct                          93.2    success.accuracy          pct       93.20 %
# no units
items_per_ms                              12         other                      1             12
tokens_s_per_gpu                          12         other                      1             12
requests_sec_per_worker                   12         other                      1             12
request_time_s_per_worker                 12         other                      s             12 s
items_us                                  12         other                      1             12
gms                                       12         other                      1             12
alarms                                    12         other                      1             12
params                                    12         other                      1             12
us_dollar                                 12         other                      1             12
gb_trees                                  12         other                      1             12
mb_size                                   12         other                      1             12
n_gb                                      12         other                      1             12
acc_ms                                    0.5        other                      1             0.5000
logits_s                                  0.5        other                      1             0.5000
hidden_h                                  0.5        other                      1             0.5000
wait_min                                  0.5        other                      1             0.5000
latency_ms/count                          12         other                      1             12
mem_mb/fraction                           0.5        other                      1             0.5000
epoch_s/loss                              0.5        loss.total                 1             0.5000
net_bytes_per_second                      12         other                      1             12
"""
ROWS = [
    [field.strip() for field in fields]
    for line in TABLE.strip().splitlines()
    if not line.startswith("#")
    for fields in [(line[:41], *line[41:].split(maxsplit=3))]
]


def test_a_value_is_shown_with_the_unit_of_its_name() -> None:
    for name, logged, *expected in ROWS:
        meaning = classify(name)
        shown = format_value(float(logged), unit_text(meaning.logged_unit))
        assert (name, [meaning.concept, meaning.logged_unit, shown]) == (name, expected)
