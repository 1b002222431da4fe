import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Whether the server closed the connection, and not we. */
  readonly closed: boolean;
  /** Whether it did so with a reset. */
  readonly reset: boolean;
}

export interface RawOptions {
  /** How long to wait for the server to close after its answer is complete. */
  readonly lingerMs?: number;
  /** Called once connected instead of sending `head` at once. */
  readonly drive?: (socket: Socket) => void;
}

/** Sends bytes as they are and reads one answer, as clients that no HTTP library would write. */
export function askRaw(port: number, bytes: string | Buffer, options: RawOptions = {}): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    const chunks: Buffer[] = [];
    let timer: NodeJS.Timeout | undefined;
    let reset = false;
    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      clearTimeout(limit);
      socket.destroy();
      const text = finalAnswer(chunks);
      if (text === '' && !closed) reject(new Error('no answer'));
      else resolve(read(text, closed, reset));
    };
    const limit = setTimeout(() => finish(false), 15_000);
    socket.on('error', () => (reset = true));
    socket.on('close', () => finish(true));
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (timer === undefined && isComplete(finalAnswer(chunks))) {
        timer = setTimeout(() => finish(false), options.lingerMs ?? 3);
      }
    });
    socket.on('connect', () => (options.drive ? options.drive(socket) : socket.write(bytes)));
  });
}

/** Without the word that a body may be sent. */
function finalAnswer(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks)
    .toString('latin1')
    .replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
}

function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, end + 2))?.[1];
  if (length !== undefined) return text.length - end - 4 >= Number(length);
  return text.startsWith('HTTP/1.1 204') || text.endsWith('0\r\n\r\n');
}

function read(text: string, closed: boolean, reset: boolean): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, Math.max(0, end)).split('\r\n');
  const headers = new Map(
    lines.map(
      (line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const,
    ),
  );
  return { status: Number(first.split(' ')[1] ?? 0), headers, body: text.slice(end + 4), closed, reset };
}
