import { registerHooks } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { deflate } from 'node:zlib';

/**
 * The child in which files and texts of strangers are parsed, one after another. It stands alone: it imports packages
 * and the parsers beside it, and has no code of the gateway.
 *
 * A job comes on the standard input: the length of its head and of its payload, four bytes each, then both. An answer
 * goes to the standard output: four bytes of length, then JSON. The first answer says that the parsers are loaded; to
 * each job there are two, one when it is there and one when it is done.
 */
interface Parser {
  readonly loaded?: Promise<unknown>;
  parse(payload: Uint8Array, settings: unknown): unknown;
}

interface JobHead {
  readonly parser: string;
  readonly settings: unknown;
}

const PREFIX_BYTES = 8;
/** What V8 says when it has no memory, in warnings of parsers that go on without what they asked for. */
const EXHAUSTION = /allocation failed|call stack|invalid (typed )?array length|invalid string length/i;
/** Garbage that is left to the next task; more is collected first, which takes some milliseconds. */
const LEFT_BYTES = 8 * 1024 * 1024;
/** What could reach the network. */
const REACHING_OUT = ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'];

const parsers = new Map<string, Parser>();
let isExhausted = false;
/** What the child has in memory before its first task. */
let readyBytes = 0;

/** Gives up what a parser does not need: every right to read files, every module not yet loaded, the network. */
function seal(): void {
  for (const name of REACHING_OUT) Reflect.deleteProperty(globalThis, name);
  Reflect.deleteProperty(process, 'getBuiltinModule');
  registerHooks({
    resolve: () => {
      throw new Error('Parsers load no modules');
    },
  });
  const { permission } = process as unknown as { permission?: { drop(scope: string): void } };
  permission?.drop('fs.read');
}

/** Collects garbage where there is much, so that one task does not leave its own to the memory of the next. */
function collect(): void {
  if (usedBytes() < readyBytes + LEFT_BYTES) return;
  (globalThis as { gc?: () => void }).gc?.();
}

function usedBytes(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Keeps what parsers print off the standard output, and notes a parser that ran out of memory and went on. */
function listenToWarnings(): void {
  const note = (...words: unknown[]): void => {
    if (words.some((word) => EXHAUSTION.test(String(word)))) isExhausted = true;
  };
  Object.assign(console, { log: note, info: note, warn: note, error: note, debug: note, trace: note });
}

function send(answer: object): void {
  const body = Buffer.from(JSON.stringify(answer));
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(body.length);
  process.stdout.write(prefix);
  process.stdout.write(body);
}

async function work(head: JobHead, payload: Uint8Array): Promise<void> {
  isExhausted = false;
  const value = await parsers.get(head.parser)!.parse(payload, head.settings);
  send(isExhausted ? { isExhausted } : { value });
}

/** Yields what stands in the input, cut into pieces of the lengths that are asked for. */
class Input {
  readonly #pieces: AsyncIterator<Buffer> = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  /** Returns null at the end of the input. */
  async take(length: number): Promise<Uint8Array<ArrayBuffer> | null> {
    const taken = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#pieces.next();
        if (done === true) return null;
        this.#rest = value;
      }
      const part = this.#rest.subarray(0, length - filled);
      taken.set(part, filled);
      filled += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return taken;
  }
}

async function main(): Promise<void> {
  const self = process.argv[1]!;
  for (const name of process.argv.slice(2)) {
    const parser = (await import(join(dirname(self), name + extname(self)))) as Parser;
    await parser.loaded;
    parsers.set(name, parser);
  }
  // The thread that inflates is there before memory is limited: its stack counts.
  await promisify(deflate)(Buffer.alloc(1));
  listenToWarnings();
  seal();
  collect();
  readyBytes = usedBytes();
  send({ isReady: true });
  const input = new Input();
  for (;;) {
    const prefix = await input.take(PREFIX_BYTES);
    if (prefix === null) return;
    const lengths = new DataView(prefix.buffer);
    const head = await input.take(lengths.getUint32(0));
    const payload = await input.take(lengths.getUint32(4));
    if (head === null || payload === null) return;
    send({ hasBegun: true });
    await work(JSON.parse(new TextDecoder().decode(head)) as JobHead, payload);
    collect();
  }
}

// The input ends when the gateway ends, in whatever way: then the child ends too.
void main().then(
  () => process.exit(0),
  () => process.exit(1),
);
