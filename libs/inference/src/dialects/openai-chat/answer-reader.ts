import { randomUUID } from 'node:crypto';
import { defined, isObject, numberOf, objectOf, objectOrNull, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { tierWord } from '../../catalogue/service-tiers';
import type { AnswerPart, CanonicalAnswer, Choice } from '../../model/canonical-answer';
import type { TextPart } from '../../model/conversation';
import { endWithoutReason } from '../../model/finish-reason';
import { brokenAnswer, errorInside, readComplaint } from '../../wire/upstream-error';
import type { Endpoint } from '../../catalogue/catalogue';
import { argumentsOfText } from '../free-text-tools';
import { isReported } from '../reported-error';
import { usageDetails } from '../usage-details';
import { readAnnotations } from './citations';
import { ExecutedTools } from './executed-tools';
import { readLogprobs } from './logprobs';
import { readThoughts, toReasoningParts } from './reasoning';
import { readChatUnits, readChatUsage } from './usage';
import { readStop } from './stop-reason';

/**
 * Reads a `chat.completion` into the canonical model.
 * @throws AppError provider_unavailable, or the error that it contains
 */
export function readAnswer(body: unknown, { provider }: Endpoint): CanonicalAnswer {
  const answer = objectOf(body);
  const choices = objectsOf(answer['choices']);
  if (isReported(answer['error'])) throw errorInside(provider, readComplaint(Buffer.from(JSON.stringify(answer))));
  if (choices.length === 0) throw brokenAnswer(provider, 'the answer has no choices');
  const usage = usageIn(answer);
  const ran = new ExecutedTools();
  for (const [index, { message }] of choices.entries()) ran.addAll(index, objectOf(message));
  return defined({
    upstreamId: stringOf(answer['id']) ?? null,
    createdAt: numberOf(answer['created']) ?? null,
    choices: choices.map(readChoice),
    usage: readChatUsage(usage),
    ...readChatUnits(usage, ran),
    ...usageDetails(usage),
    serviceTier: readTier(answer),
    systemFingerprint: stringOf(answer['system_fingerprint']),
  });
}

/** Returns the usage object of an answer or a chunk, also one inside a choice (Moonshot) or inside `x_groq`. */
export function usageIn(answer: JsonObject): unknown {
  if (isObject(answer['usage'])) return answer['usage'];
  const choices = objectsOf(answer['choices']);
  return choices.map(({ usage }) => usage).findLast(isObject) ?? objectOf(answer['x_groq'])['usage'];
}

/** Returns the tier that served, in our word for it. */
export function readTier(answer: JsonObject): string | undefined {
  const tier = stringOf(answer['service_tier']);
  return tier === undefined ? undefined : tierWord(tier);
}

function readChoice(choice: JsonObject): Choice {
  const said = readStop(choice);
  const parts = readParts(objectOf(choice['message']));
  return defined({
    parts,
    finishReason: said?.finishReason ?? endWithoutReason(parts),
    nativeFinishReason: said?.nativeFinishReason ?? null,
    stopSequence: stringOf(choice['stop_reason']),
    logprobs: readLogprobs(choice),
  });
}

function readParts(message: JsonObject): AnswerPart[] {
  const refusal = stringOf(message['refusal']);
  return [
    ...toReasoningParts(readThoughts(message)),
    ...readText(message),
    ...(refusal ? [{ type: 'refusal' as const, text: refusal }] : []),
    ...readImages(message).map((url) => ({ type: 'generated-image' as const, url })),
    ...objectsOf(message['tool_calls']).map(readToolCall),
  ];
}

function readText(message: JsonObject): TextPart[] {
  const text = textOf(message['content']);
  const annotations = readAnnotations(message['annotations']);
  if (text === '' && annotations.length === 0) return [];
  return [defined({ type: 'text' as const, text, annotations: annotations.length > 0 ? annotations : undefined })];
}

/** Returns the text of a content, which some upstreams send as parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return objectsOf(content)
    .map((part) => (part['type'] === 'text' ? (stringOf(part['text']) ?? '') : ''))
    .join('');
}

/** The pictures that the model made. */
export function readImages(message: JsonObject): string[] {
  return objectsOf(message['images']).flatMap((image) => stringOf(objectOf(image['image_url'])['url']) ?? []);
}

function readToolCall(call: JsonObject): AnswerPart {
  const custom = objectOrNull(call['custom']);
  const called = custom ?? objectOf(call['function']);
  const text = custom === null ? called['arguments'] : argumentsOfText(stringOf(custom['input']) ?? '');
  return {
    type: 'tool-call',
    id: stringOf(call['id']) || missingCallId(),
    name: stringOf(called['name']) ?? '',
    // Returns the arguments of a call. Some upstreams send them as an object instead of JSON text.
    arguments: isObject(text) ? JSON.stringify(text) : (stringOf(text) ?? ''),
  };
}

/**
 * Returns an id for a call without one. It differs from those of earlier answers: results are paired with calls by id,
 * and Anthropic refuses a conversation in which two calls have the same one.
 */
export function missingCallId(): string {
  return `call_${randomUUID()}`;
}
