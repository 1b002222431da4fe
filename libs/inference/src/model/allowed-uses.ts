import type { JsonObject } from '@libs/json';
import { MOST_USES, type AllowedUses, type ProviderTool } from '../pricing/tool-uses';
import { providerToolsIn, SEARCH_PREVIEW, toolEntriesIn, toolOfType } from './provider-tools';

/**
 * Uses of a provider's tools to reserve if the request sets no cap. Most answers need one to three searches, and
 * Anthropic's manual caps its examples at five. The amount to reserve grows with the square of this number.
 */
const DEFAULT_USES = 5;
/** The default for each tool if several tools have separate caps. */
const DEFAULT_USES_OF_SEVERAL = 3;

/** Anthropic ends a turn after ten rounds of its tools (`pause_turn`); some of these tools have no cap of their own. */
const ROUNDS_OF_MESSAGES = 10;

/** A result may fill the whole context. */
const WHOLE_CONTEXT = Number.MAX_SAFE_INTEGER;
const TOKENS_OF_A_PIECE = 800;

/**
 * Most tokens that one use of a tool adds to the context in practice. No provider has a field that caps them, except
 * `max_content_tokens` of a fetch.
 */
const RESULT_TOKENS: Readonly<Record<ProviderTool, number>> = {
  // Anthropic's manual shows 7,345 for a search, and OpenAI bills some models a block of 8,000 for one.
  web_search: 8_000,
  [SEARCH_PREVIEW]: 8_000,
  x_search: 8_000,
  // Four times an average page; sent as the cap if the request has none.
  web_fetch: 10_000,
  // OpenAI's defaults: twenty pieces of 800 tokens.
  file_search: 20 * TOKENS_OF_A_PIECE,
  // 64 kB of output. Programs can print more than that.
  code_interpreter: 16_000,
  shell: 16_000,
  // The prompt that was used, and one large picture.
  image_generation: 6_000,
  // The caller's own server decides.
  mcp: WHOLE_CONTEXT,
  // The caller runs this tool and returns its results in later requests.
  computer_use: 0,
};
const OTHER_TOKENS = 16_000;

/**
 * Searches of a chat model that searches by itself: a deep research needs 18 to 30 searches plus the sources that it
 * cites.
 */
export const SEARCHES_OF_CHAT: AllowedUses = { tools: ['web_search'], uses: 30, turns: 0, tokensPerUse: 1_200 };

const NO_USES: readonly AllowedUses[] = [];

/*
 * Returns the provider tool uses that a request may make, by API: the caller's caps if the API has caps; otherwise our
 * defaults, which are sent to the provider as caps on the operator's account (`dialects/tool-caps.ts`).
 */

export function usesOfChat(request: JsonObject): readonly AllowedUses[] {
  return providerToolsIn(request).map((tool) =>
    tool === 'web_search' ? SEARCHES_OF_CHAT : usesOf(tool, DEFAULT_USES),
  );
}

function usesOf(tool: ProviderTool, uses: number, tokensPerUse = resultTokens(tool)): AllowedUses {
  return { tools: [tool], uses, turns: isRunByCaller(tool) ? 0 : uses, tokensPerUse };
}

/**
 * Returns the uses of all tools under one cap. OpenAI does not say that its cap covers MCP tools, so these are counted
 * separately.
 */
export function usesOfResponse(request: JsonObject): readonly AllowedUses[] {
  const tools = providerToolsIn(request);
  const uses = mostToolCalls(request);
  const apart = tools.filter(isApart).map((tool) => usesOf(tool, uses));
  if (apart.length === tools.length) return apart;
  const run = tools.filter((tool) => !isApart(tool));
  return [{ tools: run, uses, turns: uses, tokensPerUse: largestResult(request) }, ...apart];
}

/** Returns whether the cap of a response may not cover a tool, or the tool needs no cap. */
function isApart(tool: ProviderTool): boolean {
  return tool === 'mcp' || isRunByCaller(tool);
}

function largestResult(request: JsonObject): number {
  return toolEntriesIn(request).reduce((most, entry) => {
    const tool = toolIn(entry);
    return tool === null || isApart(tool) ? most : Math.max(most, tokensOfEntry(entry));
  }, 0);
}

/**
 * Returns the cap for a request of the Responses API: `max_tool_calls`, unless the conditions of the request replace
 * it.
 */
export function mostToolCalls(request: JsonObject): number {
  const asked = (request['stop_server_tools_when'] ?? null) === null ? request['max_tool_calls'] : null;
  return cappedAt(asked, DEFAULT_USES);
}

/** Returns the uses of each tool. In the Messages API each tool has its own cap, or none. */
export function usesOfMessage(request: JsonObject): readonly AllowedUses[] {
  const tools = providerToolsIn(request);
  const byDefault = defaultUsesOf(tools);
  const capped = toolEntriesIn(request).flatMap((entry) => usesOfEntry(entry, byDefault));
  const named = new Set(capped.flatMap((one) => one.tools ?? []));
  const others = tools.filter((tool) => !named.has(tool));
  return [...capped, ...others.map((tool) => usesOf(tool, isRunByCaller(tool) ? DEFAULT_USES : ROUNDS_OF_MESSAGES))];
}

/** Returns the uses of one tool; none for a tool that takes no cap. */
function usesOfEntry(entry: JsonObject, byDefault: number): readonly AllowedUses[] {
  const { max_uses: uses } = capsOfTool(entry, byDefault);
  if (uses === undefined) return NO_USES;
  // A use beyond the cap is refused, and the model reads that refusal too, which is one more turn.
  return [{ tools: [toolIn(entry)!], uses, turns: uses + 1, tokensPerUse: tokensOfEntry(entry) }];
}

/** The fields of a tool of the Messages API that cap its uses and their results. */
export interface ToolCaps {
  readonly max_uses?: number;
  readonly max_content_tokens?: number;
}

/** Tools of the Messages API that have the field `max_uses`. */
const WITH_MAX_USES: ReadonlySet<ProviderTool> = new Set(['web_search', 'web_fetch', 'advisor']);
const NO_CAPS: ToolCaps = {};

/** Returns the default cap of each capped tool in a Messages request for which the caller has set none. */
export function defaultUsesOf(tools: readonly ProviderTool[]): number {
  return tools.filter((tool) => WITH_MAX_USES.has(tool)).length > 1 ? DEFAULT_USES_OF_SEVERAL : DEFAULT_USES;
}

/** Returns the caps to send with a tool of the Messages API on the operator's account: the caller's, or our default. */
export function capsOfTool(entry: JsonObject, byDefault: number): ToolCaps {
  const tool = toolIn(entry);
  if (tool === null || !WITH_MAX_USES.has(tool)) return NO_CAPS;
  const max_uses = cappedAt(entry['max_uses'], byDefault);
  return tool === 'web_fetch' ? { max_uses, max_content_tokens: tokensOfEntry(entry) } : { max_uses };
}

/** Returns the caller's cap if it is a valid number; otherwise ours. */
function cappedAt(asked: unknown, byDefault: number): number {
  return isCount(asked) ? Math.min(asked, MOST_USES) : byDefault;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function toolIn({ type }: JsonObject): ProviderTool | null {
  return typeof type === 'string' ? toolOfType(type) : null;
}

/** Returns the tokens of one result, according to the settings of the tool. */
function tokensOfEntry(entry: JsonObject): number {
  const tool = toolIn(entry)!;
  const { search_context_size: size, max_content_tokens: content, max_num_results: pieces } = entry;
  if ((tool === 'web_search' || tool === SEARCH_PREVIEW) && size === 'high') return 2 * resultTokens(tool);
  if (tool === 'web_fetch' && isCount(content)) return content;
  if (tool === 'file_search' && isCount(pieces)) return pieces * TOKENS_OF_A_PIECE;
  return resultTokens(tool);
}

function resultTokens(tool: ProviderTool): number {
  return Object.hasOwn(RESULT_TOKENS, tool) ? RESULT_TOKENS[tool]! : OTHER_TOKENS;
}

/** Returns whether the caller runs the tool, so that no turn of the model follows in the same request. */
function isRunByCaller(tool: ProviderTool): boolean {
  return tool === 'computer_use';
}
