import { acceptedBatches, batchHistories, lineFailures } from './checks/batch-checks';
import {
  calmCalls,
  internalErrors,
  missingAnswers,
  refusals,
  revocations,
  streamEndings,
  wholeness,
} from './checks/call-checks';
import { answeredByProviders, answeredCalls, books, chargesAndCauses, holds } from './checks/money-checks';
import { deaths, messages, recovery, resources, uncaughtErrors } from './checks/process-checks';
import { repeatedAnswers } from './checks/repeat-checks';
import { storedBatches, storedResults } from './checks/stored-batch-checks';
import { acceptances, settledCalls } from './checks/submission-checks';
import { videos } from './checks/video-checks';
import type { Check, StormViolation } from './checks/violation';
import type { Evidence } from './evidence';

const CHECKS: readonly Check[] = [
  acceptedBatches,
  acceptances,
  storedBatches,
  storedResults,
  batchHistories,
  lineFailures,
  chargesAndCauses,
  answeredCalls,
  answeredByProviders,
  settledCalls,
  repeatedAnswers,
  holds,
  books,
  internalErrors,
  refusals,
  missingAnswers,
  wholeness,
  streamEndings,
  calmCalls,
  revocations,
  videos,
  deaths,
  uncaughtErrors,
  recovery,
  resources,
  messages,
];

/** Every promise that a storm broke. A pure function of what is known of it. */
export function findStormViolations(evidence: Evidence): StormViolation[] {
  return CHECKS.flatMap((check) => check(evidence));
}
