import { answerTo, embeddingOf } from '../../support/upstream-answer';
import type { CallRecord, Evidence, PlantedRefusal, RequestRecord } from '../evidence';
import { hindersQuestions } from '../fault-plan';
import { diedBetween, wasAway, wasDuring, type Check, type StormViolation } from './violation';

/** What may be answered while faults are on: of our own overload and of providers, each with its own status. */
const TEMPORARY = new Set([408, 429, 502, 503, 504, 524, 529]);
const PLANTED: Readonly<Record<PlantedRefusal, number>> = { 'no-money': 402, revoked: 401, 'bad-request': 400 };
/** Statuses that other requests may also get: a conflict, or a resource that is gone. */
const OF_STATES = new Set([404, 409, 410]);
const INTERNAL = new Set(['server', 'unmapped']);
/** A connection may break a little before its process is seen to be dead. */
const DEATH_MARGIN_MS = 10_000;
/** Between the moment when a process takes connections and the line in which it says so. */
const BACK_MARGIN_MS = 1_000;
const REVOKED_WITHIN_MS = 1_000;
/** Until a process that was struck has booted, connected and asked again. */
const RECOVERY_MS = 8_000;

const nameOf = ({ actor, gateway, marker, api, model, streamed, requestId }: CallRecord): string =>
  `${api}${streamed ? ' stream' : ''} of ${model} at ${gateway} by ${actor} (${marker}, ${requestId ?? 'no request id'})`;
const requestName = ({ what, actor, gateway, requestId }: RequestRecord): string =>
  `${what} at ${gateway} by ${actor} (${requestId ?? 'no request id'})`;

const isInternal = (status: number | null, error: string | null): boolean =>
  status === 500 || (error !== null && INTERNAL.has(error));

export const internalErrors: Check = ({ calls, requests, causes }) => {
  const because = (requestId: string | null): string => causes.get(requestId ?? '') ?? 'no cause was logged';
  return [
    ...calls
      .filter(({ status, error }) => isInternal(status, error))
      .map((call) => ({ ...call, text: `${because(call.requestId)}: ${call.status} ${call.error}: ${nameOf(call)}` })),
    ...requests
      .filter(({ status, error }) => isInternal(status, error))
      .map((one) => ({ text: `${because(one.requestId)}: ${one.status} ${one.error}: ${requestName(one)}` })),
  ].map(({ text }) => violation('no internal error', text));
};

function violation(promise: StormViolation['promise'], what: string): StormViolation {
  return { promise, what };
}

const isKnownRefusal = ({ status, mayBe }: CallRecord): boolean =>
  status === null || status < 400 || TEMPORARY.has(status) || mayBe.some((planted) => PLANTED[planted] === status);

const isKnownAnswer = ({ status }: RequestRecord): boolean =>
  status === null || status < 400 || TEMPORARY.has(status) || OF_STATES.has(status);

export const refusals: Check = ({ calls, requests }) => [
  ...calls
    .filter((call) => call.status !== 500 && !isKnownRefusal(call))
    .map((call) => violation('only known refusals', `${call.status} ${call.error}: ${nameOf(call)}`)),
  ...requests
    .filter((request) => request.status !== 500 && !isKnownAnswer(request))
    .map((request) => violation('only known refusals', `${request.status} ${request.error}: ${requestName(request)}`)),
];

export const missingAnswers: Check = (evidence) => {
  const isExplained = ({ gateway, startMs, endMs }: CallRecord | RequestRecord): boolean =>
    wasAway(evidence, gateway, startMs - BACK_MARGIN_MS, endMs + DEATH_MARGIN_MS);
  const silent = evidence.calls.filter((call) => call.ending === 'none' && !isExplained(call));
  // What is read from PostgreSQL while it is sent can only break off when PostgreSQL is gone.
  const isCut = ({ brokeOff, startMs, endMs }: RequestRecord): boolean =>
    brokeOff && wasDuring(evidence, startMs, endMs, RECOVERY_MS);
  const unanswered = evidence.requests.filter(
    (request) => (request.status === null || request.brokeOff) && !isExplained(request) && !isCut(request),
  );
  return [
    ...silent.map((call) => violation('every request has an answer', `${call.error}: ${nameOf(call)}`)),
    ...unanswered.map((one) => violation('every request has an answer', `${one.error}: ${requestName(one)}`)),
  ];
};

function dueText({ api, prompt }: CallRecord): string {
  return api === 'embeddings' ? JSON.stringify(embeddingOf(prompt)) : answerTo(prompt);
}

export const wholeness: Check = ({ calls }) =>
  calls
    .filter(({ status, ending }) => status === 200 && (ending === 'whole' || ending === 'completed'))
    .filter((call) => call.text !== dueText(call))
    .map((call) => violation('an answer is whole', `"${call.text.slice(0, 90)}": ${nameOf(call)}`));

export const streamEndings: Check = (evidence) =>
  evidence.calls
    .filter(({ status, streamed }) => status === 200 && streamed)
    .flatMap((call) => {
      if (call.ending === 'left') return [];
      if (call.ending === 'broken') {
        const { gateway, startMs, endMs } = call;
        const isExplained = diedBetween(evidence, gateway, startMs, endMs + DEATH_MARGIN_MS);
        return isExplained ? [] : [violation('a stream has one ending', `broke off (${call.error}): ${nameOf(call)}`)];
      }
      if (call.endings === 1) return [];
      return [violation('a stream has one ending', `${call.endings} endings: ${nameOf(call)}`)];
    });

export const calmCalls: Check = ({ calls, requests }) => [
  ...calls
    .filter(({ isCalm, mayBe }) => isCalm && mayBe.length === 0)
    .filter(({ status, ending }) => status !== 200 || (ending !== 'whole' && ending !== 'completed'))
    .map((call) =>
      violation('calls succeed once faults are over', `${call.status} ${call.error} ${call.ending}: ${nameOf(call)}`),
    ),
  ...requests
    .filter(({ isCalm, status, brokeOff }) => isCalm && (status === null || status >= 500 || brokeOff))
    .map((one) => violation('calls succeed once faults are over', `${one.status} ${one.error}: ${requestName(one)}`)),
];

export const revocations: Check = (evidence) =>
  evidence.keys.flatMap(({ name, revokedMs }) => {
    if (revokedMs === null) return [];
    const accepted = evidence.calls.filter(
      ({ key, status, startMs }) => key === name && status === 200 && startMs > revokedMs + REVOKED_WITHIN_MS,
    );
    return accepted
      .filter(({ startMs }) => !isHindered(evidence, revokedMs, startMs))
      .map((call) =>
        violation(
          'a revoked key is refused within a second',
          `${name} was taken ${call.startMs - revokedMs} ms after its revocation: ${nameOf(call)}`,
        ),
      );
  });

function isHindered(evidence: Evidence, fromMs: number, toMs: number): boolean {
  return wasDuring(evidence, fromMs, toMs, RECOVERY_MS, hindersQuestions);
}
