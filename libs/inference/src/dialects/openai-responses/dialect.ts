import { JsonCursor, MalformedJson, applyEdits } from '@libs/json';
import type { AnswerStream } from '../../model/answer-stream';
import type { UpstreamStream } from '../../wire/upstream-stream';
import { brokenAnswer, errorInside } from '../../wire/upstream-error';
import { billAnswer } from '../answer-billing';
import { NOTHING_SEEN } from '../seen-output';
import type { Answer, AnswerContext, Dialect } from '../dialect';
import { servedBy } from '../served-tier';
import { saidBeside } from '../usage-details';
import { complaintIn, failureOf } from './error';
import { OpenAiResponsesStream } from './relayed-stream';
import { toUpstream } from './relayed-request';
import { unitsOfResponse } from './tool-units';
import {
  failureMembers,
  finishOfResponse,
  ownResponseMembers,
  readUpstreamResponse,
  responseEdits,
  type UpstreamResponse,
} from './relayed-answer';

/** Dialect of OpenAI's Responses API for upstreams that have the same API. */
export const openAiResponses: Dialect = {
  api: 'responses',
  toUpstream,
  readAnswer,
  openStream,
};

const UNFINISHED = new Set(['in_progress', 'queued']);

/**
 * Reads an answer. Throws the error of a failed response, so that another endpoint may be tried, unless it has
 * output: then the caller gets the output and the error.
 */
function readAnswer(body: Buffer, context: AnswerContext): Answer {
  const { provider } = context.endpoint;
  const response = readOrRefuse(body, context);
  const { set, absent } = ownResponseMembers(context);
  let failed: Readonly<Record<string, string>> = {};
  let finish = finishOfResponse(response);
  const complaint = complaintIn(response);
  if (complaint !== null) {
    const error = errorInside(provider, complaint);
    if (!response.outputCount) throw error;
    const failure = failureOf(error, complaint.code);
    failed = failureMembers(failure);
    finish = { ...finish, finishReason: failure.status === 'incomplete' ? 'length' : 'error' };
  }
  if (response.outputCount === null) throw brokenAnswer(provider, 'the answer has no output');
  if (UNFINISHED.has(response.status ?? '')) throw brokenAnswer(provider, 'the answer is not finished');
  const units = unitsOfResponse(response, {}, context);
  const served = servedBy(context, response.serviceTier);
  const seen = { ...NOTHING_SEEN, contentUnits: response.contentUnits };
  const bill = billAnswer(response.usage?.counts ?? null, seen, served, 'estimated', units);
  return {
    body: applyEdits(body, responseEdits(response, { set: { ...set, ...failed }, absent }, bill)),
    ...bill,
    ...saidBeside(response.usage, response.serviceTier),
    ...finish,
    upstreamId: response.id,
  };
}

function readOrRefuse(body: Buffer, { endpoint }: AnswerContext): UpstreamResponse {
  try {
    const cursor = new JsonCursor(body);
    const response = readUpstreamResponse(cursor);
    cursor.expectEnd();
    return response;
  } catch (thrown) {
    if (thrown instanceof MalformedJson) throw brokenAnswer(endpoint.provider, 'the answer is not JSON', thrown);
    throw thrown;
  }
}

function openStream(upstream: UpstreamStream, context: AnswerContext): Promise<AnswerStream> {
  return OpenAiResponsesStream.open(upstream, context);
}
