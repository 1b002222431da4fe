import { promisify } from 'node:util';
import { likelyPromptTokens, usualTextTokens } from '@libs/inference';
import type { OutsideWork } from '../parsers/outside-work';
import type { RequestBody } from './request-body';

/** Characters at the beginning of a longer text from which its tokens are estimated. */
const SAMPLE_CHARACTERS = 16 * 1_024;
/** Bytes after which other requests get a turn. */
const BYTES_OF_A_TURN = 1024 * 1024;
/** Most bytes to measure for one request before its next cut. */
const MOST_BYTES = 48 * 1024 * 1024;
/**
 * Copies in memory while a body is rewritten: its texts with a gap (two bytes a character) and its bytes, before and
 * after, and the JSON.
 */
const COPIES_WHILE_REWRITTEN = 8;
/** Copies of a rewritten body: its bytes and its texts. */
const COPIES_KEPT = 3;

const nextTurn = promisify(setImmediate);

export interface Measured {
  readonly body: RequestBody;
  readonly tokens: number;
}

/**
 * Measures the prompt of one request, and reserves memory for the bodies that are made from it. It yields to other
 * requests, and limits how much is measured.
 */
export class PromptMeter {
  #bytes = 0;
  #sinceTurn = 0;
  #reserved = 0;

  constructor(private readonly work: Pick<OutsideWork, 'memory' | 'signal'>) {}

  /** All that was measured. */
  get bytes(): number {
    return this.#bytes;
  }

  get isSpent(): boolean {
    return this.#bytes > MOST_BYTES;
  }

  /** Yields to other requests first, because the body may just have been written, which takes time. */
  async measured(body: RequestBody): Promise<Measured> {
    await this.#turn();
    return { body, tokens: await this.tokensOf(body.bytes) };
  }

  async tokensOf(json: Buffer): Promise<number> {
    const tokens = likelyPromptTokens(json);
    await this.#count(json.length);
    return tokens;
  }

  async tokensOfText(text: string): Promise<number> {
    const sample = text.slice(0, SAMPLE_CHARACTERS);
    await this.#count(sample.length);
    return sample === '' ? 0 : usualTextTokens(sample) * (text.length / sample.length);
  }

  /** Reserves the memory to make a body of about this many bytes. @throws AppError provider_overloaded */
  async reserve(bytes: number): Promise<void> {
    const missing = bytes * COPIES_WHILE_REWRITTEN - this.#reserved;
    if (missing <= 0) return;
    await this.work.memory.add(missing);
    this.#reserved += missing;
  }

  /** Releases memory that a body of this many bytes does not need. */
  keep(bytes: number): void {
    const spare = this.#reserved - bytes * COPIES_KEPT;
    if (spare <= 0) return;
    this.work.memory.give(spare);
    this.#reserved -= spare;
  }

  async #count(bytes: number): Promise<void> {
    this.#bytes += bytes;
    this.#sinceTurn += bytes;
    if (this.#sinceTurn >= BYTES_OF_A_TURN) await this.#turn();
  }

  async #turn(): Promise<void> {
    this.#sinceTurn = 0;
    await nextTurn();
    this.work.signal.throwIfAborted();
  }
}
