import type { BatchRequestLine } from './client';

/** A line of a test batch: its prompt is unlike every other and carries its marker. */
export interface TestLine {
  readonly customId: string;
  readonly marker: string;
  readonly prompt: string;
}

const MAX_TOKENS = 16;

/** `count` lines; `tag` keeps them apart from those of other batches at the same upstream. */
export function linesOf(tag: string, count: number): TestLine[] {
  return Array.from({ length: count }, (_, index) => {
    const customId = `${tag}-${index}`;
    // Lengths differ, so token counts and costs do.
    return { customId, marker: customId, prompt: `[[${customId}]] Say ${'something '.repeat(1 + (index % 9))}please.` };
  });
}

export function chatRequests(lines: readonly TestLine[]): BatchRequestLine[] {
  return lines.map(({ customId, prompt }) => ({
    custom_id: customId,
    body: { messages: [{ role: 'user', content: prompt }], max_tokens: MAX_TOKENS },
  }));
}

export function embeddingRequests(lines: readonly TestLine[]): BatchRequestLine[] {
  return lines.map(({ customId, prompt }) => ({ custom_id: customId, body: { input: prompt } }));
}
