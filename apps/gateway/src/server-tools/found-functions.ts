import type { ToolDefinition } from '@libs/inference';

/** Most bytes of functions that one search returns, as JSON. */
const MOST_SHOWN_BYTES = 64 * 1_024;
/** Most characters of a description, if its function is too long to be returned completely. */
const MOST_DESCRIPTION_CHARACTERS = 1_024;
/** Most bytes of one function, so that several fit. */
const MOST_FUNCTION_BYTES = 16 * 1_024;

/** The result of one search in the form that the model gets. */
export interface ShownFunctions {
  readonly text: string;
  /** The functions that the model may call from now on. */
  readonly tools: readonly ToolDefinition[];
}

/**
 * The functions that searches of one request have found. Each is returned once, and one search returns a limited
 * amount.
 */
export class FoundFunctions {
  readonly #shown = new Set<ToolDefinition>();

  constructor(private readonly functions: readonly ToolDefinition[]) {}

  /** @param places of the matching functions, the best first */
  show(places: readonly number[]): ShownFunctions {
    const matches = places.flatMap((place) => this.functions[place] ?? []);
    if (matches.length === 0) return { text: 'No function matches. Try other words.', tools: [] };
    const known = matches.filter((one) => this.#shown.has(one));
    const tools: ToolDefinition[] = [];
    const written: string[] = [];
    let leftBytes = MOST_SHOWN_BYTES;
    for (const one of matches) {
      if (this.#shown.has(one)) continue;
      const entry = describe(one);
      leftBytes -= Buffer.byteLength(entry);
      if (leftBytes < 0) break;
      written.push(entry);
      tools.push(one);
    }
    for (const one of tools) this.#shown.add(one);
    const left = matches.length - known.length - tools.length;
    return { text: [...listOf(written), ...noteOf(known), ...noteOfLeft(left)].join('\n'), tools };
  }

  /** Removes functions that the model has not received after all. */
  forget(tools: readonly ToolDefinition[]): void {
    for (const one of tools) this.#shown.delete(one);
  }
}

/** Returns a function as JSON; for a long one, its name and the beginning of its description. */
function describe({ name, description, parameters }: ToolDefinition): string {
  if ((description?.length ?? 0) <= MOST_FUNCTION_BYTES) {
    const whole = JSON.stringify({ name, description, parameters });
    if (Buffer.byteLength(whole) <= MOST_FUNCTION_BYTES) return whole;
  }
  return JSON.stringify({ name, description: description?.slice(0, MOST_DESCRIPTION_CHARACTERS), is_shortened: true });
}

function listOf(written: readonly string[]): readonly string[] {
  return written.length === 0 ? [] : [`[${written.join(',')}]`];
}

function noteOf(known: readonly ToolDefinition[]): readonly string[] {
  if (known.length === 0) return [];
  return [`Found before, and can be called: ${known.map(({ name }) => name).join(', ')}.`];
}

function noteOfLeft(count: number): readonly string[] {
  return count === 0 ? [] : [`${count} more functions match. Search again to see them.`];
}
