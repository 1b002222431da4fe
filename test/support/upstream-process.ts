/**
 * The upstream of the tests, a process of its own: an OpenAI-speaking server that does as its scripts say and
 * keeps a log of every call whose prompt carries a marker. `/SCRIPT/v1/…` is the base URL of a script.
 *
 * Prints `{"port":…}` once it listens. `PUT /scripts/NAME` sets a script, `GET /log` lists the calls,
 * `GET /counts` sums them up, `GET /counts/N` does once there were N calls, `DELETE /log` forgets them.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerTo, embeddingOf, markerOf, tokensOf } from './upstream-answer';
import { drawBehaviour, type Behaviour, type UpstreamCall, type UpstreamScript } from './upstream-script';

/** The one line it prints. */
export interface Announcement {
  readonly port: number;
}

const MOST_LOGGED_CALLS = 1_000_000;
const SERVER_ERRORS = [500, 502, 503];

const scripts = new Map<string, UpstreamScript>();
let calls: UpstreamCall[] = [];
let timesSeen = new Map<string, number>();
let totals = newTotals();
let waiting: { readonly calls: number; readonly respond: () => void }[] = [];

interface Totals {
  calls: number;
  byStatus: Record<string, number>;
  firstCallMs: number | null;
  lastCallMs: number | null;
}

function newTotals(): Totals {
  return { calls: 0, byStatus: {}, firstCallMs: null, lastCallMs: null };
}

interface Inference {
  readonly model: string;
  readonly messages?: readonly { readonly role: string; readonly content: string | readonly { text?: string }[] }[];
  readonly input?: string;
}

function now(): number {
  return performance.timeOrigin + performance.now();
}

/** By events and not by iteration, which costs more than the rest of a call. */
function readBody(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => resolve(Buffer.concat(chunks).toString()));
    request.once('error', reject);
  });
}

function promptOf({ messages, input }: Inference): string {
  if (messages === undefined) return input ?? '';
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
}

function chatAnswer({ model }: Inference, prompt: string): string {
  const { promptTokens, completionTokens } = tokensOf(prompt);
  return JSON.stringify({
    id: `chatcmpl-${totals.calls}`,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1_000),
    model,
    choices: [{ index: 0, message: { role: 'assistant', content: answerTo(prompt) }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
    },
  });
}

function embeddingAnswer({ model }: Inference, prompt: string): string {
  const { promptTokens } = tokensOf(prompt);
  return JSON.stringify({
    object: 'list',
    model,
    data: [{ object: 'embedding', index: 0, embedding: embeddingOf(prompt) }],
    usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
  });
}

function send(response: ServerResponse, status: number, body: string, headers: Record<string, string> = {}): void {
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers });
  response.end(body);
}

function complaint(message: string, type: string): string {
  return JSON.stringify({ error: { message, type, param: null, code: null } });
}

function answer(behaviour: Behaviour, script: UpstreamScript, response: ServerResponse, body: () => string): void {
  switch (behaviour) {
    case 'answer':
      return send(response, 200, body());
    case 'malformed':
      return send(response, 200, body().slice(0, -30));
    case 'rate-limited':
      return send(response, 429, complaint('Slow down', 'rate_limit_error'), {
        'retry-after': String(script.retryAfterSeconds ?? 1),
      });
    case 'server-error':
      return send(response, SERVER_ERRORS[totals.calls % 3]!, complaint('Out of order', 'server_error'));
    case 'hang':
      return undefined;
    default:
      return refuse(response, behaviour === 'poisoned' ? 500 : script.outage);
  }
}

/** A number is a status. */
function refuse(response: ServerResponse, how: UpstreamScript['outage']): void {
  if (typeof how === 'number') send(response, how, complaint('Not now', 'server_error'));
  else response.destroy();
}

function follow(call: UpstreamCall, response: ServerResponse): void {
  response.once('close', () => {
    call.endMs = now();
    call.status = response.writableFinished ? response.statusCode : 0;
    totals.byStatus[call.status] = (totals.byStatus[call.status] ?? 0) + 1;
  });
}

async function infer(
  scriptName: string,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const script = scripts.get(scriptName);
  if (script === undefined) return send(response, 404, complaint('No such script', 'invalid_request_error'));
  const startMs = now();
  const inference = JSON.parse(await readBody(request)) as Inference;
  const prompt = promptOf(inference);
  const marker = markerOf(prompt) ?? '';
  totals.calls += 1;
  totals.firstCallMs ??= startMs;
  totals.lastCallMs = startMs;
  wakeThoseWhoWaited();
  const nth = (timesSeen.get(marker) ?? 0) + 1;
  if (marker !== '') timesSeen.set(marker, nth);
  const behaviour = drawBehaviour(script, marker, nth);
  const call = { script: scriptName, marker, behaviour, startMs, endMs: null, status: null };
  follow(call, response);
  if (marker !== '' && calls.length < MOST_LOGGED_CALLS) calls.push(call);
  const body = (): string =>
    path === 'embeddings' ? embeddingAnswer(inference, prompt) : chatAnswer(inference, prompt);
  if (!script.latencyMs) return answer(behaviour, script, response, body);
  setTimeout(() => answer(behaviour, script, response, body), script.latencyMs);
}

function wakeThoseWhoWaited(): void {
  if (waiting.length === 0) return;
  const due = waiting.filter(({ calls: wanted }) => totals.calls >= wanted);
  waiting = waiting.filter(({ calls: wanted }) => totals.calls < wanted);
  for (const { respond } of due) respond();
}

async function control(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, place = '', name = ''] = (request.url ?? '').split('/');
  switch (`${request.method} /${place}`) {
    case 'PUT /scripts':
      scripts.set(name, JSON.parse(await readBody(request)) as UpstreamScript);
      return send(response, 200, '{}');
    case 'GET /log':
      return send(response, 200, JSON.stringify(calls));
    case 'GET /counts':
      waiting.push({ calls: Number(name), respond: () => send(response, 200, JSON.stringify(totals)) });
      return wakeThoseWhoWaited();
    case 'DELETE /log':
      calls = [];
      timesSeen = new Map();
      totals = newTotals();
      return send(response, 200, '{}');
    default:
      return send(response, 404, complaint('No such path', 'invalid_request_error'));
  }
}

const INFERENCE = /^\/([a-z0-9-]+)\/v1\/(chat\/completions|embeddings)$/;

const server = createServer((request, response) => {
  const inference = request.method === 'POST' ? INFERENCE.exec(request.url ?? '') : null;
  const done = inference
    ? infer(inference[1] ?? '', inference[2] ?? '', request, response)
    : control(request, response);
  done.catch((error: unknown) => {
    if (response.headersSent || response.destroyed) return;
    send(response, 400, complaint(error instanceof Error ? error.message : 'unreadable', 'invalid_request_error'));
  });
});
// A caller decides how long it keeps a connection; closing an idle one under it would look like a fault.
server.keepAliveTimeout = 0;
server.requestTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  const announcement: Announcement = { port: (server.address() as AddressInfo).port };
  process.stdout.write(`${JSON.stringify(announcement)}\n`);
});
process.once('SIGTERM', () => process.exit(0));
