// SPDX-License-Identifier: Apache-2.0
// Servers with somebody's life in them.
import path from "node:path";
import { ROOT, until } from "./cases.mjs";
import { Model, Weir, says } from "./server.mjs";

const PEOPLE = path.join(ROOT, "tests/data/people");
export const DAILY = path.join(PEOPLE, "u01_daily.csv");
export const ACTIVITIES = path.join(PEOPLE, "u01_activities.csv");
export const LABS = path.join(PEOPLE, "u01_labs.csv");
// One that an agent with findings answers, and that a supporting agent helps with; turns.jsonl has it.
export const QUESTION = "Is my resting heart rate drop over the last 90 days meaningful?";

/** A server that asks a stand-in, with half a year of a person's data. */
export async function withModel(scope, { command = {}, ...options } = {}) {
  const model = await Model.start(scope, { default: {}, ...command });
  const server = new Weir(scope, { models: model.config(), ...options });
  server.importFiles(DAILY, ACTIVITIES, LABS);
  await server.start();
  return { model, server };
}

export async function askTurn(server, content = QUESTION) {
  const turn = await server.json("POST", "/v1/turns", { messages: [{ role: "user", content }] });
  return turn.id;
}

export async function endedTurn(server, id) {
  return until(async () => {
    const turn = await server.json("GET", `/v1/turns/${id}`);
    return ["completed", "failed"].includes(turn.status) ? turn : null;
  }, "the turn ends");
}

/** Something for every view to show; ids of it. */
export async function livedIn(scope) {
  const { model, server } = await withModel(scope);
  const turn = await askTurn(server);
  await endedTurn(server, turn);
  await server.json("POST", "/v1/memory", { category: "goal", text: "Sleep eight hours on workdays" });
  await server.json("POST", "/v1/memory", { category: "preference", text: "Short answers" });
  await model.control({ default: says("You slept **7 hours** a night.\n\n- Monday was the best one\n- Sunday the worst") });
  const { sessionId } = await server.call("chat/send", { clientId: "test", text: "How did I sleep this week?" });
  await until(async () => (await server.call("sessions/get", { id: sessionId })).messages.length === 2, "the session answers");
  await server.request("POST", "/ai/chat", { conversationId: "conv_week", messages: [{ role: "user", content: "And my steps?" }] });
  return { model, server, turn, session: sessionId, chat: "conv_week" };
}

/** The address of every view; `lived` is what livedIn() gave. */
export function allRoutes({ turn, session, chat }) {
  return ["#/ask", "#/turns", `#/turns/${turn}`, `#/turns/${turn}/trace`, "#/data", "#/data/resting_heart_rate", "#/memory",
    "#/sessions", `#/sessions/${session}`, "#/chat", `#/chat/${chat}`, "#/nowhere"];
}
