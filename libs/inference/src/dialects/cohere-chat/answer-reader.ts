import { defined, isObject, numberOf, objectOf, objectsOf, stringOf, type JsonObject } from '@libs/json';
import type { AnswerPart, CanonicalAnswer, TokenLogprob } from '../../model/canonical-answer';
import type { Annotation } from '../../model/conversation';
import { brokenAnswer, errorInside, readComplaint } from '../../wire/upstream-error';
import type { Endpoint } from '../../catalogue/catalogue';
import { CharacterPlaces } from './character-places';
import { placeCitation, readCitation, type PlacedCitation } from './citations';
import { toFinish } from './stop-reason';
import { readUsage } from './usage';

/**
 * Reads a complete answer of the upstream.
 * @throws AppError provider_unavailable, or the error that the answer contains
 */
export function readAnswer(body: unknown, { provider }: Endpoint): CanonicalAnswer {
  const answer = objectOf(body);
  const { message } = answer;
  if (!isObject(message)) {
    const isComplaint = typeof message === 'string' || isObject(answer['error']);
    if (isComplaint) throw errorInside(provider, readComplaint(Buffer.from(JSON.stringify(answer))));
    throw brokenAnswer(provider, 'the answer has no message');
  }
  const native = stringOf(answer['finish_reason']) ?? null;
  const logprobs = objectsOf(answer['logprobs']).flatMap(readLogprob);
  const choice = defined({
    parts: readParts(message),
    finishReason: toFinish(native),
    nativeFinishReason: native,
    logprobs: logprobs.length === 0 ? undefined : logprobs,
  });
  return {
    upstreamId: stringOf(answer['id']) ?? null,
    createdAt: null,
    choices: [choice],
    usage: readUsage(answer['usage']),
  };
}

/** Used in place of a content's index for citations of the plan. */
const PLAN = 'plan';

/**
 * Returns the parts in the order in which the model produces them: thoughts and text, the plan of the tool calls, the
 * calls.
 */
function readParts(message: JsonObject): AnswerPart[] {
  const citations = objectsOf(message['citations']).flatMap((citation) => placeCitation(citation) ?? []);
  const contents = objectsOf(message['content']);
  const firstText = contents.findIndex(({ type }) => type === 'text');
  const cited = Map.groupBy(citations, ({ place, contentIndex }) =>
    place === 'plan' ? PLAN : (contentIndex ?? firstText),
  );
  const content = contents.flatMap((block, index): AnswerPart[] => {
    if (block['type'] === 'thinking') return [{ type: 'reasoning', text: stringOf(block['thinking']) ?? '' }];
    if (block['type'] !== 'text') return [];
    return [readText(stringOf(block['text']) ?? '', cited.get(index) ?? [])];
  });
  const plan = stringOf(message['tool_plan']);
  return [
    ...content.filter((part) => part.type !== 'reasoning' || part.text !== ''),
    ...(plan ? [readText(plan, cited.get(PLAN) ?? [])] : []),
    ...objectsOf(message['tool_calls']).map(readCall),
  ];
}

function readText(text: string, about: readonly PlacedCitation[]): AnswerPart {
  const places = new CharacterPlaces();
  const annotations: Annotation[] = about.flatMap(({ citation }) => readCitation(citation, text, places));
  return { type: 'text', text, ...(annotations.length > 0 && { annotations }) };
}

function readCall(call: JsonObject): AnswerPart {
  const called = objectOf(call['function']);
  return {
    type: 'tool-call',
    id: stringOf(call['id']) ?? '',
    name: stringOf(called['name']) ?? '',
    arguments: toArguments(stringOf(called['arguments']) ?? ''),
  };
}

/** Returns the arguments of a call; `{}` for the empty text or `null` of a tool that takes none. */
export function toArguments(text: string): string {
  return text === '' || text === 'null' ? '{}' : text;
}

/** Returns the log probability of a piece of text: the sum over its tokens. */
export function readLogprob(item: JsonObject): TokenLogprob[] {
  const { logprobs } = item;
  const token = stringOf(item['text']);
  if (token === undefined || !Array.isArray(logprobs)) return [];
  const logprob = logprobs.reduce<number>((sum, one) => sum + (numberOf(one) ?? 0), 0);
  return [{ token, bytes: [...Buffer.from(token)], logprob, top: [] }];
}
