import { bringsTools } from '@libs/inference';
import { allowedIn, fieldsOf, listOf, type NamedTool, type SortedTools } from './named-tools';
import type { ServerTool } from './server-tool';

/** Returns `input` without the items that bring tools: these are in `tools` already. */
export function withoutTools(input: unknown): unknown {
  return Array.isArray(input) ? (input as unknown[]).filter((item) => !bringsTools(item)) : input;
}

/**
 * Returns the tools with a plain name that this installation cannot run and without which the request can be answered:
 * coding agents offer a search in every request, whether or not it is needed. A response header lists those that were
 * left out.
 */
export function leftOutOf(
  found: readonly NamedTool[],
  { plain, own, rest }: SortedTools,
  find: (type: unknown) => ServerTool | null,
  choice: unknown,
): readonly NamedTool[] {
  const { type } = fieldsOf(choice);
  const allowed = allowedIn(choice);
  const mustUse =
    allowed !== null
      ? allowed['mode'] === 'required' &&
        listOf(allowed['tools']).every((entry) => found.some(({ tool }) => tool === find(entry['type'])))
      : choice === 'required' && own.length + rest.length === 0;
  const chosen = find(type);
  return found.filter((one) => {
    const { tool, parameters } = one;
    const isAsked = mustUse || tool === chosen || !isAnyEngine(parameters['engine']);
    return plain.includes(one) && tool.isReady === false && tool.isOptional === true && !isAsked;
  });
}

/** Returns whether a setting `engine` leaves the choice to the gateway. */
export function isAnyEngine(engine: unknown): boolean {
  return engine === undefined || engine === 'auto';
}
