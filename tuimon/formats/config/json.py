"""A run's config as JSON, beside its logs: config.json, args.json, training_args.json, Ray Tune's params.json …

    {"learning_rate": 1e-05, "model": {"name": "Qwen/Qwen3-VL-2B"}}

Rewritten whole. A model's own config.json (of transformers or diffusers, with "architectures", "model_type",
"transformers_version" or "_class_name") lies in each checkpoint. It describes the model, not the training, and is
left out. Source: files of Ray 2.60, LLaMA-Factory, ms-swift, and PreTrainedConfig.to_json_file of transformers.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.formats import Format
from tuimon.formats._shared.settings import config_document
from tuimon.formats.json._document import parse_document

NAMES = frozenset(
    f"{stem}.json" for stem in ("config", "args", "training_args", "hparams", "params", "train_config", "run_config")
)
LARGEST = 4 << 20
_MODEL_KEYS = re.compile(rb'"(?:architectures|model_type|transformers_version|_class_name)"\s*:')


def matches(name: str, head: bytes) -> bool:
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and not _MODEL_KEYS.search(head)


FORMAT = Format(
    id="config-json",
    title="config (JSON)",
    writers="config.json, args.json, training_args.json of a run",
    rank=4,
    matches=matches,
    decoder=lambda: config_document(lambda data: parse_document(data.rstrip(b" \t\r\n\0"))),
    wants_name=lambda name: name in NAMES,
    describes_run=True,
    max_size=LARGEST,
)
