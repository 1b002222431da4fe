import { createHash } from 'node:crypto';

/** What the upstream of the tests answers to a prompt: a pure function, so that a checker can work it out again. */

export interface TokenCounts {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Numbers in an embedding. */
const DIMENSIONS = 8;
const CHARACTERS_PER_TOKEN = 4;

const MARKER = /\[\[([^[\]]{1,120})\]\]/;

/** The marker a test has put into a prompt as `[[marker]]`; null when there is none. */
export function markerOf(prompt: string): string | null {
  return MARKER.exec(prompt)?.[1] ?? null;
}

/** The text of the answer to a chat whose last user message is `prompt`. */
export function answerTo(prompt: string): string {
  return `sha256:${createHash('sha256').update(prompt).digest('hex')}`;
}

/** The embedding of `input`: numbers from 0 to 1 that JSON carries without loss. */
export function embeddingOf(input: string): number[] {
  return [...createHash('sha256').update(input).digest().subarray(0, DIMENSIONS)].map((byte) => byte / 256);
}

/** What the upstream counts for a chat of this one message; lengths differ, so costs of different lines do. */
export function tokensOf(prompt: string): TokenCounts {
  return { promptTokens: Math.ceil(prompt.length / CHARACTERS_PER_TOKEN), completionTokens: 1 + (prompt.length % 7) };
}
