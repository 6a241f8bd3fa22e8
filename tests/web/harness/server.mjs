// SPDX-License-Identifier: Apache-2.0
// A real server in a folder of its own, and a model's stand-in (tests/upstream) for it.
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { Failure, ROOT, WAIT_MS, equal, expect } from "./cases.mjs";

const KEY_ENV = "WEIR_TEST_KEY";
// Made for each run and never written down: whoever finds it on the page has found a leak.
export const MODEL_KEY = `sk-test/${randomBytes(24).toString("base64url")}`;
const COMPLAINT = /(this must hold|[A-Z][a-z]+Sanitizer|runtime error:)[^]{0,3000}/;

function program() {
  return process.env.WEIR ?? path.join(ROOT, "build", "weir");
}

function environment(more = {}) {
  return { ...process.env, WEIR_KEEP: "no", [KEY_ENV]: MODEL_KEY, ...more };
}

/** Another command of weir, to its end: what it wrote. */
export function weir(...words) {
  const done = spawnSync(program(), words, { env: environment(), encoding: "utf8", timeout: WAIT_MS });
  equal(done.status, 0, `weir ${words[0]} (${done.stderr})`);
  return done.stdout;
}

export function temporaryFolder(scope, name) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), `weir-${name}-`));
  scope.end(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The next line of a program; the end of its output is a failure. */
async function lineOf(lines, text) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Failure(`${text} says nothing`)), WAIT_MS);
  });
  const { value, done } = await Promise.race([lines.next(), late]).finally(() => clearTimeout(timer));
  expect(!done, `${text} has ended instead of saying something`);
  return value;
}

/** weir serve. Its port stays what it was first, so that a page that comes again finds it. */
export class Weir {
  constructor(scope, { options = [], isOpen = true, models, shield, tools, env = {} } = {}) {
    this.data = temporaryFolder(scope, "web");
    this.files = temporaryFolder(scope, "web-files");
    this.options = [...options];
    for (const [name, value] of Object.entries({ models, shield, tools })) {
      if (value) this.options.push(`--${name}`, this.put(`${name}.json`, value));
    }
    this.isOpen = isOpen;
    this.env = env;
    this.port = 0;
    this.errors = "";
    this.links = [];
    scope.end(() => this.kill());
    scope.check(() => {
      const complaint = COMPLAINT.exec(this.errors);
      expect(!complaint, "the server said", complaint?.[0]);
    });
  }

  put(name, value) {
    const file = path.join(this.files, name);
    fs.writeFileSync(file, typeof value === "string" ? value : JSON.stringify(value));
    return file;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async start() {
    const wrapper = (process.env.WEIR_WRAPPER ?? "").split(" ").filter(Boolean);
    const words = [...wrapper, program(), "serve", "--data", this.data, "--listen", `127.0.0.1:${this.port}`];
    if (this.isOpen) words.push("--open");
    this.child = spawn(words[0], [...words.slice(1), ...this.options], {
      env: environment(this.env), stdio: ["ignore", "pipe", "pipe"],
    });
    this.ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.stderr.on("data", (bytes) => (this.errors += bytes));
    const lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    const first = await lineOf(lines, "weir serve").catch((problem) => {
      throw new Failure(`${problem.message}: ${this.errors.slice(-800)}`);
    });
    const match = /^listening on http:\/\/127\.0\.0\.1:(\d+)$/.exec(first);
    expect(match, "the server's first line", first, this.errors.slice(-800));
    this.port = Number(match[1]);
    this.lines = lines;
    return this;
  }

  /** The next line that it prints. */
  nextLine() {
    return lineOf(this.lines, "weir serve");
  }

  /** At once, as a power switch for the process. */
  async kill() {
    this.child?.kill("SIGKILL");
    await this.ended;
  }

  makeKey(...options) {
    this.key = weir("key", "create", "--data", this.data, ...options).trim();
    return this.key;
  }

  importFiles(...files) {
    weir("import", ...files, "--data", this.data, "--quiet");
  }

  /** A request past the page: the whole answer as text. */
  async request(method, target, body) {
    const headers = {};
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const answer = await fetch(this.url + target, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal: AbortSignal.timeout(WAIT_MS),
    });
    const text = await answer.text();
    expect(answer.ok, `${method} ${target}: ${answer.status}`, text);
    return text;
  }

  async json(method, target, body) {
    return JSON.parse(await this.request(method, target, body));
  }

  /** A call of a session's method. */
  async call(method, input = {}) {
    return (await this.json("POST", `/rpc/${method}`, { json: input })).json;
  }
}

export async function startWeir(scope, options) {
  return new Weir(scope, options).start();
}

/** The model's stand-in; README.md of tests/upstream has its commands. */
export class Model {
  static async start(scope, command = {}) {
    const model = new Model();
    model.child = spawn(path.join(ROOT, "tests/upstream/standin.py"), { stdio: ["pipe", "pipe", "inherit"] });
    const ended = new Promise((resolve) => model.child.once("exit", resolve));
    scope.end(() => {
      model.child.stdin.end();
      return ended;
    });
    const lines = readline.createInterface({ input: model.child.stdout })[Symbol.asyncIterator]();
    model.where = JSON.parse(await lineOf(lines, "the stand-in"));
    await model.control(command);
    return model;
  }

  async control(command) {
    await fetch(`${this.where.http}/_control`, { method: "POST", body: JSON.stringify(command) });
  }

  release(...names) {
    return this.control({ release: names });
  }

  async seen(has_bodies = false) {
    const answer = await fetch(`${this.where.http}/_seen${has_bodies ? "?bodies" : ""}`);
    return (await answer.json()).seen;
  }

  /** What --models reads: it plays every role. */
  config() {
    const player = { provider: "standin", model: "claude-haiku-4-5" };
    const prices = { input: 10, output: 100, cache_read: 1, cache_write: 20 };
    return {
      providers: {
        standin: { type: "anthropic", base_url: this.where.http, key_env: KEY_ENV, prices: { [player.model]: prices } },
      },
      roles: { fast: player, main: player, critic: player },
    };
  }
}

/** What the stand-in does: it says this. */
export function says(text, behaviour = {}) {
  return { answer: { content: [{ type: "text", text }], stop: "end" }, ...behaviour };
}

/** It calls tools: [name, input] each. */
export function uses(...calls) {
  const content = calls.map(([name, input], number) => ({ type: "tool_use", id: `toolu_${number}`, name, input }));
  return { answer: { content, stop: "tool" } };
}
