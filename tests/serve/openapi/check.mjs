// SPDX-License-Identifier: Apache-2.0
// check.mjs < {"document", "answers": [{"method", "path", "sent", "status", "type", "body"}...]}
//
// Whether the document is OpenAPI 3.1, and whether each answer is what the document says: its path and
// method are there, its status, its media type, its body and, of an event stream, each event; of one
// that was not refused what was sent, too. One line for each thing that is wrong.
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { Validator } from "@seriousme/openapi-schema-validator";
import { readFileSync } from "node:fs";

const { document, answers } = JSON.parse(readFileSync(0, "utf8"));
const wrong = [];

const validated = await new Validator().validate(structuredClone(document));
if (!validated.valid) wrong.push(`the document: ${JSON.stringify(validated.errors).slice(0, 2000)}`);

// Clients must bear members that they do not know; a test must not, or the document could lack them.
function close(schema) {
    if (schema === null || typeof schema !== "object") return;
    if (schema.type === "object" && schema.properties && schema.additionalProperties === undefined)
        schema.additionalProperties = false;
    for (const part of Object.values(schema)) close(part);
}
close(document.components.schemas);

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addSchema({ $id: "https://weir.test/openapi.json", ...document });

function resolve(thing) {
    while (thing?.$ref) thing = thing.$ref.slice(2).split("/").reduce((at, key) => at[key], document);
    return thing;
}

const compiled = new Map();
function validatorOf(schema) {
    const key = JSON.stringify(schema);
    if (!compiled.has(key)) {
        const absolute = key.replaceAll('"#/components/', '"https://weir.test/openapi.json#/components/');
        compiled.set(key, ajv.compile(JSON.parse(absolute)));
    }
    return compiled.get(key);
}

function complain(answer, text) {
    wrong.push(`${answer.method} ${answer.path}: ${answer.status}: ${text}`);
}

function checkValue(answer, schema, value, what) {
    const validate = validatorOf(schema);
    if (!validate(value)) complain(answer, `${what}: ${ajv.errorsText(validate.errors)}`);
}

function operationOf(answer) {
    const segments = answer.path.split("?")[0].split("/");
    const fits = (template) => {
        const parts = template.split("/");
        return parts.length === segments.length &&
            parts.every((part, i) => part.startsWith("{") ? segments[i] !== "" : part === segments[i]);
    };
    const candidates = Object.keys(document.paths).filter(fits);
    candidates.sort((a, b) => a.split("{").length - b.split("{").length);
    return candidates.length ? document.paths[candidates[0]][answer.method.toLowerCase()] : undefined;
}

function checkEvents(answer, events) {
    const frames = answer.body.split("\n\n").filter((frame) => frame !== "");
    for (const frame of frames) {
        const fields = Object.fromEntries(frame.split("\n").map((line) => line.split(/: (.*)/s, 2)));
        if (!events[fields.event]) complain(answer, `an event ${fields.event}`);
        else checkValue(answer, events[fields.event], JSON.parse(fields.data), fields.event);
    }
}

function check(answer) {
    const operation = operationOf(answer);
    if (!operation) return complain(answer, "no such operation");
    const asked = operation.requestBody?.content["application/json"];
    if (answer.status < 300 && answer.sent && asked)
        checkValue(answer, asked.schema, JSON.parse(answer.sent), "what was sent");
    const response = resolve(operation.responses[answer.status]);
    if (!response) return complain(answer, "no such status");
    if (answer.body === "" && !response.content) return undefined;
    const type = (answer.type ?? "").split(";")[0];
    const content = response.content?.[type] ?? response.content?.["*/*"];
    if (!content) return complain(answer, `no such media type: ${type}`);
    if (type.endsWith("json")) checkValue(answer, content.schema, JSON.parse(answer.body), "body");
    if (content["x-events"]) checkEvents(answer, content["x-events"]);
    return undefined;
}

answers.forEach(check);
console.log(wrong.slice(0, 40).join("\n"));
process.exit(wrong.length > 0 ? 1 : 0);
