import type { JsonObject } from '@libs/json';
import { estimatePrompt } from '../model/estimate';
import { bringsTools, providerToolsIn } from '../model/provider-tools';
import type { AnswerContext } from './dialect';
import type { StreamableApi } from './dialect-pairs';
import { memberText, parseRequest, scanRequest } from './request-members';
import { THOUGHT_WISHES } from './openai-chat/hidden-thoughts';
import { REPEATED_SETTINGS } from './openai-responses/response-object';

/** Shorter requests are kept whole: a running stream takes more memory than that anyway. */
const SHORT_BYTES = 16 * 1024;

/** Fields that are needed for the bill. */
const OF_BILLS = ['n', 'modalities'] as const;

/** Fields of a request that are needed to write its answer, by the caller's API. */
const OF_ANSWERS: Readonly<Record<StreamableApi, readonly string[]>> = {
  chat: [...OF_BILLS, ...THOUGHT_WISHES],
  responses: [...OF_BILLS, ...REPEATED_SETTINGS],
  messages: OF_BILLS,
};

export interface LastingContext {
  readonly context: AnswerContext;
  /** Bytes that are kept of a long request; 0 of a short one. */
  readonly keptBytes: number;
}

/**
 * Returns the context of an answer that may take minutes. Of a long request it holds only what is read later, so that
 * the body and its parsed form can be freed as soon as the answer begins.
 */
export function lastingContext(api: StreamableApi, context: AnswerContext, parsed?: JsonObject): LastingContext {
  const { requestBody } = context;
  if (requestBody.length <= SHORT_BYTES) return { context, keptBytes: 0 };
  const prompt = context.prompt ?? estimatePrompt(requestBody);
  const request = api === 'responses' ? (parsed ?? parseRequest(requestBody)) : {};
  const providerTools = api === 'responses' ? providerToolsIn(request) : undefined;
  const kept = membersOf(requestBody, OF_ANSWERS[api], laterTools(request));
  return { context: { ...context, requestBody: kept, prompt, providerTools }, keptBytes: kept.length };
}

/** Returns the `input` with only the items that bring tools, as a field in JSON; none without such items. */
function laterTools({ input }: JsonObject): readonly string[] {
  const items = Array.isArray(input) ? input.filter(bringsTools) : [];
  return items.length === 0 ? [] : [`"input":${JSON.stringify(items)}`];
}

/** Returns an object with only these fields, and `more` of them in JSON, in memory of its own. */
function membersOf(body: Buffer, names: readonly string[], more: readonly string[]): Buffer {
  const scanned = scanRequest(body);
  const members = names.flatMap((name) => {
    const text = memberText(scanned, name);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text.toString()}`];
  });
  return Buffer.from(`{${[...members, ...more].join(',')}}`);
}
