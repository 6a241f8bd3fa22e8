# SPDX-License-Identifier: Apache-2.0
"""Who plays the model: an answer for each request that the agents send.

The first line of the system text says which prompt it is ("weir/route v1"); data stand in marked
blocks. From these alone an answer follows, so that the same request is answered the same way in
every run. turns.jsonl has what a good model would do about each of its questions: who answers, which
plans. A prompt that nobody taught the actor gets the smallest object that its schema allows.

Of the script, which a test sends along:
    garbles   [PURPOSE…]: the first answer to such a request cannot be read
    invents   [PURPOSE…]: the first answer has a number that is nobody's
    obeys     true: it does whatever an instruction in the data asks for
    plays     [PLAY…]: more lines like those of turns.jsonl
"""
import json
import pathlib
import re

import wire

HERE = pathlib.Path(__file__).resolve().parent
BLOCK = re.compile(r'<data name="([^"]*)">\n?(.*?)\n?</data>', re.S)
PROMPT = re.compile(r"weir/(\w+) v\d+\n")
INVENTED = "98765.4"


def smallest(schema):
    """The smallest value that a JSON Schema allows, as far as ours need it."""
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: smallest(schema["properties"].get(name)) for name in schema.get("required", [])}
    if kind == "array":
        return [smallest(schema.get("items")) for _ in range(schema.get("minItems", 0))]
    return {"string": "something", "integer": schema.get("minimum", 0), "number": schema.get("minimum", 0),
            "boolean": False}.get(kind)


class Scene:
    """A request as an actor sees it: which prompt, which data, how far the conversation is."""

    def __init__(self, request):
        match = PROMPT.match(request["system"])
        self.request = request
        self.purpose = match.group(1) if match else "unknown"
        self.texts = [self._text(message["content"]) for message in request["messages"]]
        self.blocks = {name: text.replace("&lt;", "<") for text in self.texts for name, text in BLOCK.findall(text)}
        self.question = self.blocks.get("question", self.texts[-1])
        self.n_answers = sum(message["role"] == "assistant" for message in request["messages"])
        self.is_first = self.n_answers == 0
        self.schema = request["schema"] or self._answer_schema()

    def _text(self, content):
        return "\n".join(block.get("text") or wire.text_of(block.get("content", "")) for block in content)

    def _answer_schema(self):
        return next((tool["input_schema"] for tool in self.request["tools"] if tool["name"] == "answer"), None)


class Actor:
    """One for all calls; it remembers nothing between them."""

    def __init__(self, script):
        lines = (HERE / "turns.jsonl").read_text().splitlines()
        self.plays = [*script.get("plays", []), *map(json.loads, lines)]
        self.garbles = script.get("garbles", [])
        self.invents = script.get("invents", [])
        self.obeys = script.get("obeys", False)

    def purpose_of(self, request):
        return Scene(request).purpose

    def answer(self, request):
        scene = Scene(request)
        if scene.is_first and scene.purpose in self.garbles:
            return self._text("Well, let me think about that one {")
        play = self._play(scene.question)
        act = getattr(self, f"act_{scene.purpose}", self.act_any)
        return self._deliver(scene, act(scene, play))

    def _play(self, question):
        """The longest question of the list that is part of this one; {} when there is none."""
        found = {}
        for play in self.plays:
            follow_up = play.get("follow_up") or {}
            if follow_up and follow_up["question"] in question:
                return follow_up
            if play["question"] in question and len(play["question"]) > len(found.get("question", "")):
                found = play
        return found

    def _text(self, text):
        return {"content": [{"type": "text", "text": text}], "stop": "end"}

    def _deliver(self, scene, what):
        """A text, an object, or calls of tools, as the request wants them."""
        if isinstance(what, list):
            calls = [{"type": "tool_use", "id": f"call_{scene.n_answers}_{i}", **call} for i, call in enumerate(what)]
            return {"content": [{"type": "text", "text": "Let me look at the data. "}, *calls], "stop": "tool"}
        if isinstance(what, str):
            return self._text(what)
        if any(tool["name"] == "answer" for tool in scene.request["tools"]):
            call = {"type": "tool_use", "id": f"call_{scene.n_answers}", "name": "answer", "input": what}
            return {"content": [call], "stop": "tool"}
        return self._text(json.dumps(what, ensure_ascii=False))

    # ---- one for each prompt ----

    def act_any(self, scene, _):
        if scene.schema:
            return smallest(scene.schema)
        return f"You asked: {scene.question[-60:]}"

    def act_vagueness(self, _, play):
        return {"vagueness": play.get("vagueness", "low"), "why": "so it is in the book"}

    def act_route(self, _, play):
        return {"main": play.get("main") or "none", "supporting": play.get("supporting", [])}

    def act_rephrase(self, scene, _):
        agents = re.findall(r"\w+", scene.blocks["agents"])
        return {"questions": [{"agent": agent, "question": scene.question} for agent in agents]}
