import type { ServerResponse } from 'node:http';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { estimatePromptTokens } from '@libs/inference';
import type { ReceivedRequest } from '@libs/inference/testing';
import { catalogueOf } from './catalogue';
import { PICTURE_TOKENS } from './hostile-shapes';
import type { UpstreamDialect } from './provider-scripts';

export const GREEDY_PRICES = { prompt: '0.000015', completion: '0.000075' };

const APIS: readonly UpstreamDialect[] = ['chat', 'responses', 'messages'];
const TOOL_CALLS = 12;

interface GreedyTraits {
  /** As in other test catalogues when absent. */
  readonly contextLength?: number;
  readonly inputs?: readonly string[];
}

/** Returns a catalogue with a model `greedy/<api>` for each API, all served at `origin`. */
export function greedyCatalogue(
  origin: string,
  { contextLength, inputs = ['text', 'image'] }: GreedyTraits = {},
): string {
  const models = APIS.map((api) => ({
    slug: `greedy/${api}`,
    provider: `greedy-${api}`,
    protocol: api === 'messages' ? 'anthropic' : 'openai',
    baseUrl: `${origin}/${api}/v1`,
    apis: [api],
    pricing: GREEDY_PRICES,
  }));
  const catalogue = JSON.parse(catalogueOf(models)) as { models: GreedyEntry[] };
  for (const model of catalogue.models) {
    model.architecture.input_modalities = inputs;
    if (contextLength === undefined) continue;
    for (const one of [model, ...model.endpoints]) one.context_length = contextLength;
  }
  return JSON.stringify(catalogue);
}

interface GreedyEntry {
  context_length?: number;
  readonly architecture: { input_modalities: readonly string[] };
  readonly endpoints: { context_length?: number }[];
}

/** Returns the whole answer of a model that counts so many tokens. */
export function wholeAnswer(api: UpstreamDialect, counts: Counts): object {
  return wholeOf(api, counts);
}

/** Members that are no prompt. */
const SETTINGS = new Set([
  'model',
  'stream',
  'max_tokens',
  'max_output_tokens',
  'n',
  'stream_options',
  'store',
  'metadata',
]);

/** A provider whose model says as much as it may, and that counts every text and picture. */
export class GreedyModel {
  /** The most by which one request cost more than what its provider was sent is estimated at. */
  largestOverageUsd = 0;

  readonly answer = (response: ServerResponse, { path, body }: ReceivedRequest): void => {
    const api = path.split('/')[1] as UpstreamDialect;
    const request = JSON.parse(body) as Record<string, unknown>;
    const cap = request['max_tokens'] ?? request['max_output_tokens'] ?? request['max_completion_tokens'];
    const counts = { prompt: promptTokens(request), completion: Number(cap ?? 4_096) * Number(request['n'] ?? 1) };
    const overageUsd = (counts.prompt - estimatePromptTokens(Buffer.from(body))) * Number(GREEDY_PRICES.prompt);
    this.largestOverageUsd = Math.max(this.largestOverageUsd, overageUsd);
    if (request['stream'] === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(streamOf(api, counts));
    } else {
      const whole = JSON.stringify(wholeOf(api, counts, wantsTool(request)));
      response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
    }
  };
}

/** The model asks for the tool of the gateway as long as it is offered, up to a number of turns. */
function wantsTool({ tools, messages }: Readonly<Record<string, unknown>>): boolean {
  const turns = JSON.stringify(messages ?? []).split('"role":"tool"').length - 1;
  return JSON.stringify(tools ?? []).includes('"name":"datetime"') && turns < TOOL_CALLS;
}

function promptTokens(request: Readonly<Record<string, unknown>>): number {
  const read = Object.entries(request).filter(([name]) => !SETTINGS.has(name));
  return read.reduce((sum, [name, value]) => sum + tokensOf(value, name), 0);
}

/** Conversations are taken apart, all else is read as JSON. */
function tokensOf(value: unknown, root: string): number {
  if (!['messages', 'input', 'system'].includes(root)) return encode(JSON.stringify(value)).length;
  if (typeof value === 'string') return encode(value).length;
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + tokensOf(one, root), 0);
  if (typeof value !== 'object' || value === null) return 0;
  const { type } = value as { type?: string };
  if (type !== undefined && type.includes('image')) return PICTURE_TOKENS;
  return Object.values(value).reduce<number>((sum, one) => sum + tokensOf(one, root), 0);
}

export interface Counts {
  readonly prompt: number;
  readonly completion: number;
}

const CHAT = { id: 'up', created: 1, model: 'm' };

function usageOf(api: UpstreamDialect, { prompt, completion }: Counts): object {
  const total_tokens = prompt + completion;
  return api === 'chat'
    ? { prompt_tokens: prompt, completion_tokens: completion, total_tokens }
    : { input_tokens: prompt, output_tokens: completion, total_tokens };
}

const TOOL_CALL = { id: 'call_1', type: 'function', function: { name: 'datetime', arguments: '{}' } };

function wholeOf(api: UpstreamDialect, counts: Counts, callsTool = false): object {
  const usage = usageOf(api, counts);
  if (api === 'chat') {
    const choice = callsTool
      ? { message: { content: null, tool_calls: [TOOL_CALL] }, finish_reason: 'tool_calls' }
      : { message: { content: 'x' }, finish_reason: 'length' };
    return { ...CHAT, object: 'chat.completion', usage, choices: [{ index: 0, ...choice }] };
  }
  if (api === 'messages') {
    return {
      id: 'up',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'x' }],
      stop_reason: 'max_tokens',
      usage,
    };
  }
  return responseOf(usage);
}

function responseOf(usage: object | null): object {
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'x', annotations: [] }],
  };
  return {
    id: 'up',
    object: 'response',
    status: usage === null ? 'in_progress' : 'completed',
    output: usage === null ? [] : [message],
    usage,
  };
}

function streamOf(api: UpstreamDialect, counts: Counts): string {
  const usage = usageOf(api, counts);
  const chunk = (members: object): object => ({ ...CHAT, object: 'chat.completion.chunk', ...members });
  const events: Readonly<Record<UpstreamDialect, readonly object[]>> = {
    chat: [
      chunk({ choices: [{ index: 0, delta: { content: 'x' }, finish_reason: null }] }),
      chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'length' }], usage }),
    ],
    responses: [
      { type: 'response.created', response: responseOf(null) },
      { type: 'response.output_text.delta', output_index: 0, content_index: 0, item_id: 'm', delta: 'x' },
      { type: 'response.completed', response: responseOf(usage) },
    ],
    messages: [
      {
        type: 'message_start',
        message: { ...(wholeOf('messages', counts) as object), content: [], stop_reason: null },
      },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'x' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'max_tokens' }, usage },
      { type: 'message_stop' },
    ],
  };
  const lines = events[api].map((event) => {
    const { type } = event as { type?: string };
    return `${type === undefined ? '' : `event: ${type}\n`}data: ${JSON.stringify(event)}\n\n`;
  });
  return `${lines.join('')}${api === 'messages' ? '' : 'data: [DONE]\n\n'}`;
}
