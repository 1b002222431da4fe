import { acceptedBatches, batchHistories, lineFailures, storedBatches } from './checks/batch-checks';
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
import { videos } from './checks/video-checks';
import type { Check, StormViolation } from './checks/violation';
import type { Evidence } from './evidence';

const CHECKS: readonly Check[] = [
  acceptedBatches,
  storedBatches,
  batchHistories,
  lineFailures,
  chargesAndCauses,
  answeredCalls,
  answeredByProviders,
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
