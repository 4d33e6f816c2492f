"""The prompt and the response of a sample for display, where a file has both in one text.

OpenRLHF and slime print the tokens of the prompt and of the response together, in the template of the model.
"""

from __future__ import annotations

import re

from tuimon.rollouts import Sample

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


def parts_of(sample: Sample) -> tuple[str, str]:
    """Return (prompt, response) of a sample, without the prompt at the beginning of the response."""
    prompt, response = sample.prompt or "", sample.response
    if prompt and len(response) > len(prompt) and response.startswith(prompt):
        return prompt, response[len(prompt) :]
    if not prompt and _BEGIN.match(response) and (match := _ANSWER.search(response, 0, _LONGEST_PROMPT)):
        return response[: match.end()], response[match.end() :]
    return prompt, response
