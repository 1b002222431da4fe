import type { JsonObject } from '@libs/json';
import { estimatePrompt } from '../model/estimate';
import { bringsTools, providerToolsIn } from '../model/provider-tools';
import type { AnswerContext } from './dialect';
import type { StreamableApi } from './dialect-pairs';
import { memberText, parseRequest, scanRequest } from './request-members';
import { THOUGHT_WISHES } from './openai-chat/hidden-thoughts';
import { REPEATED_SETTINGS } from './openai-responses/response-object';

/** Requests shorter than this are kept whole, because a running stream needs more memory than that anyway. */
const SHORT_BYTES = 16 * 1024;

/** Fields that are needed for the bill. */
const OF_BILLS = ['n', 'modalities'] as const;

/** Request fields that are needed to write the answer, by the caller's API. */
const OF_ANSWERS: Readonly<Record<StreamableApi, readonly string[]>> = {
  chat: [...OF_BILLS, ...THOUGHT_WISHES],
  responses: [...OF_BILLS, ...REPEATED_SETTINGS, 'include'],
  messages: OF_BILLS,
};

/** APIs whose answers repeat the tools of the request. */
const SHOWING_TOOLS: ReadonlySet<StreamableApi> = new Set(['responses']);

export interface LastingContext {
  readonly context: AnswerContext;
  /** Returns how many bytes of a long request are kept; 0 for a short one. */
  readonly keptBytes: number;
}

/**
 * Returns the context of an answer that may take minutes. Of a long request it holds only the fields that are read
 * later, so that the body and its parsed form can be freed when the answer begins.
 */
export function lastingContext(api: StreamableApi, context: AnswerContext, parsed?: JsonObject): LastingContext {
  const { requestBody } = context;
  if (requestBody.length <= SHORT_BYTES) return { context, keptBytes: 0 };
  const prompt = context.prompt ?? estimatePrompt(requestBody);
  const request = SHOWING_TOOLS.has(api) ? (parsed ?? parseRequest(requestBody)) : null;
  const providerTools = request === null ? undefined : providerToolsIn(request);
  const kept = membersOf(requestBody, OF_ANSWERS[api], request === null ? [] : laterTools(request));
  return { context: { ...context, requestBody: kept, prompt, providerTools }, keptBytes: kept.length };
}

/** Returns `input` with only the items that define tools, as a JSON field; empty if there are none. */
function laterTools({ input }: JsonObject): readonly string[] {
  const items = Array.isArray(input) ? input.filter(bringsTools) : [];
  return items.length === 0 ? [] : [`"input":${JSON.stringify(items)}`];
}

/**
 * Returns a copy of an object with only the given fields plus `more` (JSON). The copy does not share memory with the
 * object.
 */
function membersOf(body: Buffer, names: readonly string[], more: readonly string[]): Buffer {
  const scanned = scanRequest(body);
  const members = names.flatMap((name) => {
    const text = memberText(scanned, name);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text.toString()}`];
  });
  return Buffer.from(`{${[...members, ...more].join(',')}}`);
}
