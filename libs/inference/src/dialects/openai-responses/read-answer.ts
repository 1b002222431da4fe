import type { AnswerPart, CanonicalAnswer, TokenLogprob } from '../../model/canonical-answer';
import type { ReasoningFormat } from '../../model/conversation';
import { brokenAnswer, errorInside, type UpstreamComplaint } from '../../providers/upstream-error';
import type { Endpoint } from '../../routing/catalogue';
import { fieldsOf, listOf, numberOf, present, textOf, type Fields } from './fields';
import { customArguments } from './read-input';
import { readPart, readReasoning } from './read-parts';
import { reasoningFormatOf } from './reasoning-format';
import { finishOf, toServiceTier } from './response-status';
import { usageOfResponse } from './usage';

/** A complete response of an upstream (interface §2.11) in no dialect. */
export function readAnswer(body: unknown, endpoint: Endpoint): CanonicalAnswer {
  const { provider } = endpoint;
  const response = fieldsOf(body);
  if (response === null) throw brokenAnswer(provider, 'the answer is no object');
  const isFailed = response['status'] === 'failed' || response['status'] === 'cancelled';
  if (fieldsOf(response['error']) !== null || isFailed) throw errorInside(provider, complaintOf(response['error']));
  if (!Array.isArray(response['output'])) throw brokenAnswer(provider, 'the answer has no output');
  const items = listOf(response['output']);
  const tier = textOf(response['service_tier']);
  const logprobs = items.flatMap((item) => listOf(item['content']).flatMap(({ logprobs: list }) => readLogprobs(list)));
  return present({
    upstreamId: textOf(response['id']) ?? null,
    createdAt: numberOf(response['created_at']) ?? null,
    choices: [
      present({
        parts: items.flatMap((item) => partsOfItem(item, reasoningFormatOf(endpoint))),
        ...finishOfFields(response),
        logprobs: logprobs.length > 0 ? logprobs : undefined,
      }),
    ],
    usage: usageOfResponse(response['usage'], endpoint),
    serviceTier: tier === undefined ? undefined : toServiceTier(tier),
  });
}

/** Why the model stopped, from the last state of a response. */
export function finishOfFields(response: Fields): ReturnType<typeof finishOf> {
  const hasToolCalls = listOf(response['output']).some(({ type }) => isCall(type));
  const reason = textOf(fieldsOf(response['incomplete_details'])?.['reason']);
  return finishOf(textOf(response['status']) ?? null, reason ?? null, hasToolCalls);
}

export function isCall(type: unknown): boolean {
  return type === 'function_call' || type === 'custom_tool_call';
}

/** What an upstream complains about inside a 200. */
export function complaintOf(error: unknown): UpstreamComplaint {
  const fields = fieldsOf(error) ?? {};
  const code = fields['code'];
  return {
    message: textOf(fields['message']) ?? textOf(error) ?? null,
    code: textOf(code) ?? textOf(fields['type']) ?? null,
    status: numberOf(code) ?? null,
  };
}

/** The parts of one output item; none for items that only tell what the upstream did. */
export function partsOfItem(item: Fields, format: ReasoningFormat): AnswerPart[] {
  switch (item['type']) {
    case 'message':
      return listOf(item['content']).flatMap((content) => {
        const part = readPart(content);
        return part?.type === 'text' || part?.type === 'refusal' ? part : [];
      });
    case 'reasoning':
      return [readReasoning(item, format)];
    case 'function_call':
      return [toolCall(item, textOf(item['arguments']) ?? '')];
    case 'custom_tool_call':
      return [toolCall(item, customArguments(textOf(item['input']) ?? ''))];
    case 'image_generation_call':
      return generatedImage(item);
    default:
      return [];
  }
}

function toolCall(item: Fields, args: string): AnswerPart {
  return {
    type: 'tool-call',
    id: textOf(item['call_id']) ?? textOf(item['id']) ?? '',
    name: textOf(item['name']) ?? '',
    arguments: args,
  };
}

function generatedImage({ result, output_format }: Fields): AnswerPart[] {
  if (typeof result !== 'string') return [];
  const isLink = /^(?:data:|https?:)/.test(result);
  return [
    {
      type: 'generated-image',
      url: isLink ? result : `data:image/${textOf(output_format) ?? 'png'};base64,${result}`,
    },
  ];
}

export function readLogprobs(value: unknown): TokenLogprob[] {
  return listOf(value).map((entry) => ({ ...oneLogprob(entry), top: listOf(entry['top_logprobs']).map(oneLogprob) }));
}

function oneLogprob({ token, bytes, logprob }: Fields): Omit<TokenLogprob, 'top'> {
  return {
    token: textOf(token) ?? '',
    bytes: Array.isArray(bytes) ? (bytes as readonly number[]) : null,
    logprob: numberOf(logprob) ?? 0,
  };
}
