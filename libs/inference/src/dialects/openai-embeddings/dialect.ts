import { JsonCursor, MalformedJson, applyEdits, memberEdits, missingMembers, spliceMembers } from '@libs/json';
import { AppError } from '@libs/errors';
import { chargeLeft, type LeftCharge } from '../../model/left-charge';
import { filmTokens } from '../../pricing/prompt-kinds';
import type { Usage } from '../../pricing/usage';
import type { AnsweredPart } from '../../wire/answered-part';
import { brokenAnswer, errorInside, readComplaintAt } from '../../wire/upstream-error';
import { contextLengthOf, ownMembers, priceOf } from '../billing';
import type { Answer, AnswerContext, Dialect } from '../dialect';
import { EmbeddingsReader, readExpectation } from './relayed-answer';
import { settleUsage, usageEdits, usageText } from '../openai-usage';
import { NO_COUNTS, countedUnits, type ReportedCounts } from '../reported-counts';
import { likelyPrompt, reservedPrompt } from '../reserved-prompt';
import type { Bill } from '../translation';
import { scanRequest } from '../request-members';
import { embeddingsCallsAt } from '../embeddings-limits';
import { inputsOf, listOf } from './batches';
import { toUpstream } from './relayed-request';

/** Dialect of OpenAI's Embeddings API for upstreams that have the same API. */
export const openAiEmbeddings: Dialect = { api: 'embeddings', toUpstream, readAnswer };

function readAnswer(body: Buffer, context: AnswerContext): Answer {
  const { provider } = context.endpoint;
  const reader = new EmbeddingsReader(body, readExpectation(context.requestBody));
  const flaw = readOrRefuse(reader, context);
  if (reader.error !== null) {
    throw errorInside(provider, readComplaintAt(new JsonCursor(body, reader.error.valueStart), 0));
  }
  if (flaw !== null) throw brokenAnswer(provider, flaw);
  const { usage, cost } = billOf(reader.usage?.counts ?? null, reader.expected.inputs, context);
  if (reader.otherDimensions !== null) {
    throw chargeLeft(refusedDimensions(reader.otherDimensions), { usage, cost, upstreamId: reader.id });
  }
  const set = { ...missingMembers(reader.scanned, { object: '"list"' }), ...ownMembers(context) };
  if (reader.usage === null) set['usage'] = usageText(usage, cost, false);
  const inner = reader.usage === null ? [] : usageEdits(reader.usage, usage, cost, false);
  const edits = [...memberEdits(reader.scanned, { set }), ...reader.edits, ...inner];
  return {
    body: applyEdits(
      body,
      edits.sort((a, b) => a.start - b.start),
    ),
    usage,
    cost,
    finishReason: null,
    nativeFinishReason: null,
    upstreamId: reader.id,
  };
}

/**
 * Returns the error for vectors whose length is not the requested one. They are charged, and the endpoint stays
 * healthy.
 */
function refusedDimensions(made: number): AppError {
  return new AppError('invalid_request', `dimensions: this model makes vectors of ${made} numbers only`, {
    metadata: { param: 'dimensions' },
  });
}

/** Returns the charge for the calls of a request that were answered before another one failed. */
export function answeredEmbeddings(part: AnsweredPart, whole: AnswerContext): LeftCharge {
  const requestBody = withInputs(whole.requestBody, (index) => part.hasInput(index));
  const context = { ...whole, requestBody, prompt: undefined, calls: part.calls };
  const reader = new EmbeddingsReader(part.body, readExpectation(requestBody));
  readOrRefuse(reader, context);
  return { ...billOf(reader.usage?.counts ?? null, reader.expected.inputs, context), upstreamId: reader.id };
}

/** Returns the request with only those of its inputs. */
function withInputs(body: Buffer, isIn: (index: number) => boolean): Buffer {
  const request = scanRequest(body);
  const inputs = inputsOf(request).filter((_, index) => isIn(index));
  return inputs.length === 0 ? body : spliceMembers(request, { set: { input: listOf(inputs) } });
}

/** Returns the bill of a call whose caller disconnected before the answer: the reserved amount for its inputs. */
export function leftEmbeddings(context: AnswerContext): Bill {
  const { inputs } = readExpectation(context.requestBody);
  const { tokens } = reservedPrompt(context);
  const calls = embeddingsCallsAt(context.endpoint, inputs, context.requestBody.length);
  return billOf(null, inputs, { ...context, calls }, tokens);
}

/** Returns the usage and its price. Media that the upstream does not count count as in the reservation. */
function billOf(
  reported: ReportedCounts | null,
  inputs: number,
  context: AnswerContext,
  reservedTokens?: number,
): Bill {
  const counts = hasMedia(reported) ? reported : { ...(reported ?? NO_COUNTS), ...mediaReserved(context) };
  const usage = usageOf(counts, inputs, context, reservedTokens);
  return { usage, cost: priceOf(usage, context, { ...countedUnits(counts), requests: context.calls ?? 1 }) };
}

function hasMedia(counts: ReportedCounts | null): counts is ReportedCounts {
  return [counts?.audioPrompt, counts?.imagePrompt, counts?.videoPrompt].some((tokens) => tokens != null);
}

function mediaReserved(context: AnswerContext): Pick<ReportedCounts, 'audioPrompt' | 'imagePrompt' | 'videoPrompt'> {
  const { audioTokens = 0, imageTokens = 0 } = reservedPrompt(context).kinds ?? {};
  const isFilm = context.endpoint.pricing.videoToken !== undefined && context.requestBody.includes('"input_video"');
  const film = isFilm ? filmTokens(audioTokens) : 0;
  return { audioPrompt: isFilm ? 0 : audioTokens, imagePrompt: imageTokens, videoPrompt: film };
}

function usageOf(
  counts: ReportedCounts | null,
  inputs: number,
  context: AnswerContext,
  reservedTokens?: number,
): Usage {
  // Some upstreams report only the total, which equals the prompt because embeddings have no output.
  return settleUsage(counts && { ...counts, prompt: counts.prompt ?? counts.total }, {
    maxPromptTokens: contextLengthOf(context) * inputs,
    maxCompletionTokens: 0,
    estimate: () => ({ promptTokens: reservedTokens ?? likelyPrompt(context), completionTokens: 0 }),
    fallback: 'estimated',
  });
}

function readOrRefuse(reader: EmbeddingsReader, { endpoint }: AnswerContext): string | null {
  try {
    return reader.read();
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(endpoint.provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}
