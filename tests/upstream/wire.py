# SPDX-License-Identifier: Apache-2.0
"""The two wire formats that models speak, from the side of the model.

read_request() brings a request of either format into one form, that of Anthropic's Messages API.
frames() turns an answer into what goes over the wire, one server-sent event each; plain() into the
JSON of somebody who does not stream. Nothing here opens a socket.

An answer: {"content": [BLOCK…], "stop": "end"|"tool"|"length"|"refused", "usage": {…}}, with blocks
{"type":"text","text"}, {"type":"thinking","thinking"}, {"type":"tool_use","id","name","input"}. An
`input` that is a string goes out as it is: that is how a broken one is made.
"""
import dataclasses
import json

MESSAGES = "/v1/messages"
COMPLETIONS = "/v1/chat/completions"
FLAVOURS = ("openai", "llamacpp", "vllm", "ollama")
DELTA_CHARACTERS = 12
FORMATS = {MESSAGES: "anthropic", COMPLETIONS: "openai"}
STOPS = {
    "anthropic": {"end": "end_turn", "tool": "tool_use", "length": "max_tokens", "refused": "refusal"},
    "openai": {"end": "stop", "tool": "tool_calls", "length": "length", "refused": "content_filter"},
}


@dataclasses.dataclass
class Frame:
    """An event; `is_delta` when it carries a piece of the answer."""
    data: bytes
    is_delta: bool = False


def to_line(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def format_of(path):
    """Of the path of a request, whatever stands before it; None when it is none of ours."""
    path = path.split("?")[0]
    for end, name in FORMATS.items():
        if path.endswith(end):
            return name
    return None


# ---- requests ----

def text_of(content):
    """The texts of a message's content, together."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or [] if block.get("type") == "text")


def read_request(path, body):
    """A request in one form, or None."""
    kind = format_of(path)
    try:
        raw = json.loads(body)
        return {"anthropic": _read_messages, "openai": _read_completions}[kind](raw)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _read_messages(raw):
    choice = raw.get("tool_choice") or {}
    shape = (raw.get("output_config") or {}).get("format") or raw.get("output_format") or {}
    return {"format": "anthropic", "model": raw["model"], "system": text_of(raw.get("system", "")),
            "messages": [{**m, "content": _blocks(m["content"])} for m in raw["messages"]],
            "tools": raw.get("tools") or [], "must_use": choice.get("name"),
            "schema": shape.get("schema"), "max_tokens": raw["max_tokens"],
            "stream": bool(raw.get("stream")), "wants_usage": True}


def _blocks(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _read_completions(raw):
    system = [text_of(m["content"]) for m in raw["messages"] if m["role"] in ("system", "developer")]
    messages = [_message(m) for m in raw["messages"] if m["role"] not in ("system", "developer")]
    tools = [{"name": t["function"]["name"], "description": t["function"].get("description", ""),
              "input_schema": t["function"].get("parameters")} for t in raw.get("tools") or []]
    choice = raw.get("tool_choice")
    shape = (raw.get("response_format") or {}).get("json_schema") or {}
    return {"format": "openai", "model": raw["model"], "system": "\n".join(system), "messages": messages,
            "tools": tools, "must_use": choice["function"]["name"] if isinstance(choice, dict) else None,
            "schema": shape.get("schema"),
            "max_tokens": raw.get("max_tokens") or raw.get("max_completion_tokens"),
            "stream": bool(raw.get("stream")),
            "wants_usage": bool((raw.get("stream_options") or {}).get("include_usage"))}


def _message(message):
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
        return {"role": "user", "content": [result]}
    content = _blocks(message.get("content") or [])
    for call in message.get("tool_calls") or []:
        function = call["function"]
        content = [*content, {"type": "tool_use", "id": call["id"], "name": function["name"],
                              "input": json.loads(function["arguments"])}]
    return {"role": message["role"], "content": content}


# ---- answers ----

def pieces(text, size=DELTA_CHARACTERS):
    return [text[at:at + size] for at in range(0, len(text), size)]


def input_text(block):
    value = block["input"]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def usage_of(answer, body):
    """What is charged; by length unless the answer says it, so that every run counts the same."""
    length = sum(len(input_text(block) if block["type"] == "tool_use" else block[block["type"]])
                 for block in answer["content"])
    counted = {"input_tokens": len(body) // 4 + 1, "output_tokens": length // 4 + 1,
               "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    return {**counted, **(answer.get("usage") or {})}


def frames(request, answer, usage, flavour="openai"):
    """The events of an answer. `usage` None: this server does not say."""
    if request["format"] == "anthropic":
        return list(_messages_frames(request, answer, usage or {}))
    return list(_completions_frames(request, answer, usage, flavour))


def error_frame(kind, flavour="openai", message="Overloaded"):
    if kind == "anthropic":
        return _event("error", {"error": {"type": "overloaded_error", "message": message}})
    if flavour == "vllm":
        return Frame(b"data: " + to_line({"object": "error", "message": message, "type": "InternalServerError",
                                          "code": 500}) + b"\n\n")
    if flavour == "llamacpp":
        return Frame(b"error: " + to_line({"code": 500, "message": message, "type": "server_error"}) + b"\n\n")
    error = message if flavour == "ollama" else {"message": message, "type": "server_error", "code": None}
    return Frame(b"data: " + to_line({"error": error}) + b"\n\n")


DONE = Frame(b"data: [DONE]\n\n")


def end_frames(kind):
    """What ends a stream, with nothing before it that says how the answer ended."""
    return [_event("message_stop", {})] if kind == "anthropic" else [DONE]


def _event(name, members, is_delta=False):
    data = to_line({"type": name, **members})
    return Frame(b"event: " + name.encode() + b"\ndata: " + data + b"\n\n", is_delta)


def _messages_frames(request, answer, usage):
    first = {**usage, "output_tokens": 1} if usage else {"input_tokens": 0, "output_tokens": 0}
    yield _event("message_start", {"message": {
        "id": "msg_01Standin", "type": "message", "role": "assistant", "model": request["model"],
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": first}})
    yield _event("ping", {})
    for index, block in enumerate(answer["content"]):
        yield from _block_frames(index, block)
    stop = STOPS["anthropic"][answer["stop"]]
    yield _event("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None},
                                   "usage": {"output_tokens": usage.get("output_tokens", 0)}})
    yield _event("message_stop", {})


def _block_frames(index, block):
    kind = block["type"]
    if kind == "text":
        start, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece}
                                                      for piece in pieces(block["text"])]
    elif kind == "thinking":
        start = {"type": "thinking", "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": "c2lnbmF0dXJl"})
    else:
        start = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(input_text(block))]]
    yield _event("content_block_start", {"index": index, "content_block": start})
    for delta in deltas:
        yield _event("content_block_delta", {"index": index, "delta": delta}, True)
    yield _event("content_block_stop", {"index": index})


def _chunk(request, delta=None, finish=None, is_delta=False, **more):
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}]
    data = {"id": "chatcmpl-standin", "object": "chat.completion.chunk", "created": 1700000000,
            "model": request["model"], "choices": choices, **more}
    return Frame(b"data: " + to_line(data) + b"\n\n", is_delta)


def completions_usage(usage):
    cached = usage["cache_read_input_tokens"]
    prompt = usage["input_tokens"] + cached + usage["cache_creation_input_tokens"]
    return {"prompt_tokens": prompt, "completion_tokens": usage["output_tokens"],
            "total_tokens": prompt + usage["output_tokens"], "prompt_tokens_details": {"cached_tokens": cached}}


def _completions_frames(request, answer, usage, flavour):
    # Each is known for something: llama.cpp for a null content first, vLLM for usage null on every
    # chunk, Ollama for whole tool calls that are all number 0 and for "stop" behind them.
    more = {"usage": None} if flavour == "vllm" else {}
    yield _chunk(request, {"role": "assistant", "content": None if flavour == "llamacpp" else ""}, **more)
    n_tools = 0
    for block in answer["content"]:
        if block["type"] == "tool_use":
            for call in _call_deltas(block, n_tools, flavour):
                yield _chunk(request, {"tool_calls": [call]}, is_delta=True, **more)
            n_tools += 1
            continue
        name = "content"
        if block["type"] == "thinking":
            name = "reasoning" if flavour == "ollama" else "reasoning_content"
        for piece in pieces(block.get("text") or block.get("thinking") or ""):
            yield _chunk(request, {name: piece}, is_delta=True, **more)
    stop = STOPS["openai"][answer["stop"]]
    if flavour == "ollama" and stop == "tool_calls":
        stop = "stop"
    end = {"timings": {"prompt_n": 1, "predicted_n": 1}} if flavour == "llamacpp" else {}
    yield _chunk(request, {}, stop, **more, **end)
    if usage is not None and request["wants_usage"]:
        yield _chunk(request, usage=completions_usage(usage))
    yield DONE


def _call_deltas(block, number, flavour):
    call = {"index": 0 if flavour == "ollama" else number, "id": block["id"], "type": "function"}
    text = input_text(block)
    if flavour == "ollama":
        yield {**call, "function": {"name": block["name"], "arguments": text}}
        return
    yield {**call, "function": {"name": block["name"], "arguments": ""}}
    for piece in pieces(text):
        yield {"index": number, "function": {"arguments": piece}}


def plain(request, answer, usage):
    """The answer in one JSON, as of somebody who was not asked to stream, or does not."""
    usage = usage or {}
    if request["format"] == "anthropic":
        return {"id": "msg_01Standin", "type": "message", "role": "assistant", "model": request["model"],
                "content": answer["content"], "stop_reason": STOPS["anthropic"][answer["stop"]],
                "stop_sequence": None, "usage": usage}
    text = "".join(block["text"] for block in answer["content"] if block["type"] == "text")
    message = {"role": "assistant", "content": text}
    calls = [{"id": block["id"], "type": "function",
              "function": {"name": block["name"], "arguments": input_text(block)}}
             for block in answer["content"] if block["type"] == "tool_use"]
    if calls:
        message["tool_calls"] = calls
    return {"id": "chatcmpl-standin", "object": "chat.completion", "created": 1700000000,
            "model": request["model"], "usage": completions_usage(usage) if usage else None,
            "choices": [{"index": 0, "message": message, "finish_reason": STOPS["openai"][answer["stop"]]}]}


def error_body(kind, code, message):
    """The body of a refusal."""
    if kind == "anthropic":
        return {"type": "error", "error": {"type": code, "message": message}, "request_id": "req_standin"}
    return {"error": {"message": message, "type": code, "param": None, "code": code}}
