import { readSync, writeSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { deflate } from 'node:zlib';

/**
 * The child process that parses untrusted files and texts, one after another. It imports packages and the parsers next
 * to it, and no code of the gateway.
 *
 * A task arrives on the standard input: the lengths of its head and of its payload, four bytes each, then both. An
 * answer is written to the standard output: four bytes of length, then JSON. The first answer reports that the parsers
 * are loaded. For each task there are two answers, one when it has arrived and one when it is done.
 *
 * Both are read and written by their file descriptors: Node's streams have the class `net.Socket`, which code that took
 * over a parser could use. Once it is ready, the child cannot open any file descriptor.
 */
interface Parser {
  readonly loaded?: Promise<unknown>;
  parse(payload: Uint8Array, settings: unknown): unknown;
}

interface Seal {
  readonly seal: () => void;
}

interface JobHead {
  readonly parser: string;
  readonly settings: unknown;
}

const PREFIX_BYTES = 8;
/** V8's messages when it is out of memory, in warnings of parsers that continue with incomplete data. */
const EXHAUSTION = /allocation failed|call stack|invalid (typed )?array length|invalid string length/i;
/** Garbage that may be left to the next task; more is collected first, which takes some milliseconds. */
const LEFT_BYTES = 8 * 1024 * 1024;
const [INPUT, OUTPUT] = [0, 1];
/** The child's own copies, which parsers cannot change by changing the global functions. */
const nextTurn = promisify(setImmediate);
const collectGarbage = (globalThis as { gc?: () => void }).gc;

const parsers = new Map<string, Parser>();
let isExhausted = false;
/** Memory of the child before its first task. */
let readyBytes = 0;

/** Collects garbage if there is much of it, so that one task does not use up the memory of the next. */
function collect(): void {
  if (usedBytes() < readyBytes + LEFT_BYTES) return;
  collectGarbage?.();
}

/** `process.memoryUsage` reads a file for it. */
function usedBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** Keeps output of parsers away from the standard output, and notes if a parser ran out of memory and continued. */
function listenToWarnings(): void {
  const note = (...words: unknown[]): void => {
    if (words.some((word) => EXHAUSTION.test(String(word)))) isExhausted = true;
  };
  Object.assign(globalThis, { console: { log: note, info: note, warn: note, error: note, debug: note, trace: note } });
}

function send(answer: object): void {
  const body = Buffer.from(JSON.stringify(answer));
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(body.length);
  write(prefix);
  write(body);
}

async function work(head: JobHead, payload: Uint8Array): Promise<void> {
  isExhausted = false;
  const value = await parsers.get(head.parser)!.parse(payload, head.settings);
  send(isExhausted ? { isExhausted } : { value });
}

function write(bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += writeSync(OUTPUT, bytes, written);
}

/** Waits for this many bytes of the input and returns them; null at its end. */
function take(length: number): Uint8Array<ArrayBuffer> | null {
  const taken = new Uint8Array(length);
  for (let filled = 0; filled < length;) {
    const read = readSync(INPUT, taken, filled, length - filled, null);
    if (read === 0) return null;
    filled += read;
  }
  return taken;
}

async function main(): Promise<void> {
  const [, self, ...names] = process.argv;
  const load = (name: string): Promise<unknown> => import(join(dirname(self!), name + extname(self!)));
  const { seal } = (await load('parser-seal')) as Seal;
  for (const name of names) {
    const parser = (await load(name)) as Parser;
    await parser.loaded;
    parsers.set(name, parser);
  }
  // Starts the thread that inflates data before memory is limited, because its stack counts.
  await promisify(deflate)(Buffer.alloc(1));
  listenToWarnings();
  seal();
  collect();
  readyBytes = usedBytes();
  send({ isReady: true });
  for (;;) {
    // Lets the last task close its resources, so that none of its work continues while the child waits.
    await nextTurn();
    const prefix = take(PREFIX_BYTES);
    if (prefix === null) return;
    const lengths = new DataView(prefix.buffer);
    const head = take(lengths.getUint32(0));
    const payload = take(lengths.getUint32(4));
    if (head === null || payload === null) return;
    send({ hasBegun: true });
    await work(JSON.parse(new TextDecoder().decode(head)) as JobHead, payload);
    collect();
  }
}

// The input ends when the gateway ends in any way; the child then ends too.
void main().then(
  () => process.exit(0),
  () => process.exit(1),
);
