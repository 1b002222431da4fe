/** The prompt as one text, or the turns as the caller wrote them. */
export type ContentInput = { readonly prompt: string } | { readonly messages: readonly unknown[] };

/** Returns an `input` that is a text or a list, preceded by the given turns. */
export function inputTurns(input: unknown, before: readonly unknown[]): ContentInput {
  if (typeof input !== 'string') return { messages: [...before, ...listOf(input)] };
  return before.length === 0 ? { prompt: input } : { messages: [...before, { role: 'user', content: input }] };
}

export function systemTurn(content: unknown): readonly unknown[] {
  return content === undefined || content === null ? [] : [{ role: 'system', content }];
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
