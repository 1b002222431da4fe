import { promisify } from 'node:util';
import { likelyPromptTokens, usualTextTokens } from '@libs/inference';
import type { OutsideWork } from '../parsers/outside-work';
import type { RequestBody } from './request-body';

/** The tokens of a longer text are estimated from so many characters at its beginning. */
const SAMPLE_CHARACTERS = 16 * 1_024;
/** Bytes after which other requests get a turn. */
const BYTES_OF_A_TURN = 1024 * 1024;
/** Most bytes that one request may have measured before its next cut. */
const MOST_BYTES = 48 * 1024 * 1024;
/** Copies while a body is rewritten: its texts with a gap, two bytes a character, and bytes, before and after; the JSON. */
const COPIES_WHILE_REWRITTEN = 8;
/** Copies of a rewritten body: its bytes and its texts. */
const COPIES_KEPT = 3;

const nextTurn = promisify(setImmediate);

export interface Measured {
  readonly body: RequestBody;
  readonly tokens: number;
}

/**
 * Measures what one request asks for, and reserves the memory of the bodies that are made of it. It lets other requests
 * have their turns, and bounds how much is measured.
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

  /** Lets others have their turn first, since the body may just have been written. */
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

  /** Reserves the memory to make a body of about so many bytes. @throws AppError provider_overloaded */
  async reserve(bytes: number): Promise<void> {
    const missing = bytes * COPIES_WHILE_REWRITTEN - this.#reserved;
    if (missing <= 0) return;
    await this.work.memory.add(missing);
    this.#reserved += missing;
  }

  /** Gives back what is not needed for a body of so many bytes. */
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
