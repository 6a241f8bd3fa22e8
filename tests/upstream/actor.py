# SPDX-License-Identifier: Apache-2.0
"""Who plays the model: an answer for each request that the agents send."""
import wire


class Actor:
    """Rules for whole turns; `script` changes some of them."""

    def __init__(self, script):
        self.script = script

    def purpose_of(self, request):
        """Which agent asks."""
        return request["system"].split("\n")[0]

    def answer(self, request):
        last = wire.text_of(request["messages"][-1]["content"])
        text = self.script.get("text", f"You asked: {last[-60:]}")
        return {"content": [{"type": "text", "text": text}], "stop": "end"}
