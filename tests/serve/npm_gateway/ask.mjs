// SPDX-License-Identifier: Apache-2.0
// node ask.mjs anthropic|openai BASE KEY WAY [TEXT]: asks through a gateway with the official SDK,
// changed in nothing but its base URL. One line of JSON says what came.
//
//   plain    one answer           stream   the same as it comes
//   tools    the model calls a tool, gets its result, and answers
//   cut      the connection is lost in the middle; the rest is read from the stream
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

const [kind, base, key, way, text = 'Hello'] = process.argv.slice(2)
const say = (what) => process.stdout.write(JSON.stringify(what) + '\n')
const schema = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] }
const first = [{ role: 'user', content: text }]

// ---- Anthropic ----

const anthropic = () => new Anthropic({ baseURL: base, apiKey: key, maxRetries: 0 })
const ask = { model: 'claude-haiku-4-5', max_tokens: 256 }
const tools = [{ name: 'send', description: 'Sends a letter', input_schema: schema }]
const textOf = (message) => message.content.filter((b) => b.type === 'text').map((b) => b.text).join('')

const anthropicWays = {
  async plain() {
    const message = await anthropic().messages.create({ ...ask, messages: first })
    return { text: textOf(message), stop: message.stop_reason, usage: message.usage }
  },
  async stream() {
    let shown = ''
    const stream = anthropic().messages.stream({ ...ask, messages: first })
    stream.on('text', (delta) => (shown += delta))
    const message = await stream.finalMessage()
    return { text: textOf(message), shown, stop: message.stop_reason }
  },
  async tools() {
    const one = await anthropic().messages.stream({ ...ask, tools, messages: first }).finalMessage()
    const call = one.content.find((b) => b.type === 'tool_use')
    const result = { type: 'tool_result', tool_use_id: call.id, content: `sent to ${call.input.to}` }
    const messages = [...first, { role: 'assistant', content: one.content }, { role: 'user', content: [result] }]
    const two = await anthropic().messages.stream({ ...ask, tools, messages }).finalMessage()
    return { input: call.input, text: textOf(two) }
  },
  cut: () => cut(anthropic().messages.create({ ...ask, messages: first, stream: true }).asResponse()),
}

// ---- OpenAI ----

const openai = () => new OpenAI({ baseURL: `${base}/v1`, apiKey: key, maxRetries: 0 })
const model = 'gpt-4.1-mini'
const functions = [{ type: 'function', function: { name: 'send', description: 'Sends a letter', parameters: schema } }]

const openaiWays = {
  async plain() {
    const done = await openai().chat.completions.create({ model, messages: first })
    return { text: done.choices[0].message.content, stop: done.choices[0].finish_reason, usage: done.usage }
  },
  async stream() {
    let shown = ''
    const stream = openai().chat.completions.stream({ model, messages: first })
    stream.on('content', (delta) => (shown += delta))
    const done = await stream.finalChatCompletion()
    return { text: done.choices[0].message.content, shown, stop: done.choices[0].finish_reason }
  },
  async tools() {
    const one = await openai().chat.completions.stream({ model, tools: functions, messages: first }).finalChatCompletion()
    const message = one.choices[0].message
    const call = message.tool_calls[0]
    const input = JSON.parse(call.function.arguments)
    const result = { role: 'tool', tool_call_id: call.id, content: `sent to ${input.to}` }
    const messages = [...first, { role: 'assistant', content: message.content, tool_calls: message.tool_calls }, result]
    const two = await openai().chat.completions.stream({ model, tools: functions, messages }).finalChatCompletion()
    return { input, text: two.choices[0].message.content }
  },
  cut: () => cut(openai().chat.completions.create({ model, messages: first, stream: true }).asResponse()),
}

// ---- a lost connection ----

// Whole events of an event stream, as they come: [id, data].
async function* events(body) {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true })
    for (let end; (end = rest.indexOf('\n\n')) >= 0; rest = rest.slice(end + 2)) {
      const lines = rest.slice(0, end).split('\n')
      const field = (name) => lines.find((l) => l.startsWith(`${name}: `))?.slice(name.length + 2)
      if (field('data') !== undefined) yield [field('id'), field('data')]
    }
  }
}

const deltaOf = (data) => {
  if (data === '[DONE]') return ''
  const event = JSON.parse(data)
  return event.delta?.text ?? event.choices?.[0]?.delta?.content ?? ''
}

async function cut(asked) {
  const response = await asked
  const stream = response.headers.get('x-weir-stream')
  const seen = []
  for await (const [id, data] of events(response.body)) {
    seen.push([id, data])
    if (seen.length === 4) break // leaving the loop closes the connection
  }
  const last = seen.at(-1)[0]
  const headers = { Authorization: `Bearer ${key}`, 'Last-Event-ID': last, Accept: 'text/event-stream' }
  const again = await fetch(`${base}/v1/streams/${stream}`, { headers })
  const rest = []
  for await (const event of events(again.body)) rest.push(event)
  const all = [...seen, ...rest]
  return { stream, status: again.status, last, n: all.length, ids: all.map(([id]) => Number(id)),
    text: all.map(([, data]) => deltaOf(data)).join(''), end: all.at(-1)[1] }
}

try {
  say(await (kind === 'anthropic' ? anthropicWays : openaiWays)[way]())
} catch (error) {
  say({ error: error.constructor.name, status: error.status, message: error.message })
}
