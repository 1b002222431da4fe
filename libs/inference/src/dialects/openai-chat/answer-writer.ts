import { defined, type JsonObject } from '@libs/json';
import { toEnvelope } from '@libs/errors';
import type { AnswerPart, CanonicalAnswer, Choice } from '../../model/canonical-answer';
import type { Annotation } from '../../model/conversation';
import type { AnswerContext } from '../dialect';
import { textOfArguments } from '../free-text-tools';
import type { Bill } from '../translation';
import { shifted, writeAnnotation } from './citations';
import { customNames } from './custom-tools';
import { writeLogprobs } from './logprobs';
import { hidesThoughts } from './hidden-thoughts';
import { plainThought, writeDetails, writeToolUse } from './reasoning';
import { chatUsage } from './usage';
import { unixSeconds } from '../../model/unix-seconds';

/** A whole answer as a `chat.completion`. */
export function writeAnswer(answer: CanonicalAnswer, bill: Bill, context: AnswerContext, request?: JsonObject): object {
  const { generationId, model, endpoint, requestBody } = context;
  const isHidden = hidesThoughts(requestBody);
  const freeTexts = customNames(requestBody, request);
  return defined({
    id: generationId,
    object: 'chat.completion',
    created: answer.createdAt ?? unixSeconds(),
    model: model.slug,
    provider: endpoint.provider.name,
    choices: answer.choices.map((choice, index) => ({
      ...writeChoice(choice, index, { isHidden, freeTexts }),
      ...(answer.failure && { error: toEnvelope(answer.failure).error }),
    })),
    service_tier: answer.serviceTier,
    system_fingerprint: answer.systemFingerprint ?? null,
    usage: chatUsage(bill),
  });
}

interface Asked {
  /** Whether the caller hides thoughts. */
  readonly isHidden: boolean;
  readonly freeTexts: ReadonlySet<string>;
}

function writeChoice(choice: Choice, index: number, { isHidden, freeTexts }: Asked) {
  const { parts, finishReason, nativeFinishReason, logprobs } = choice;
  const isRefusal = parts.some(({ type }) => type === 'refusal') && !parts.some(({ type }) => type === 'text');
  return {
    index,
    finish_reason: finishReason,
    native_finish_reason: nativeFinishReason,
    logprobs: writeLogprobs(logprobs, isRefusal ? 'refusal' : 'content'),
    message: writeMessage(isHidden ? parts.filter((part) => !isDetail(part)) : parts, freeTexts),
  };
}

function writeMessage(parts: readonly AnswerPart[], freeTexts: ReadonlySet<string>): object {
  const { text, annotations } = joinTexts(parts);
  const refusals = parts.filter((part) => part.type === 'refusal');
  const thoughts = parts.filter((part) => part.type === 'reasoning');
  const details = parts.filter(isDetail).flatMap(writeDetail);
  const images = parts.filter((part) => part.type === 'generated-image');
  const calls = parts.filter((part) => part.type === 'tool-call');
  return {
    role: 'assistant',
    content: text,
    refusal: refusals.length === 0 ? null : refusals.map((part) => part.text).join(''),
    ...(details.length > 0 && {
      reasoning: thoughts.map(plainThought).join('') || null,
      reasoning_details: details,
    }),
    ...(images.length > 0 && { images: images.map(({ url }) => writeImage(url)) }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, arguments: text }, index) => ({
        id,
        index,
        ...(freeTexts.has(name)
          ? { type: 'custom', custom: { name, input: textOfArguments(text) } }
          : { type: 'function', function: { name, arguments: text } }),
      })),
    }),
    ...(annotations.length > 0 && { annotations: annotations.map(writeAnnotation) }),
  };
}

type Detail = Extract<AnswerPart, { type: 'reasoning' | 'server-tool' }>;

/** Whether a part is shown among the thoughts. */
function isDetail(part: AnswerPart): part is Detail {
  return part.type === 'reasoning' || part.type === 'server-tool';
}

function writeDetail(part: Detail, index: number): object[] {
  return part.type === 'reasoning' ? writeDetails(part, index) : writeToolUse(part, index);
}

export function writeImage(url: string): object {
  return { type: 'image_url', image_url: { url } };
}

/** Joins all texts into one; null if there are none. Offsets of annotations count from the start of the joined text. */
function joinTexts(parts: readonly AnswerPart[]): { text: string | null; annotations: readonly Annotation[] } {
  const texts = parts.filter((part) => part.type === 'text');
  let text = '';
  const annotations: Annotation[] = [];
  for (const part of texts) {
    for (const annotation of part.annotations ?? []) annotations.push(shifted(annotation, text.length));
    text += part.text;
  }
  return { text: texts.length === 0 ? null : text, annotations };
}
