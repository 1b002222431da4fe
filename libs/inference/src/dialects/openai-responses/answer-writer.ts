import type { JsonObject } from '@libs/json';
import type { CanonicalAnswer, Choice } from '../../model/canonical-answer';
import { brokenAnswer } from '../../wire/upstream-error';
import type { AnswerContext } from '../dialect';
import type { Bill } from '../translation';
import { writeItems } from './answer-items';
import { failureOf } from './error';
import { readEcho, responseObject, type ResponseState } from './response-object';
import { statusOf } from './stop-reason';
import { responseUsageObject } from './usage';
import { unixSeconds } from '../../model/unix-seconds';

const NO_CHOICE: Choice = { parts: [], finishReason: 'error', nativeFinishReason: null };

/** Returns a whole answer as a response. The API has one choice: of several, the first. */
export function writeAnswer(answer: CanonicalAnswer, bill: Bill, context: AnswerContext, request?: JsonObject): object {
  const echo = readEcho(context, answer.createdAt, request);
  const { parts, finishReason, logprobs = [] } = answer.choices[0] ?? NO_CHOICE;
  const { status, incompleteReason } = statusOf(finishReason);
  const items = { responseId: echo.id, toolNames: echo.toolNames, wantsSeals: echo.wantsSeals };
  const state: ResponseState = {
    status,
    output: writeItems(parts, logprobs, status === 'completed' ? status : 'incomplete', items),
    incompleteReason,
    usage: responseUsageObject(bill),
    serviceTier: answer.serviceTier,
  };
  if (status === 'completed') return responseObject(echo, { ...state, completedAt: unixSeconds() });
  if (status !== 'failed') return responseObject(echo, state);
  const error = answer.failure ?? brokenAnswer(context.endpoint.provider, 'the model stopped with an error');
  return responseObject(echo, { ...state, failure: failureOf(error) });
}
