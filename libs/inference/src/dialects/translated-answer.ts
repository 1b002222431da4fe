import { MalformedJson, objectOf, type JsonObject, parseJson } from '@libs/json';
import type { AnswerPart, CanonicalAnswer } from '../model/canonical-answer';
import { TextCounter } from '../model/text-tokens';
import { brokenAnswer } from '../wire/upstream-error';
import { billAnswer, countsOf } from './answer-billing';
import type { Answer, AnswerContext } from './dialect';
import { NOTHING_SEEN, type SeenOutput } from './seen-output';
import { servedBy } from './served-tier';
import { tierMember } from './usage-details';
import type { Bill, Translation, UpstreamTranslation } from './translation';

/** Returns a whole answer of an upstream in the caller's dialect. */
export function translateAnswer(
  body: Buffer,
  context: AnswerContext,
  { caller, upstream }: Translation,
  request?: JsonObject,
): Answer {
  const { answer, bill } = readTranslated(body, context, upstream);
  const [first] = answer.choices;
  const written = caller.writeAnswer(answer, bill, context, request);
  return {
    body: Buffer.from(JSON.stringify(written)),
    ...bill,
    ...(answer.details && { details: answer.details }),
    ...tierMember(tierIn(written)),
    finishReason: first?.finishReason ?? null,
    nativeFinishReason: first?.nativeFinishReason ?? null,
    upstreamId: answer.upstreamId,
  };
}

/** @throws AppError if the provider broke the answer off, for APIs in which such an answer looks whole */
export function requireWhole({ finishReason }: Answer, { endpoint }: AnswerContext): void {
  if (finishReason === 'error') throw brokenAnswer(endpoint.provider, 'the answer ended with an error');
}

/** Chat and Responses answers have the tier at the top level, Messages answers inside the usage. */
function tierIn(written: object): unknown {
  const { service_tier: tier, usage } = written as Record<string, unknown>;
  return tier ?? objectOf(usage)['service_tier'];
}

/** Reads a whole answer of an upstream into the canonical model, with its cost. */
export function readTranslated(
  body: Buffer,
  context: AnswerContext,
  upstream: UpstreamTranslation,
): { readonly answer: CanonicalAnswer; readonly bill: Bill } {
  const answer = upstream.readAnswer(parseAnswer(body, context), context.endpoint);
  const counts = answer.usage && countsOf(answer.usage);
  const served = servedBy(context, answer.serviceTier);
  return { answer, bill: billAnswer(counts, seenOf(answer), served, 'estimated', answer.units) };
}

function parseAnswer(body: Buffer, { endpoint }: AnswerContext): unknown {
  try {
    return parseJson(body);
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(endpoint.provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}

/** Returns the output of the model. Text is counted only on demand, because most providers report usage. */
function seenOf({ choices }: CanonicalAnswer): SeenOutput {
  const parts = choices.flatMap((choice) => choice.parts);
  return {
    ...NOTHING_SEEN,
    pictures: parts.filter(({ type }) => type === 'generated-image').length,
    get contentUnits() {
      const counter = new TextCounter();
      for (const text of parts.flatMap(textsIn)) counter.addText(text);
      return counter.units;
    },
  };
}

function textsIn(part: AnswerPart): readonly string[] {
  if (part.type === 'tool-call') return [part.name, part.arguments];
  if (part.type === 'reasoning') return [part.text ?? '', part.summary ?? ''];
  return part.type === 'text' || part.type === 'refusal' ? [part.text] : [];
}
