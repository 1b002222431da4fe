import { AppError } from '@libs/errors';
import { likelyPromptTokens } from '../model/estimate';
import type { LossLog } from '../model/loss-report';
import { SHARED_ACCOUNT } from '../model/provider-account';
import type { Usage } from '../pricing/usage';
import { brokenAnswer, errorInside, readComplaintAt } from '../wire/upstream-error';
import type { Endpoint } from '../catalogue/catalogue';
import { contextLengthOf, ownMembers, priceOf } from './billing';
import type { Answer, AnswerContext, Dialect } from './dialect';
import { JsonCursor } from '../json/json-cursor';
import { MalformedJson } from '../json/json-grammar';
import { applyEdits, memberEdits, spliceMembers, type ScannedObject } from '../json/json-members';
import { EmbeddingsReader, readExpectation } from './openai-embeddings-reader';
import { embeddingsTraitsOf, type EmbeddingsTraits } from './openai-embeddings-traits';
import { settleUsage, usageEdits, usageText, type ReportedCounts } from './openai-usage';
import { GATEWAY_MEMBERS, hashedUser, memberText, scanRequest } from './request-members';
import { reservedPrompt } from './reserved-prompt';
import { retainedMembers, setInAccount } from './retained-members';
import type { Bill } from './translation';

/** OpenAI's embeddings (interface §2.6, §4.6), asked of an upstream that speaks them too. */
export const openAiEmbeddings: Dialect = { name: 'openai-embeddings', api: 'embeddings', toUpstream, readAnswer };

function toUpstream(
  body: Buffer,
  endpoint: Endpoint,
  _isStream?: boolean,
  _log?: LossLog,
  account = SHARED_ACCOUNT,
): Buffer {
  const request = scanRequest(body);
  const traits = embeddingsTraitsOf(endpoint);
  const set: Record<string, string | Buffer> = { model: JSON.stringify(endpoint.upstreamModel) };
  const remove = [...GATEWAY_MEMBERS, 'cache_control', ...traits.refuses, ...retainedMembers(request, account)];
  setInAccount(request, set, account);
  const user = hashedUser(request);
  if (user !== undefined && !traits.refuses.includes('user')) set['user'] = user;
  const dimensions = chosenDimensions(request, traits);
  if (dimensions !== null && traits.dimensionsMember !== DIMENSIONS) set[traits.dimensionsMember] = dimensions;
  if (dimensions === null || traits.dimensionsMember !== DIMENSIONS) remove.push(DIMENSIONS);
  for (const name of traits.refuses) delete set[name];
  for (const [name, value] of Object.entries(traits.sets)) set[name] = JSON.stringify(value);
  return spliceMembers(request, { set, remove });
}

const DIMENSIONS = 'dimensions';

/** The dimensions asked for as JSON text, or null. @throws AppError when the model does not offer them */
function chosenDimensions(request: ScannedObject, { dimensions: offered }: EmbeddingsTraits): Buffer | null {
  const asked = memberText(request, DIMENSIONS);
  if (asked === undefined || new JsonCursor(asked).isNull()) return null;
  if (offered === null || offered.includes(Number(asked.toString()))) return asked;
  if (offered.length === 0) throw invalidDimensions('dimensions cannot be chosen for this model');
  throw invalidDimensions(`dimensions must be one of ${offered.join(', ')} for this model`);
}

function invalidDimensions(message: string): AppError {
  return new AppError('invalid_request', message, { metadata: { param: DIMENSIONS } });
}

function readAnswer(body: Buffer, context: AnswerContext): Answer {
  const { provider } = context.endpoint;
  const reader = new EmbeddingsReader(body, readExpectation(context.requestBody));
  const flaw = readOrRefuse(reader, context);
  if (reader.error !== null && !reader.hasData) {
    throw errorInside(provider, readComplaintAt(new JsonCursor(body, reader.error.valueStart), 0));
  }
  if (flaw !== null) throw brokenAnswer(provider, flaw);
  const counts = reader.usage?.counts ?? null;
  const usage = usageOf(counts, reader.expected.inputs, context);
  const cost = priceOf(usage, context, { imageTokens: reader.imageTokens });
  const set = ownMembers(context);
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

/** Returns the bill of a call that was left before its answer came: the inputs, as they were reserved. */
export function leftEmbeddings(context: AnswerContext): Bill {
  const { inputs } = readExpectation(context.requestBody);
  const { tokens, kinds } = reservedPrompt(context);
  const usage = usageOf(null, inputs, context, tokens);
  return { usage, cost: priceOf(usage, context, { imageTokens: kinds?.imageTokens ?? 0 }) };
}

function usageOf(
  counts: ReportedCounts | null,
  inputs: number,
  context: AnswerContext,
  reservedTokens?: number,
): Usage {
  // Some upstreams only tell the total, which here is the prompt.
  return settleUsage(counts && { ...counts, prompt: counts.prompt ?? counts.total }, {
    maxPromptTokens: contextLengthOf(context) * inputs,
    maxCompletionTokens: 0,
    estimate: () => ({ promptTokens: reservedTokens ?? likelyPromptTokens(context.requestBody), completionTokens: 0 }),
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
