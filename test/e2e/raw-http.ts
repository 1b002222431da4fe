import { connect, type Socket } from 'node:net';
import { once } from 'node:events';

/** An answer as it stood on the wire. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Statuses below 200 that came before it. */
  readonly interim: readonly number[];
  readonly tookMs: number;
}

export type HeaderLine = readonly [name: string, value: string];

/** A request written by hand: what a client would tidy up goes out as it is. */
export interface RawRequest {
  readonly method?: string;
  /** The target of the request line. */
  readonly target: string;
  /** All of them, Host included. */
  readonly headers: readonly HeaderLine[];
  readonly body?: string | Buffer;
}

const TIMEOUT_MS = 90_000;

/** Header values are written byte for byte (latin1), so a test can send what no client would. */
export function bytesOf({ method = 'GET', target, headers, body = '' }: RawRequest): Buffer {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines}\r\n`, 'latin1'), Buffer.from(body)]);
}

/** Sends bytes on a connection of their own and reads one answer. @throws Error when there is none */
export async function exchange(baseUrl: string, bytes: Buffer | readonly Buffer[]): Promise<RawAnswer> {
  const socket = await open(baseUrl);
  try {
    const answer = readAnswer(socket);
    for (const chunk of Array.isArray(bytes) ? bytes : [bytes]) await write(socket, chunk as Buffer);
    return await answer;
  } finally {
    socket.destroy();
  }
}

export async function open(baseUrl: string): Promise<Socket> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  // Whoever reads the answer notices a broken connection by its missing end.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** False when the peer is gone. */
export async function write(socket: Socket, chunk: Buffer): Promise<boolean> {
  if (!socket.writable) return false;
  if (socket.write(chunk)) return true;
  await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
  return socket.writable;
}

/** The first whole answer on a connection. @throws Error when it closes before that */
export function readAnswer(socket: Socket): Promise<RawAnswer> {
  const startedMs = performance.now();
  return new Promise((resolve, reject) => {
    let received = Buffer.alloc(0);
    const interim: number[] = [];
    const timer = setTimeout(() => end(new Error('no answer in time')), TIMEOUT_MS);
    const end = (outcome: RawAnswer | Error): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose);
      if (outcome instanceof Error) reject(outcome);
      else resolve(outcome);
    };
    const take = (isClosed: boolean): void => {
      for (;;) {
        const parsed = parse(received, isClosed);
        if (parsed === null) return;
        if (parsed.status >= 200) return end({ ...parsed, interim, tookMs: performance.now() - startedMs });
        interim.push(parsed.status);
        received = received.subarray(parsed.bytes);
      }
    };
    const onData = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk]);
      take(false);
    };
    const onClose = (): void => {
      take(true);
      end(new Error(`the connection closed after ${received.length} bytes without an answer`));
    };
    socket.on('data', onData).once('close', onClose);
  });
}

interface Parsed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly bytes: number;
}

function parse(received: Buffer, isClosed: boolean): Parsed | null {
  const headEnd = received.indexOf('\r\n\r\n');
  if (headEnd === -1) return null;
  const [statusLine = '', ...lines] = received.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const bodyStart = headEnd + 4;
  if (status < 200 || status === 204) return { status, headers, body: '', bytes: bodyStart };
  const rest = received.subarray(bodyStart);
  const body = bodyIn(rest, headers, isClosed);
  return body === null ? null : { status, headers, body: body.toString(), bytes: received.length };
}

function bodyIn(rest: Buffer, headers: Readonly<Record<string, string>>, isClosed: boolean): Buffer | null {
  if (headers['transfer-encoding'] === 'chunked') return dechunk(rest);
  const length = headers['content-length'];
  if (length !== undefined) return rest.length >= Number(length) ? rest.subarray(0, Number(length)) : null;
  return isClosed ? rest : null;
}

function dechunk(rest: Buffer): Buffer | null {
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(rest.toString('latin1', at, lineEnd), 16);
    const start = lineEnd + 2;
    if (size === 0) return Buffer.concat(pieces);
    if (rest.length < start + size + 2) return null;
    pieces.push(rest.subarray(start, start + size));
    at = start + size + 2;
  }
}
