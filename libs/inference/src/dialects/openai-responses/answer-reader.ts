import { defined, numberOf, objectOf, objectOrNull, objectsOf, stringOf, type JsonObject } from '@libs/json';
import { tierWord } from '../../catalogue/service-tiers';
import type { AnswerPart, CanonicalAnswer, TokenLogprob } from '../../model/canonical-answer';
import type { ReasoningFormat } from '../../model/conversation';
import { brokenAnswer, errorInside, type UpstreamComplaint } from '../../wire/upstream-error';
import type { Endpoint } from '../../catalogue/catalogue';
import { argumentsOfText } from '../free-text-tools';
import { isReported } from '../reported-error';
import { usageDetails } from '../usage-details';
import { readPart, readReasoning } from './content-reader';
import { reasoningFormatOf } from './reasoning';
import { isFailed } from './error';
import { finishOf } from './stop-reason';
import { usageOfResponse } from './usage';

/** Reads a complete response of an upstream into the canonical model. */
export function readAnswer(body: unknown, endpoint: Endpoint): CanonicalAnswer {
  const { provider } = endpoint;
  const response = objectOrNull(body);
  if (response === null) throw brokenAnswer(provider, 'the answer is no object');
  if (hasFailed(response)) throw errorInside(provider, complaintOf(response['error']));
  if (!isOver(response)) throw brokenAnswer(provider, 'the answer has no output, or has not ended');
  const items = objectsOf(response['output']);
  const tier = stringOf(response['service_tier']);
  const logprobs = items.flatMap((item) =>
    objectsOf(item['content']).flatMap(({ logprobs: list }) => readLogprobs(list)),
  );
  return defined({
    upstreamId: stringOf(response['id']) ?? null,
    createdAt: numberOf(response['created_at']) ?? null,
    choices: [
      defined({
        parts: items.flatMap((item) => partsOfItem(item, reasoningFormatOf(endpoint))),
        ...finishOfFields(response),
        logprobs: logprobs.length > 0 ? logprobs : undefined,
      }),
    ],
    ...usageIn(response, items, endpoint),
    ...usageDetails(response['usage']),
    serviceTier: tier === undefined ? undefined : tierWord(tier),
  });
}

/** Returns whether a response has an error, or failed without one. */
export function hasFailed({ error, status }: JsonObject): boolean {
  return isReported(error) || isFailed(stringOf(status) ?? null);
}

function isOver({ status, output }: JsonObject): boolean {
  return Array.isArray(output) && status !== 'queued' && status !== 'in_progress';
}

function usageIn(response: JsonObject, items: readonly JsonObject[], endpoint: Endpoint) {
  return usageOfResponse(response['usage'], items, endpoint) ?? { usage: null };
}

/** Returns why the model stopped, from the last state of a response. */
export function finishOfFields(response: JsonObject): ReturnType<typeof finishOf> {
  const hasToolCalls = objectsOf(response['output']).some(({ type }) => isCall(type));
  const reason = stringOf(objectOf(response['incomplete_details'])['reason']);
  return finishOf(stringOf(response['status']) ?? null, reason ?? null, hasToolCalls);
}

export function isCall(type: unknown): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

/** Returns the error that an upstream reports inside a 200. */
export function complaintOf(error: unknown): UpstreamComplaint {
  const fields = objectOf(error);
  const code = fields['code'];
  return {
    message: stringOf(fields['message']) ?? stringOf(error) ?? null,
    code: stringOf(code) ?? stringOf(fields['type']) ?? null,
    status: numberOf(code) ?? null,
  };
}

/** Returns the parts of one output item; none for items that only report what the upstream did. */
export function partsOfItem(item: JsonObject, format: ReasoningFormat): AnswerPart[] {
  switch (item['type']) {
    case 'message':
      return objectsOf(item['content']).flatMap((content) => {
        const part = readPart(content);
        return part?.type === 'text' || part?.type === 'refusal' ? part : [];
      });
    case 'reasoning':
      return [readReasoning(item, format)];
    case 'function_call':
      return [toolCall(item, stringOf(item['arguments']) ?? '')];
    case 'custom_tool_call':
      return [toolCall(item, argumentsOfText(stringOf(item['input']) ?? ''))];
    case 'image_generation_call':
      return generatedImage(item);
    default:
      return [];
  }
}

function toolCall(item: JsonObject, args: string): AnswerPart {
  return {
    type: 'tool-call',
    id: stringOf(item['call_id']) ?? stringOf(item['id']) ?? '',
    name: stringOf(item['name']) ?? '',
    arguments: args,
  };
}

function generatedImage({ result, output_format }: JsonObject): AnswerPart[] {
  if (typeof result !== 'string') return [];
  const isLink = /^(?:data:|https?:)/.test(result);
  return [
    {
      type: 'generated-image',
      url: isLink ? result : `data:image/${stringOf(output_format) ?? 'png'};base64,${result}`,
    },
  ];
}

export function readLogprobs(value: unknown): TokenLogprob[] {
  return objectsOf(value).map((entry) => ({
    ...oneLogprob(entry),
    top: objectsOf(entry['top_logprobs']).map(oneLogprob),
  }));
}

function oneLogprob({ token, bytes, logprob }: JsonObject): Omit<TokenLogprob, 'top'> {
  return {
    token: stringOf(token) ?? '',
    bytes: Array.isArray(bytes) ? (bytes as readonly number[]) : null,
    logprob: numberOf(logprob) ?? 0,
  };
}
