import { AppError } from '@libs/errors';
import type { ToolDefinition } from '@libs/inference';
import { bytesForText } from '../http/fetched-bytes';
import type { ParserPool } from '../parsers/parser-pool';
import { fieldsOf, refusal, type Fields } from './named-tools';
import {
  failedUse,
  type BoundTool,
  type ServerTool,
  type ToolContext,
  type ToolOutcome,
  type ToolSurroundings,
} from './server-tool';
import { FoundFunctions } from './found-functions';
import { TextSearch } from './text-search';

const DEFAULT_RESULTS = 5;
const MOST_RESULTS = 50;
const MOST_QUERY_CHARACTERS = 1_000;
/**
 * Most characters of one function that are searched; below, of all together. If there are very many functions, the
 * beginning of each.
 */
const MOST_FUNCTION_CHARACTERS = 4_096;
const MOST_SEARCHED_CHARACTERS = 128 * 1_024;
const LEAST_FUNCTION_CHARACTERS = 32;
/** Most searches of one request; no reasonable model searches so often. */
const MOST_SEARCHES = 50;

/**
 * `<service>:tool_search`: finds the caller's functions that are hidden from the model (`defer_loading`), by words or
 * by a regular expression. The model can call the found functions from then on.
 */
export class ToolSearchTool implements ServerTool {
  readonly name = 'tool_search';

  constructor(private readonly parsers: ParserPool) {}

  bind(parameters: Fields, path: string, { deferred }: ToolSurroundings = { deferred: [] }): BoundTool {
    const { max_results: most = DEFAULT_RESULTS, type = 'bm25' } = parameters;
    if (!Number.isSafeInteger(most) || (most as number) < 1) {
      throw refusal(`${path}.max_results`, 'must be a whole number of at least 1');
    }
    const isRegex = type === 'regex';
    const search = new TextSearch(this.parsers, isRegex ? 'pattern-match' : 'word-match', textsOf(deferred));
    const wanted = Math.min(most as number, MOST_RESULTS);
    const shown = new FoundFunctions(deferred);
    let searches = 0;
    return {
      definition: {
        name: this.name,
        description:
          `Finds functions that can be called but are not listed, among ${deferred.length}. ` +
          'Search here before saying that something cannot be done.',
        parameters: {
          type: 'object',
          properties: {
            query: {
              type: 'string',
              description: isRegex
                ? 'A regular expression for names and descriptions, any case'
                : 'Words that say what the function does',
            },
          },
          required: ['query'],
          additionalProperties: false,
        },
      },
      run: async (args, work) => {
        searches += 1;
        if (searches > MOST_SEARCHES) return failedUse('No more searches can be made in this request.');
        const { query } = fieldsOf(args);
        if (typeof query !== 'string' || query.length > MOST_QUERY_CHARACTERS) {
          return failedUse(`The query must be text of at most ${MOST_QUERY_CHARACTERS} characters.`);
        }
        const found = await search.search({ query, most: wanted }, work);
        if (typeof found === 'string') return failedUse(found, { query });
        // The result of a search that took too long is not used.
        work.signal.throwIfAborted();
        return await outcomeOf(query, shown, found, work);
      },
    };
  }
}

/** Functions count as shown only after memory for them was reserved. */
async function outcomeOf(
  query: string,
  shown: FoundFunctions,
  found: readonly number[],
  { memory }: ToolContext,
): Promise<ToolOutcome> {
  const { text, tools } = shown.show(found);
  try {
    await memory.add(bytesForText(text));
  } catch (error) {
    shown.forget(tools);
    return failedUse(`${AppError.from(error).message}.`, { query });
  }
  return { parts: [{ type: 'text', text }], isError: false, item: { query }, tools, costPicoUsd: 0n };
}

/**
 * Returns the texts to search. They are limited, because an index of everything that a request may contain would
 * exhaust the memory.
 */
function textsOf(deferred: readonly ToolDefinition[]): readonly string[] {
  const share = Math.floor(MOST_SEARCHED_CHARACTERS / Math.max(1, deferred.length));
  const most = Math.max(LEAST_FUNCTION_CHARACTERS, Math.min(MOST_FUNCTION_CHARACTERS, share));
  return deferred.map((definition) => textOf(definition, most));
}

/** Returns the text that describes a function: its name, its description and those of its arguments. */
function textOf({ name, description = '', parameters }: ToolDefinition, most: number): string {
  let text = `${name.slice(0, most)} ${description.slice(0, most)}`;
  for (const [key, schema] of Object.entries(fieldsOf(parameters?.['properties']))) {
    if (text.length >= most) break;
    const said = fieldsOf(schema)['description'];
    text += ` ${key.slice(0, most)} ${typeof said === 'string' ? said.slice(0, most) : ''}`;
  }
  return text.slice(0, most);
}
