import { isObject, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { AnswerPart, CanonicalAnswer } from '../../model/canonical-answer';
import type { ReasoningPart } from '../../model/conversation';
import { brokenAnswer } from '../../wire/upstream-error';
import type { Endpoint } from '../../catalogue/catalogue';
import { toArguments } from '../tool-input';
import { readCitation } from './citations';
import { familyOf, type ModelFamily } from './traits';
import { readStop } from './stop-reason';
import { readTier, readUsage } from './usage';

/** Reads a complete answer of Converse. Leaves out the blocks of tools that ran at Bedrock. */
export function readAnswer(body: unknown, endpoint: Endpoint): CanonicalAnswer {
  if (!isObject(body)) throw brokenAnswer(endpoint.provider, 'the answer is no object');
  const { content } = objectOf(objectOf(body['output'])['message']);
  if (!Array.isArray(content)) throw brokenAnswer(endpoint.provider, 'the answer has no content');
  const family = familyOf(endpoint);
  const parts = content.flatMap((block) => readBlock(objectOf(block), family));
  return {
    upstreamId: null,
    createdAt: null,
    choices: [{ parts, ...readStop(body) }],
    ...readUsage(body['usage']),
    ...readTier(body),
  };
}

function readBlock(block: JsonObject, family: ModelFamily): AnswerPart[] {
  const { text, toolUse, reasoningContent, citationsContent } = block;
  if (typeof text === 'string') return [{ type: 'text', text }];
  if (isObject(toolUse)) return readToolUse(toolUse);
  if (isObject(reasoningContent)) return [readReasoning(reasoningContent, family)];
  return isObject(citationsContent) ? [readCited(citationsContent)] : [];
}

function readToolUse({ type, toolUseId, name, input }: JsonObject): AnswerPart[] {
  if (type === 'server_tool_use') return [];
  const id = stringOf(toolUseId) ?? '';
  return [{ type: 'tool-call', id, name: stringOf(name) ?? '', arguments: toArguments(input) }];
}

function readReasoning({ reasoningText, redactedContent }: JsonObject, family: ModelFamily): ReasoningPart {
  const { text, signature } = objectOf(reasoningText);
  return {
    type: 'reasoning',
    ...(typeof text === 'string' && text !== '' && { text }),
    ...proofOf(stringOf(signature), stringOf(redactedContent), family),
  };
}

/** Returns the signature or encrypted text of a thought, and its format. */
export function proofOf(
  signature: string | undefined,
  encrypted: string | undefined,
  { reasoningFormat }: ModelFamily,
): Pick<ReasoningPart, 'signature' | 'encrypted' | 'format'> {
  if (!signature && !encrypted) return {};
  return { ...(signature && { signature }), ...(encrypted && { encrypted }), format: reasoningFormat ?? 'unknown' };
}

function readCited({ content, citations }: JsonObject): AnswerPart {
  const text = objectsOf(content)
    .map((piece) => stringOf(piece['text']) ?? '')
    .join('');
  const annotations = objectsOf(citations).flatMap((citation) => readCitation(citation, text.length));
  return { type: 'text', text, ...(annotations.length > 0 && { annotations }) };
}
