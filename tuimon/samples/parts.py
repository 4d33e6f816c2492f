"""The prompt and the response of a sample for display, where a file has both in one text.

OpenRLHF and slime print the tokens of the prompt and of the response together, in the template of the model.
"""

from __future__ import annotations

from tuimon import lazy_re as re
from tuimon.samples import Sample

SPECIAL = re.compile(r"<\|[^<>|]{1,40}\|>|</?s>|<(?:pad|bos|eos|unk|start_of_turn|end_of_turn)>")
"""Special tokens, which some writers remove and others keep."""
_BEGIN = re.compile(
    r"\s*(?:<\|(?:im_start|begin_of_text|start_header_id|user|system|User)\|?>|<\uff5cbegin\u2581of\u2581sentence\uff5c>|<bos>|<s>"
    r"|<start_of_turn>|\[INST\])"
)
"""Beginning of a text that is a prompt in a template, with the response after it."""
_ANSWER = re.compile(
    r"<\|im_start\|>assistant\n?|<\|start_header_id\|>assistant<\|end_header_id\|>\n*|<\|assistant\|>\n?"
    r"|<\uff5cAssistant\uff5c>|<start_of_turn>model\n?|\[/INST\]"
)
"""Mark of a template before the response. The first one counts, so that no generated turn is hidden."""
_LONGEST_PROMPT = 1 << 20
_MARK = re.compile(
    r"^[ \t]*(?:<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|<\|)?(system|user|assistant|model)"
    r"(?:<\|end_header_id\|>|\|>|:)?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
"""Line with a role, in a template or as it is left without special tokens."""
_END = re.compile(r"<\|im_end\|>|<\|eot_id\|>|<end_of_turn>|<\|end\|>")


def parts_of(sample: Sample) -> tuple[str, str]:
    """Return (prompt, response) of a sample, without the prompt at the beginning of the response."""
    prompt, response = sample.prompt or "", sample.response
    if prompt and len(response) > len(prompt) and response.startswith(prompt):
        return prompt, response[len(prompt) :]
    if not prompt and _BEGIN.match(response) and (match := _ANSWER.search(response, 0, _LONGEST_PROMPT)):
        return response[: match.end()], response[match.end() :]
    return prompt, response


def question_of(sample: Sample, prompt: str) -> str:
    """Return what the user asks, without roles and the text of the system, which is the same for many samples.

    prompt: see `parts_of`. Without roles it is returned as it is.
    """
    prompt = next((turn.text for turn in sample.turns if turn.role == "user" and turn.text.strip()), prompt)
    prompt = prompt[:_LONGEST_PROMPT]
    marks = list(_MARK.finditer(prompt))
    if not marks or prompt[: marks[0].start()].strip().replace("<|begin_of_text|>", ""):
        return prompt
    for mark, following in reversed([*zip(marks, [*(other.start() for other in marks[1:]), len(prompt)], strict=True)]):
        text = _END.sub("", prompt[mark.end() : following]).strip()
        if mark[1].lower() == "user" and text:
            return text
    return prompt
