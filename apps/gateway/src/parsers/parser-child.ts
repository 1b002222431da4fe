import { readSync, writeSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { promisify } from 'node:util';
import { getHeapStatistics } from 'node:v8';
import { deflate } from 'node:zlib';

/**
 * The child process that parses files and texts of strangers, one after another. It imports packages and the parsers
 * next to it, and no code of the gateway.
 *
 * A job comes on the standard input: the length of its head and of its payload, four bytes each, then both. An answer
 * goes to the standard output: four bytes of length, then JSON. The first answer says that the parsers are loaded; to
 * each job there are two, one when it is there and one when it is done.
 *
 * Both are read and written by their descriptors: streams of Node have `net.Socket` as their class, which code that
 * took a parser over could construct. And once it is ready the child can open no descriptor any more.
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
/** What V8 says when it has no memory, in warnings of parsers that go on without what they asked for. */
const EXHAUSTION = /allocation failed|call stack|invalid (typed )?array length|invalid string length/i;
/** Garbage that is left to the next task; more is collected first, which takes some milliseconds. */
const LEFT_BYTES = 8 * 1024 * 1024;
const [INPUT, OUTPUT] = [0, 1];
/** Those of the child itself, whatever becomes of the global ones. */
const nextTurn = promisify(setImmediate);
const collectGarbage = (globalThis as { gc?: () => void }).gc;

const parsers = new Map<string, Parser>();
let isExhausted = false;
/** What the child has in memory before its first task. */
let readyBytes = 0;

/** Collects garbage where there is much, so that one task does not leave its own to the memory of the next. */
function collect(): void {
  if (usedBytes() < readyBytes + LEFT_BYTES) return;
  collectGarbage?.();
}

/** `process.memoryUsage` reads a file for it. */
function usedBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}

/** Keeps what parsers print off the standard output, and notes a parser that ran out of memory and went on. */
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

/** Waits for so many bytes of the input, and returns them; null at its end. */
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
  // The thread that inflates is there before memory is limited: its stack counts.
  await promisify(deflate)(Buffer.alloc(1));
  listenToWarnings();
  seal();
  collect();
  readyBytes = usedBytes();
  send({ isReady: true });
  for (;;) {
    // What the last task left to be closed is closed: nothing of it goes on while the child waits.
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

// The input ends when the gateway ends, in whatever way: then the child ends too.
void main().then(
  () => process.exit(0),
  () => process.exit(1),
);
