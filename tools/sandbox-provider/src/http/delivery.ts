import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { nextId } from './ids';
import type { ServerResponse } from 'node:http';
import type { BodyReply, Fault, Reply, StreamReply } from './reply';

/** A connection that is left hanging on purpose is closed after this time. */
const LONGEST_HANG_MS = 600_000;
const EVENT_STREAM = ['content-type', 'text/event-stream; charset=utf-8', 'cache-control', 'no-cache'];

type Ending = 'end' | 'destroy' | 'hang';

interface Performance {
  readonly frames: readonly (string | Buffer)[];
  readonly ending: Ending;
}

/** Sends a reply, after its latency and with its scripted fault, if it has one. */
export function deliver(response: ServerResponse, reply: Reply, defaultLatencyMs: number): void {
  const latencyMs = reply.playback ? (reply.playback.latencyMs ?? defaultLatencyMs) : 0;
  if (latencyMs === 0) return perform(response, reply);
  const timer = setTimeout(() => perform(response, reply), latencyMs);
  response.once('close', () => clearTimeout(timer));
}

function perform(response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return;
  const fault = reply.playback?.fault ?? null;
  if (fault?.kind === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  if (fault?.kind === 'hang') return hang(response);
  if (reply.kind === 'body') performBody(response, reply, fault);
  else performStream(response, reply, fault);
}

function performBody(response: ServerResponse, reply: BodyReply, fault: Fault | null): void {
  const { frames, ending } = planBody(reply.body, fault);
  const length = ending === 'end' ? byteLength(frames) : byteLength([reply.body]);
  const headers = ['content-type', reply.contentType, 'content-length', String(length), ...marks()];
  response.writeHead(reply.status, reply.headers ? [...headers, ...reply.headers] : headers);
  if (ending === 'end') response.end(frames[0]);
  else playSafely(response, frames, ending, 0);
}

function performStream(response: ServerResponse, reply: StreamReply, fault: Fault | null): void {
  const { frames, ending } = planStream(reply.events, reply.errorEvent, fault);
  const chunkMs = reply.playback?.chunkMs ?? 0;
  response.writeHead(200, [...EVENT_STREAM, ...marks()]);
  // Without a delay there is nothing to wait for between two events: one write sends them all.
  if (chunkMs === 0 && ending === 'end') response.end(frames.join(''));
  else playSafely(response, chunkMs === 0 ? [frames.join('')] : frames, ending, chunkMs);
}

/** Returns headers that show where an answer comes from, and its request id under the names of the two dialects. */
function marks(): readonly string[] {
  const id = nextId('req_');
  return ['x-sandbox', 'sluice', 'x-request-id', id, 'request-id', id];
}

/** Returns what is written of a body that is not streamed: all of it, or half of it if a fault is injected. */
export function planBody(body: string | Buffer, fault: Fault | null): Performance {
  if (fault?.kind !== 'cut' && fault?.kind !== 'stall' && fault?.kind !== 'malformed') {
    return { frames: [body], ending: 'end' };
  }
  const bytes = Buffer.from(body);
  const half = bytes.subarray(0, Math.floor(bytes.length / 2));
  if (fault.kind === 'malformed') return { frames: [half], ending: 'end' };
  return { frames: [half], ending: fault.kind === 'cut' ? 'destroy' : 'hang' };
}

/** Returns what is written of a stream: all of it, or its beginning followed by the effect of the fault. */
export function planStream(events: readonly string[], errorEvent: string, fault: Fault | null): Performance {
  switch (fault?.kind) {
    case 'cut':
      return { frames: events.slice(0, fault.after), ending: 'destroy' };
    case 'stall':
      return { frames: events.slice(0, fault.after), ending: 'hang' };
    case 'error':
      return { frames: [...events.slice(0, fault.after), errorEvent], ending: 'end' };
    case 'malformed':
      return { frames: events.map((event, index) => (index === 1 ? breakEvent(event) : event)), ending: 'end' };
    default:
      return { frames: events, ending: 'end' };
  }
}

/** The event with the second half of its JSON missing. */
function breakEvent(event: string): string {
  const start = event.indexOf('data: ') + 'data: '.length;
  return `${event.slice(0, start + Math.floor((event.length - start) / 2))}\n\n`;
}

function playSafely(
  response: ServerResponse,
  frames: readonly (string | Buffer)[],
  ending: Ending,
  chunkMs: number,
): void {
  // Writing fails only if the client has disconnected, and then there is nothing left to do.
  play(response, frames, ending, chunkMs).catch(() => response.destroy());
}

async function play(
  response: ServerResponse,
  frames: readonly (string | Buffer)[],
  ending: Ending,
  chunkMs: number,
): Promise<void> {
  response.flushHeaders();
  const left = new AbortController();
  response.once('close', () => left.abort());
  for (const [index, frame] of frames.entries()) {
    if (index > 0 && chunkMs > 0) await wait(chunkMs, undefined, { signal: left.signal });
    if (!response.write(frame)) await once(response, 'drain', { signal: left.signal });
  }
  if (ending === 'end') response.end();
  else if (ending === 'hang') hang(response);
  else response.write('', () => response.destroy());
}

function hang(response: ServerResponse): void {
  const timer = setTimeout(() => response.destroy(), LONGEST_HANG_MS);
  response.once('close', () => clearTimeout(timer));
}

function byteLength(frames: readonly (string | Buffer)[]): number {
  return frames.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0);
}
