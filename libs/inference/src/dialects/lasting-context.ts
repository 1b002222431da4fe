import { estimatePrompt } from '../model/estimate';
import { providerToolsIn } from '../model/provider-tools';
import type { JsonObject } from '../json/loose-values';
import type { AnswerContext } from './dialect';
import type { StreamableApi } from './dialect-pairs';
import { memberText, parseRequest, scanRequest } from './request-members';
import { THOUGHT_WISHES } from './openai-chat/hidden-thoughts';
import { REPEATED_SETTINGS } from './openai-responses/response-object';

/** A shorter request is kept as it is: a stream that goes on takes more than that anyway. */
const SHORT_BYTES = 16 * 1024;

/** Members that bills are made from. */
const OF_BILLS = ['n', 'modalities'] as const;

/** Members of a request that its answer is written from, by the API of the caller. */
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
 * Returns the context of an answer that may take minutes. It holds nothing of a long request but what is read later:
 * the body and what was parsed of it can be given back as soon as the answer begins.
 */
export function lastingContext(api: StreamableApi, context: AnswerContext, parsed?: JsonObject): LastingContext {
  const { requestBody } = context;
  if (requestBody.length <= SHORT_BYTES) return { context, keptBytes: 0 };
  const kept = membersOf(requestBody, OF_ANSWERS[api]);
  const prompt = context.prompt ?? estimatePrompt(requestBody);
  const providerTools = api === 'responses' ? providerToolsIn(parsed ?? parseRequest(requestBody)) : undefined;
  return { context: { ...context, requestBody: kept, prompt, providerTools }, keptBytes: kept.length };
}

/** An object of some of the members, in memory of its own. */
function membersOf(body: Buffer, names: readonly string[]): Buffer {
  const scanned = scanRequest(body);
  const members = names.flatMap((name) => {
    const text = memberText(scanned, name);
    return text === undefined ? [] : [`${JSON.stringify(name)}:${text.toString()}`];
  });
  return Buffer.from(`{${members.join(',')}}`);
}
