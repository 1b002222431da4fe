import { isObject, objectsOf, objectOf, stringOf, type JsonObject } from '@libs/json';
import type { AnswerPart, CanonicalAnswer } from '../../model/canonical-answer';
import { endWithoutReason, toFinishReason } from '../../model/finish-reason';
import { ToolCounter, type ProviderTool, type ToolUses } from '../../pricing/tool-uses';
import { brokenAnswer, errorInside } from '../../wire/upstream-error';
import type { Endpoint } from '../../catalogue/catalogue';
import { readCitation } from './content-reader';
import { isReported } from '../reported-error';
import { usageDetails } from '../usage-details';
import { withUnreported } from '../openai-usage';
import { countsOf, settleMessage, tierOf, type MessageCounts } from './usage';
import { readRedacted, readThinking } from './reasoning';
import { toArguments } from '../tool-input';
import { complaintOf, toolOfBlock } from './relayed-answer';

/** Reads a complete answer of an upstream. Leaves out the blocks of tools that ran at the upstream. */
export function readAnswer(body: unknown, { provider, contextLength }: Endpoint): CanonicalAnswer {
  if (!isObject(body)) throw brokenAnswer(provider, 'the answer is no object');
  const { content, stop_reason: stopReason, usage } = body;
  if (isReported(body['error'])) throw errorInside(provider, complaintOf(body['error']));
  if (!Array.isArray(content)) throw brokenAnswer(provider, 'the answer has no content');
  const parts = content.flatMap(readBlock);
  const native = stringOf(stopReason) || null;
  const counts = { ...countsOf(usage), tools: toolsIn(content) };
  return {
    upstreamId: stringOf(body['id']) ?? null,
    createdAt: null,
    choices: [
      {
        parts: [...parts, ...explanationOf(body, parts)],
        finishReason: native === null ? endWithoutReason(parts) : toFinishReason(native),
        nativeFinishReason: native,
        ...(typeof body['stop_sequence'] === 'string' && { stopSequence: body['stop_sequence'] }),
      },
    ],
    ...usageOf(counts, contextLength),
    ...usageDetails(usage),
    ...tierIn(counts),
  };
}

function toolsIn(content: readonly unknown[]): ToolUses | null {
  const counter = new ToolCounter();
  for (const block of content) {
    const tool = providerToolOf(objectOf(block));
    if (tool !== null) counter.add(tool);
  }
  return counter.uses ?? null;
}

/** Returns the provider tool that a block is a call of; null for other blocks. */
export function providerToolOf({ type, name }: JsonObject): ProviderTool | null {
  return toolOfBlock(stringOf(type) ?? null, stringOf(name) ?? null);
}

type ReadBlock = (member: (name: string) => string, block: JsonObject) => AnswerPart;

const BLOCKS: Readonly<Record<string, ReadBlock>> = {
  text: (member, block) => {
    const text = member('text');
    const annotations = objectsOf(block['citations']).flatMap((citation) => readCitation(citation, text.length));
    return { type: 'text', text, ...(annotations.length > 0 && { annotations }) };
  },
  thinking: (member) => readThinking(member('thinking'), member('signature')),
  redacted_thinking: (member) => readRedacted(member('data')),
  tool_use: (member, block) => ({
    type: 'tool-call',
    id: member('id'),
    name: member('name'),
    arguments: toArguments(block['input']),
  }),
};

function readBlock(block: unknown): AnswerPart[] {
  const { type } = objectOf(block);
  if (typeof type !== 'string' || !Object.hasOwn(BLOCKS, type)) return [];
  const known = block as JsonObject;
  return [BLOCKS[type]!((name) => stringOf(known[name]) ?? '', known)];
}

/** Returns the explanation in `stop_details` of a refusal without text, as a part. */
export function explanationOf(message: JsonObject, parts: readonly { readonly type: string }[]): AnswerPart[] {
  const explanation = stringOf(objectOf(message['stop_details'])['explanation']);
  const isSilent = message['stop_reason'] === 'refusal' && !parts.some(({ type }) => type === 'text');
  return isSilent && explanation ? [{ type: 'refusal', text: explanation }] : [];
}

/** Returns the usage, with counts limited to what the endpoint can hold; null unless both main counts are present. */
export function usageOf(counts: MessageCounts, contextLength: number | null): UsageOrNull {
  if (counts.input === null && counts.output === null) return { usage: null };
  const { usage, units } = settleMessage(counts, {
    contextLength: contextLength ?? UNBOUNDED_TOKENS,
    // No part of a missing count is cut before the count is estimated.
    estimate: () => ({ promptTokens: UNBOUNDED_TOKENS, completionTokens: UNBOUNDED_TOKENS }),
    fallback: 'estimated',
  });
  const said = {
    prompt: counts.input === null ? null : usage.promptTokens,
    completion: counts.output === null ? null : usage.completionTokens,
  };
  return { usage: withUnreported(usage, said), ...(Object.keys(units).length > 0 && { units }) };
}

type UsageOrNull = Pick<CanonicalAnswer, 'usage' | 'units'>;

/** Upper bound of a token count if the catalogue names no context length. */
const UNBOUNDED_TOKENS = 1_000_000_000;

/** Returns the service tier that served the answer, as a field of the answer. */
export function tierIn(counts: MessageCounts): { readonly serviceTier?: string } {
  const serviceTier = tierOf(counts);
  return serviceTier === null ? {} : { serviceTier };
}
